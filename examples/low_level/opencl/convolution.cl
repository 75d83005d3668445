// A convolution with 3 by 3 weights, all written out: 16 columns by four rows for each work-item.
#define IN (W + 2)
__attribute__((vec_type_hint(float16)))
kernel void convolution(global const float* restrict image, global const float* restrict weights, global float* restrict out) {
  const int x = 16 * get_global_id(0), y = 4 * get_global_id(1);
  float16 s[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  #pragma unroll
  for (int r = 0; r < 6; ++r) {
    global const float* row = image + (y + r) * IN + x;
    const float16 v[3] = {vload16(0, row), vload16(0, row + 1), vload16(0, row + 2)};
    #pragma unroll
    for (int i = 0; i < 3; ++i) {
      if (r - i >= 0 && r - i < 4) {
        s[r - i] += weights[3 * i] * v[0] + weights[3 * i + 1] * v[1] + weights[3 * i + 2] * v[2];
      }
    }
  }
  #pragma unroll
  for (int r = 0; r < 4; ++r) vstore16(s[r], 0, out + (y + r) * W + x);
}
