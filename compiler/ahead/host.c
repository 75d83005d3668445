// How kernels are launched: on all work-items, in whole groups and in smaller ones for those that are left.
#define RELIFT_NO_MEMORY 1
#define RELIFT_TOO_LARGE 2
#define RELIFT_DIVERGED 3
#define RELIFT_BAD_SIZE 4

typedef int relift_entry(void** given, const int* offset, const int* range, const int* local, int threads);

static long long relift_least(long long x, long long y) { return x < y ? x : y; }
static long long relift_most(long long x, long long y) { return x > y ? x : y; }

// work-items in any groups are shared out to the threads
static int relift_in_any_groups(relift_entry* run, void** given, const long long* range, int threads) {
  const int offset[3] = {0, 0, 0}, items[3] = {(int)range[0], (int)range[1], (int)range[2]};
  const long long others = range[1] * range[2], shares = relift_most(1, (8LL * threads + others - 1) / others);
  const int local[3] = {(int)relift_least(1024, (range[0] + shares - 1) / shares), 1, 1};
  return run(given, offset, items, local, threads) ? RELIFT_DIVERGED : 0;
}

static int relift_run(relift_entry* run, void** given, const long long* range, const int* local, int any_groups) {
  for (int d = 0; d < 3; ++d) {
    if (range[d] >= 0x80000000LL) return RELIFT_TOO_LARGE;
    if (range[d] <= 0) return 0;
  }
  const int threads = relift_threads();
  if (any_groups) return relift_in_any_groups(run, given, range, threads);
  for (int part = 0; part < 8; ++part) {
    int offset[3], items[3], group[3], empty = 0;
    for (int d = 0; d < 3; ++d) {
      const int whole = (int)(range[d] / local[d] * local[d]), left = (int)range[d] - whole;
      const int rest = part >> d & 1;
      offset[d] = rest ? whole : 0;
      items[d] = rest ? left : whole;
      group[d] = rest ? left : local[d];
      empty |= items[d] == 0;
    }
    if (!empty && run(given, offset, items, group, threads)) return RELIFT_DIVERGED;
  }
  return 0;
}
