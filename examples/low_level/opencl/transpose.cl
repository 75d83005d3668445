// The transposed matrix: a block of 16 by 16 for each work-item.
kernel void transpose(global const float* restrict A, global float* restrict out) {
  const int c = 16 * get_global_id(0), r = 16 * get_global_id(1);  // of A
  for (int j = 0; j < 16; ++j) {
    for (int i = 0; i < 16; ++i) out[(c + j) * N + r + i] = A[(r + i) * M + c + j];
  }
}
