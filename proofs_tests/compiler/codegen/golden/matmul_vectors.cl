// matmul_vectors, kernel 1 of 1
// out: f32[64, 80] =
//   map_glb(1)(
//     lambda row:
//       as_scalar(
//         map_glb(0)(
//           lambda v:
//             map_vec(
//               lambda column:
//                 reduce_seq(lambda acc, p: acc + (p[0] * p[1]), 0.0, zip(row, column)),
//               v
//             ),
//           as_vector(4, transpose(b))
//         )
//       ),
//     a
//   )
// where a: f32[64, 96], b: f32[96, 80]
// work-items: 20 x 64, in groups of 20 x 4
__attribute__((vec_type_hint(float4)))
kernel void matmul_vectors_1(global const float* restrict a, global const float* restrict b, global float* restrict out) {
  const int glb_0 = get_global_id(0);
  const int glb_1 = get_global_id(1);

  float4 acc = (float4)(0.0f);
  for (int i = 0; i < 96; ++i) {
    acc = acc + (a[96*glb_1 + i] * *(global const float4*)(b + 80*i + 4*glb_0));
  }
  *(global float4*)(out + 80*glb_1 + 4*glb_0) = acc;
}
