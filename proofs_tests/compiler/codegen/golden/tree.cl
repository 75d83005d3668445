// tree, kernel 1 of 1
// out: f32[4] =
//   join(
//     map_wrg(0)(
//       lambda chunk:
//         map_lcl(0)(
//           lambda p: reduce_seq(add, 0.0, p),
//           split(
//             2,
//             to_local(
//               map_lcl(0)(
//                 lambda p: reduce_seq(add, 0.0, p),
//                 transpose(
//                   split(
//                     2,
//                     to_local(
//                       map_lcl(0)(
//                         lambda p: reduce_seq(add, 0.0, p),
//                         transpose(
//                           split(
//                             4,
//                             to_local(
//                               map_lcl(0)(
//                                 lambda p: reduce_seq(add, 0.0, p),
//                                 transpose(split(8, to_local(map_lcl(0)(lambda v: v, chunk))))
//                               )
//                             )
//                           )
//                         )
//                       )
//                     )
//                   )
//                 )
//               )
//             )
//           )
//         ),
//       split(16, x)
//     )
//   )
// where x: f32[64]
// work-items: 64, in groups of 16
__attribute__((reqd_work_group_size(16, 1, 1)))
kernel void tree_1(global const float* restrict x, global float* restrict out) {
  local float tile[16] __attribute__((aligned(128)));
  local float tile_2[8] __attribute__((aligned(128)));
  const int wrg_0 = get_group_id(0);
  const int lcl_0 = get_local_id(0);

  tile[lcl_0] = x[16*wrg_0 + lcl_0];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lcl_0 < 8) {
    float acc = 0.0f;
    for (int i = 0; i < 2; ++i) {
      acc = acc + tile[8*i + lcl_0];
    }
    tile_2[lcl_0] = acc;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lcl_0 < 4) {
    float acc_2 = 0.0f;
    for (int i_2 = 0; i_2 < 2; ++i_2) {
      acc_2 = acc_2 + tile_2[4*i_2 + lcl_0];
    }
    tile[lcl_0] = acc_2;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lcl_0 < 2) {
    float acc_3 = 0.0f;
    for (int i_3 = 0; i_3 < 2; ++i_3) {
      acc_3 = acc_3 + tile[2*i_3 + lcl_0];
    }
    tile_2[lcl_0] = acc_3;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lcl_0 < 1) {
    float acc_4 = 0.0f;
    for (int i_4 = 0; i_4 < 2; ++i_4) {
      acc_4 = acc_4 + tile_2[i_4];
    }
    out[wrg_0] = acc_4;
  }
}
