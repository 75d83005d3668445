// The product of matrices: B is copied in panels of 32 columns; a work-item has 8 by 32 elements of the result.
kernel void pack(global const float* restrict B, global float* restrict P) {
  const int j = get_global_id(0);
  for (int k = 0; k < K; ++k) {
    vstore16(vload16(0, B + k * M + 32 * j), 0, P + (j * K + k) * 32);
    vstore16(vload16(0, B + k * M + 32 * j + 16), 0, P + (j * K + k) * 32 + 16);
  }
}

__attribute__((vec_type_hint(float16)))
kernel void multiply(global const float* restrict A, global const float16* restrict P, global float16* restrict out) {
  const int i = 8 * get_global_id(0), j = get_global_id(1);
  float16 s[16];
  #pragma unroll
  for (int r = 0; r < 16; ++r) s[r] = 0.0f;
  for (int k = 0; k < K; ++k) {
    const float16 b0 = P[(j * K + k) * 2], b1 = P[(j * K + k) * 2 + 1];
    #pragma unroll
    for (int r = 0; r < 8; ++r) {
      const float16 a = A[(i + r) * K + k];
      s[2 * r] = fma(a, b0, s[2 * r]);
      s[2 * r + 1] = fma(a, b1, s[2 * r + 1]);
    }
  }
  #pragma unroll
  for (int r = 0; r < 16; ++r) out[(i + r / 2) * (M / 16) + 2 * j + r % 2] = s[r];
}
