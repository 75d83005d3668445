// alpha*A*x + beta*y: four rows for each work-item share what they read of x.
__attribute__((vec_type_hint(float16)))
kernel void gemv(const float alpha, global const float16* restrict A, global const float16* restrict x, const float beta, global const float* restrict y, global float* restrict out) {
  const int i = 4 * get_global_id(0);
  global const float16* row = A + i * (M / 16);
  float16 s[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int j = 0; j < M / 16; ++j) {
    const float16 v = x[j];
    s[0] += row[j] * v;
    s[1] += row[j + M / 16] * v;
    s[2] += row[j + 2 * (M / 16)] * v;
    s[3] += row[j + 3 * (M / 16)] * v;
  }
  #pragma unroll
  for (int r = 0; r < 4; ++r) {
    const float8 a = s[r].lo + s[r].hi;
    const float4 b = a.lo + a.hi;
    out[i + r] = alpha * ((b.x + b.y) + (b.z + b.w)) + beta * y[i + r];
  }
}
