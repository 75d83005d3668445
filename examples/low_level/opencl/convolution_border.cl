// A convolution of an image that is 0 beyond its border, with 2 * R + 1 weights a side: 16 columns by four rows at once
// for each work-item, which goes along its four rows; only at the border is a pixel looked up by itself.
#define SIDE (2 * R + 1)
float pixel(global const float* image, int y, int x) {
  return y < 0 || y >= H || x < 0 || x >= W ? 0.0f : image[y * W + x];
}

float one(global const float* image, global const float* weights, int y, int x) {
  float sum = 0.0f;
  for (int i = 0; i < SIDE; ++i)
    for (int j = 0; j < SIDE; ++j) sum += weights[SIDE * i + j] * pixel(image, y + i - R, x + j - R);
  return sum;
}

__attribute__((vec_type_hint(float16)))
kernel void convolution(global const float* restrict image, global const float* restrict weights, global float* restrict out) {
  const int y = 4 * get_global_id(0);
  const bool inside = y >= R && y + 4 + R <= H;
  int x = 0;
  while (x < W) {
    if (!inside || x < R || x + 16 + R > W) {
      for (int r = 0; r < 4; ++r) out[(y + r) * W + x] = one(image, weights, y + r, x);
      ++x;
      continue;
    }
    float16 s[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    #pragma unroll
    for (int r = 0; r < 4 + 2 * R; ++r) {
      global const float* row = image + (y + r - R) * W + x - R;
      #pragma unroll
      for (int j = 0; j < SIDE; ++j) {
        const float16 v = vload16(0, row + j);
        #pragma unroll
        for (int i = 0; i < SIDE; ++i)
          if (r - i >= 0 && r - i < 4) s[r - i] += weights[SIDE * i + j] * v;
      }
    }
    #pragma unroll
    for (int r = 0; r < 4; ++r) vstore16(s[r], 0, out + (y + r) * W + x);
    x += 16;
  }
}
