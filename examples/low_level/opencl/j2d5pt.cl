// The five-point stencil: 16 columns at a time, a row for each work-item.
#define IN (M + 2)
__attribute__((vec_type_hint(float16)))
kernel void j2d5pt(global const float* restrict grid, global float* restrict out) {
  const int i = get_global_id(0);
  global const float *up = grid + i * IN + 1, *here = up + IN, *down = here + IN;
  for (int j = 0; j < M; j += 16) {
    const float16 sum = 5.1f * vload16(0, up + j) + 12.1f * vload16(0, here + j - 1) + 15.0f * vload16(0, here + j) +
                        12.2f * vload16(0, here + j + 1) + 5.2f * vload16(0, down + j);
    vstore16(sum * (1 / 118.0f), 0, out + i * M + j);
  }
}
