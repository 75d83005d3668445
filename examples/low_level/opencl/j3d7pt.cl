// The seven-point stencil in three dimensions, its border repeated: a row for each work-item, 16 columns at a time.
float seven(global const float* f, global const float* b, global const float* u, global const float* d, global const float* h, int x) {
  return 0.161f * h[min(x + 1, K - 1)] + 0.162f * h[max(x - 1, 0)] + 0.163f * d[x] + 0.164f * u[x] + 0.165f * b[x] +
         0.166f * f[x] - 1.67f * h[x];
}

__attribute__((vec_type_hint(float16)))
kernel void j3d7pt(global const float* restrict grid, global float* restrict out) {
  const int y = get_global_id(0), z = get_global_id(1);
  global const float *h = grid + (z * M + y) * K;
  global const float *f = grid + (max(z - 1, 0) * M + y) * K, *b = grid + (min(z + 1, N - 1) * M + y) * K;
  global const float *u = grid + (z * M + max(y - 1, 0)) * K, *d = grid + (z * M + min(y + 1, M - 1)) * K;
  global float* to = out + (z * M + y) * K;
  to[0] = seven(f, b, u, d, h, 0);
  int x = 1;
  for (; x + 17 <= K; x += 16) {
    const float16 sum = 0.161f * vload16(0, h + x + 1) + 0.162f * vload16(0, h + x - 1) + 0.163f * vload16(0, d + x) +
                        0.164f * vload16(0, u + x) + 0.165f * vload16(0, b + x) + 0.166f * vload16(0, f + x) -
                        1.67f * vload16(0, h + x);
    vstore16(sum, 0, to + x);
  }
  for (; x < K; ++x) to[x] = seven(f, b, u, d, h, x);
}
