// tiles_in_registers, kernel 1 of 1
// out: f32[48, 64] =
//   join(
//     map(
//       lambda row: map(lambda x: join(x), transpose(row)),
//       map_wrg(1)(
//         lambda rows:
//           map_wrg(0)(
//             lambda columns:
//               join(
//                 map(
//                   lambda row: map(lambda x: as_scalar(x), transpose(row)),
//                   map_lcl(1)(
//                     lambda row: map_lcl(0)(lambda c: map_seq_unroll(lambda v: v, c), row),
//                     reduce_seq(
//                       lambda acc, ab:
//                         reduce_seq_unroll(
//                           lambda acc2, ab2:
//                             map_lcl(1)(
//                               lambda p:
//                                 map_lcl(0)(
//                                   lambda q:
//                                     map_seq_unroll(
//                                       lambda p2:
//                                         vectorize(4, add)(
//                                           p2[0],
//                                           vectorize(4, mul)(splat(4, p2[1]), q[1])
//                                         ),
//                                       zip(q[0], p[1])
//                                     ),
//                                   zip(p[0], as_vector(4, ab2[1]))
//                                 ),
//                               zip(acc2, split(2, ab2[0]))
//                             ),
//                           acc,
//                           zip(ab[0], ab[1])
//                         ),
//                       to_private(
//                         map_lcl(1)(
//                           lambda row: map_lcl(0)(lambda c: map_seq_unroll(lambda v: v, c), row),
//                           repeat(3, repeat(2, repeat(2, splat(4, 0.0))))
//                         )
//                       ),
//                       zip(split(4, transpose(rows)), split(4, transpose(columns)))
//                     )
//                   )
//                 )
//               ),
//             split(8, transpose(b))
//           ),
//         split(6, a)
//       )
//     )
//   )
// where a: f32[48, 32], b: f32[32, 64]
// work-items: 16 x 24, in groups of 2 x 3
__attribute__((reqd_work_group_size(2, 3, 1)))
__attribute__((vec_type_hint(float4)))
kernel void tiles_in_registers_1(global const float* restrict a, global const float* restrict b, global float* restrict out) {
  const int wrg_0 = get_group_id(0);
  const int wrg_1 = get_group_id(1);
  const int lcl_0 = get_local_id(0);
  const int lcl_1 = get_local_id(1);

  const int at_3 = 384*wrg_1 + 128*lcl_1 + 8*wrg_0 + 4*lcl_0;
  float4 own0 = (float4)(0.0f);
  float4 own1 = (float4)(0.0f);
  for (int i = 0; i < 8; ++i) {
    const int at = 192*wrg_1 + 64*lcl_1 + 4*i;
    const int at_2 = 256*i + 8*wrg_0 + 4*lcl_0;
    own0 = own0 + (a[at] * *(global const float4*)(b + at_2));
    own1 = own1 + (a[at + 32] * *(global const float4*)(b + at_2));
    own0 = own0 + (a[at + 1] * *(global const float4*)(b + at_2 + 64));
    own1 = own1 + (a[at + 33] * *(global const float4*)(b + at_2 + 64));
    own0 = own0 + (a[at + 2] * *(global const float4*)(b + at_2 + 128));
    own1 = own1 + (a[at + 34] * *(global const float4*)(b + at_2 + 128));
    own0 = own0 + (a[at + 3] * *(global const float4*)(b + at_2 + 192));
    own1 = own1 + (a[at + 35] * *(global const float4*)(b + at_2 + 192));
  }
  *(global float4*)(out + at_3) = own0;
  *(global float4*)(out + at_3 + 64) = own1;
}
