// transposed_by_tiles, kernel 1 of 1
// out: f32[4*n, 4*m] =
//   map(
//     lambda x: join(x),
//     join(
//       map(
//         lambda x: transpose(x),
//         map_wrg(1)(
//           lambda ts:
//             map_wrg(0)(
//               lambda t:
//                 map_lcl(1)(
//                   lambda row: map_lcl(0)(lambda v: v, row),
//                   transpose(to_local(map_lcl(1)(lambda row: map_lcl(0)(lambda v: v, row), t)))
//                 ),
//               ts
//             ),
//           transpose(map(lambda x: transpose(x), split(4, map(lambda row: split(4, row), a))))
//         )
//       )
//     )
//   )
// where a: f32[4*m, 4*n]
// work-items: 4*m x 4*n, in groups of 4 x 4
__attribute__((reqd_work_group_size(4, 4, 1)))
kernel void transposed_by_tiles_1(global const float* restrict a, global float* restrict out, const int m, const int n) {
  local float tile[16] __attribute__((aligned(128)));
  const int wrg_0 = get_group_id(0);
  const int wrg_1 = get_group_id(1);
  const int lcl_0 = get_local_id(0);
  const int lcl_1 = get_local_id(1);

  tile[4*lcl_1 + lcl_0] = a[16*n*wrg_0 + 4*lcl_1*n + 4*wrg_1 + lcl_0];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[16*m*wrg_1 + 4*lcl_1*m + 4*wrg_0 + lcl_0] = tile[4*lcl_0 + lcl_1];
}
