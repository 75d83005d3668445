// iterated_in_local_memory, kernel 1 of 1
// out: f32[32, 64] =
//   map_wrg(0)(
//     lambda row:
//       map_lcl(0)(
//         lambda v: v,
//         iterate(
//           3,
//           lambda xs:
//             to_local(
//               map_lcl(0)(lambda w: (w[0] + w[1]) + w[2], slide(3, 1, pad(1, 1, clamp, xs)))
//             ),
//           to_local(map_lcl(0)(lambda v: v, row))
//         )
//       ),
//     x
//   )
// where x: f32[32, 64]
// work-items: 2048, in groups of 64
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void iterated_in_local_memory_1(global const float* restrict x, global float* restrict out) {
  local float tile[64] __attribute__((aligned(128)));
  local float tile_2[64] __attribute__((aligned(128)));
  const int wrg_0 = get_group_id(0);
  const int lcl_0 = get_local_id(0);

  tile[lcl_0] = x[64*wrg_0 + lcl_0];
  barrier(CLK_LOCAL_MEM_FENCE);
  local float* old = tile;
  local float* new = tile_2;
  const int at = max(lcl_0 - 1, 0);
  const int at_2 = min(lcl_0 + 1, 63);
  for (int i = 0; i < 3; ++i) {
    new[lcl_0] = (old[at] + old[lcl_0]) + old[at_2];
    local float* const held = old;
    old = new;
    new = held;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[64*wrg_0 + lcl_0] = old[lcl_0];
}
