// The prices of European options, 16 of them for each work-item.
#define RATE 0.02f
#define VOLATILITY 0.3f

float16 cumulative(float16 d) {
  const float16 t = 1.0f / (1.0f + 0.2316419f * fabs(d));
  const float16 series =
      ((((1.330274429f * t - 1.821255978f) * t + 1.781477937f) * t - 0.356563782f) * t + 0.31938153f) * t;
  const float16 beyond = 0.3989422804f * exp(-0.5f * d * d) * series;
  return d > 0.0f ? 1.0f - beyond : beyond;
}

__attribute__((vec_type_hint(float16)))
kernel void black_scholes(
    global const float16* restrict price, global const float16* restrict strike, global const float16* restrict years,
    global float16* restrict call, global float16* restrict put) {
  const int i = get_global_id(0);
  const float16 p = price[i], s = strike[i], y = years[i];
  const float16 spread = VOLATILITY * sqrt(y);
  const float16 d = (log(p / s) + (RATE + 0.5f * VOLATILITY * VOLATILITY) * y) / spread;
  const float16 above = cumulative(d), at = cumulative(d - spread), discounted = s * exp(-RATE * y);
  call[i] = p * above - discounted * at;
  put[i] = discounted * (1.0f - at) - p * (1.0f - above);
}
