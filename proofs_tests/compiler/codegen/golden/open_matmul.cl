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
kernel void matmul_1(global const float* restrict a, global const float* restrict b, global float* restrict out, const int k, const int n) {
  const int glb_0 = get_global_id(0);
  const int glb_1 = get_global_id(1);

  float acc = 0.0f;
  for (int i = 0; i < k; ++i) {
    acc = acc + (a[glb_1*k + i] * b[i*n + glb_0]);
  }
  out[glb_1*n + glb_0] = acc;
}
