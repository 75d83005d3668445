// matmul, kernel 1 of 1
// out: f32[m, n] =
//   map_glb(1)(
//     lambda row:
//       map_glb(0)(
//         lambda column: reduce_seq(lambda acc, p: acc + (p[0] * p[1]), 0.0, zip(row, column)),
//         transpose(b)
//       ),
//     a
//   )
// where a: f32[m, k], b: f32[k, n]
// work-items: n x m, in groups of 64 x 1
kernel void matmul_1(global const float* restrict a, global const float* restrict b, global float* restrict out, const int k, const int m, const int n) {
  const int glb_0 = get_global_id(0);
  const int glb_1 = get_global_id(1);
  const int glb_0_count = get_global_size(0);
  const int glb_1_count = get_global_size(1);

  for (int i = glb_1; i < m; i += glb_1_count) {
    for (int i_2 = glb_0; i_2 < n; i_2 += glb_0_count) {
      float acc = 0.0f;
      for (int i_3 = 0; i_3 < k; ++i_3) {
        acc = acc + (a[i*k + i_3] * b[i_3*n + i_2]);
      }
      out[i*n + i_2] = acc;
    }
  }
}
