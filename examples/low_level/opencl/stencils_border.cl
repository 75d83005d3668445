// Stencils whose border is repeated: rows are clamped by their numbers, inside a row 16 columns at a time.
float at(global const float* row, int j) { return row[clamp(j, 0, M - 1)]; }

float five(global const float* up, global const float* here, global const float* down, int j) {
  return (5.1f * at(up, j) + 12.1f * at(here, j - 1) + 15.0f * at(here, j) + 12.2f * at(here, j + 1) + 5.2f * at(down, j)) * (1 / 118.0f);
}

__attribute__((vec_type_hint(float16)))
kernel void j2d5pt_border(global const float* restrict grid, global float* restrict out) {
  const int i = get_global_id(0);
  global const float *here = grid + i * M, *up = grid + max(i - 1, 0) * M, *down = grid + min(i + 1, N - 1) * M;
  global float* to = out + i * M;
  to[0] = five(up, here, down, 0);
  int j = 1;
  for (; j + 17 <= M; j += 16) {
    const float16 sum = 5.1f * vload16(0, up + j) + 12.1f * vload16(0, here + j - 1) + 15.0f * vload16(0, here + j) +
                        12.2f * vload16(0, here + j + 1) + 5.2f * vload16(0, down + j);
    vstore16(sum * (1 / 118.0f), 0, to + j);
  }
  for (; j < M; ++j) to[j] = five(up, here, down, j);
}

float nine(global const float* up2, global const float* up, global const float* here, global const float* down, global const float* down2, int j) {
  return (7.1f * at(up2, j) + 5.1f * at(up, j) + 5.2f * at(down, j) + 7.2f * at(down2, j) +
          9.2f * at(here, j - 2) + 12.1f * at(here, j - 1) + 12.2f * at(here, j + 1) + 9.1f * at(here, j + 2) +
          15.0f * at(here, j)) * (1 / 118.0f);
}

__attribute__((vec_type_hint(float16)))
kernel void j2d9pt(global const float* restrict grid, global float* restrict out) {
  const int i = get_global_id(0);
  global const float *here = grid + i * M, *up = grid + max(i - 1, 0) * M, *down = grid + min(i + 1, N - 1) * M;
  global const float *up2 = grid + max(i - 2, 0) * M, *down2 = grid + min(i + 2, N - 1) * M;
  global float* to = out + i * M;
  int j = 0;
  for (; j < 2; ++j) to[j] = nine(up2, up, here, down, down2, j);
  for (; j + 18 <= M; j += 16) {
    const float16 sum = 7.1f * vload16(0, up2 + j) + 5.1f * vload16(0, up + j) + 5.2f * vload16(0, down + j) +
                        7.2f * vload16(0, down2 + j) + 9.2f * vload16(0, here + j - 2) + 12.1f * vload16(0, here + j - 1) +
                        12.2f * vload16(0, here + j + 1) + 9.1f * vload16(0, here + j + 2) + 15.0f * vload16(0, here + j);
    vstore16(sum * (1 / 118.0f), 0, to + j);
  }
  for (; j < M; ++j) to[j] = nine(up2, up, here, down, down2, j);
}
