// dot, kernel 1 of 2
// tmp_1: f32[64] =
//   map_glb(0)(
//     lambda t:
//       reduce_seq(
//         add,
//         0.0,
//         as_scalar(
//           repeat(
//             1,
//             reduce_seq(
//               lambda a, v: vectorize(4, add)(a, map_vec(lambda p: p[0] * p[1], v)),
//               splat(4, 0.0),
//               as_vector(4, t)
//             )
//           )
//         )
//       ),
//     split(64, zip(x, y))
//   )
// where x: f32[4096], y: f32[4096]
// work-items: 64, in groups of 4
__attribute__((vec_type_hint(float4)))
kernel void dot_1(global const float* restrict x, global const float* restrict y, global float* restrict tmp_1) {
  const int glb_0 = get_global_id(0);

  float4 acc = (float4)(0.0f);
  for (int i = 0; i < 16; ++i) {
    acc = acc + (*(global const float4*)(x + 64*glb_0 + 4*i) * *(global const float4*)(y + 64*glb_0 + 4*i));
  }
  float acc_2 = 0.0f;
  acc_2 = acc_2 + acc.s0;
  acc_2 = acc_2 + acc.s1;
  acc_2 = acc_2 + acc.s2;
  acc_2 = acc_2 + acc.s3;
  tmp_1[glb_0] = acc_2;
}

// dot, kernel 2 of 2
// out: f32 =
//   reduce_seq(add, 0.0, tmp_1)
// where tmp_1: f32[64]
// work-items: 1, in groups of 1
kernel void dot_2(global const float* restrict tmp_1, global float* restrict out) {
  float acc = 0.0f;
  for (int i = 0; i < 64; ++i) {
    acc = acc + tmp_1[i];
  }
  out[0] = acc;
}
