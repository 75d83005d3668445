// The inner product: PARTS work-items have four sums of 16 lanes each, one adds the parts.
__attribute__((vec_type_hint(float16)))
kernel void parts(global const float16* restrict x, global const float16* restrict y, global float* restrict partial) {
  const int c = get_global_id(0), count = N / 16 / PARTS, first = c * count, fours = count / 4 * 4;
  float16 s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
  for (int i = first; i < first + fours; i += 4) {
    s0 += x[i] * y[i];
    s1 += x[i + 1] * y[i + 1];
    s2 += x[i + 2] * y[i + 2];
    s3 += x[i + 3] * y[i + 3];
  }
  for (int i = first + fours; i < first + count; ++i) s0 += x[i] * y[i];
  const float16 s = (s0 + s1) + (s2 + s3);
  const float8 a = s.lo + s.hi;
  const float4 b = a.lo + a.hi;
  partial[c] = (b.x + b.y) + (b.z + b.w);
}

kernel void total(global const float* restrict partial, global float* restrict out) {
  float s = 0.0f;
  for (int i = 0; i < PARTS; ++i) s += partial[i];
  out[0] = s;
}
