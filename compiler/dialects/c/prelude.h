// What OpenCL C has built in, for a C compiler with the vectors of GCC.
// It includes nothing: the names of headers are left to programs.
#if defined(__GNUC__) && !defined(__clang__)
// GCC leaves out what a later turn of a loop would overwrite, and after a loop that ends before it writes back what it
// read there: a cell that another thread has written since (GCC 12, 6 of 100 calls of a kernel with two work-items)
#pragma GCC optimize("no-predictive-commoning")
#endif
#define INT_MAX 0x7fffffff
#define INT_MIN (-INT_MAX - 1)
#define LONG_MAX 0x7fffffffffffffffL
#define LONG_MIN (-LONG_MAX - 1L)
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define M_PI 3.141592653589793
#define M_PI_F 3.14159274101257f

_Static_assert(sizeof(long) == 8, "a long of OpenCL has 64 bits");
typedef signed char relift_char;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

// vectors: as many lanes as OpenCL has, three in the room of four; they may lie anywhere in an array
#define RELIFT_VECTOR(T, NAME, N, ROOM) \
  typedef T NAME##N __attribute__((vector_size(sizeof(T) * ROOM), aligned(sizeof(T)), may_alias));
#define RELIFT_VECTORS(T, NAME) \
  RELIFT_VECTOR(T, NAME, 2, 2) RELIFT_VECTOR(T, NAME, 3, 4) RELIFT_VECTOR(T, NAME, 4, 4) \
  RELIFT_VECTOR(T, NAME, 8, 8) RELIFT_VECTOR(T, NAME, 16, 16)
RELIFT_VECTORS(signed char, char)
RELIFT_VECTORS(uchar, uchar)
RELIFT_VECTORS(short, short)
RELIFT_VECTORS(ushort, ushort)
RELIFT_VECTORS(int, int)
RELIFT_VECTORS(uint, uint)
RELIFT_VECTORS(long, long)
RELIFT_VECTORS(ulong, ulong)
RELIFT_VECTORS(float, float)
RELIFT_VECTORS(double, double)
#ifdef __FLT16_MANT_DIG__
typedef _Float16 half;
RELIFT_VECTORS(_Float16, half)
#endif

#if defined(__clang__)
#define RELIFT_ITEMS _Pragma("clang loop vectorize(assume_safety)")
#else
#define RELIFT_ITEMS _Pragma("GCC ivdep")
#endif

// what a person may call in a function of scalars that is not read
#define RELIFT_CALL(F, x) _Generic((x), float: __builtin_##F##f, default: __builtin_##F)
#define exp(x) RELIFT_CALL(exp, x)(x)
#define exp2(x) RELIFT_CALL(exp2, x)(x)
#define log(x) RELIFT_CALL(log, x)(x)
#define log2(x) RELIFT_CALL(log2, x)(x)
#define sin(x) RELIFT_CALL(sin, x)(x)
#define cos(x) RELIFT_CALL(cos, x)(x)
#define tan(x) RELIFT_CALL(tan, x)(x)
#define tanh(x) RELIFT_CALL(tanh, x)(x)
#define sinh(x) RELIFT_CALL(sinh, x)(x)
#define cosh(x) RELIFT_CALL(cosh, x)(x)
#define asin(x) RELIFT_CALL(asin, x)(x)
#define acos(x) RELIFT_CALL(acos, x)(x)
#define atan(x) RELIFT_CALL(atan, x)(x)
#define sqrt(x) RELIFT_CALL(sqrt, x)(x)
#define fabs(x) RELIFT_CALL(fabs, x)(x)
#define floor(x) RELIFT_CALL(floor, x)(x)
#define ceil(x) RELIFT_CALL(ceil, x)(x)
#define round(x) RELIFT_CALL(round, x)(x)
#define trunc(x) RELIFT_CALL(trunc, x)(x)
#define rint(x) RELIFT_CALL(rint, x)(x)
#define cbrt(x) RELIFT_CALL(cbrt, x)(x)
#define erf(x) RELIFT_CALL(erf, x)(x)
#define erfc(x) RELIFT_CALL(erfc, x)(x)
#define lgamma(x) RELIFT_CALL(lgamma, x)(x)
#define tgamma(x) RELIFT_CALL(tgamma, x)(x)
#define pow(x, y) RELIFT_CALL(pow, (x) + (y))(x, y)
#define hypot(x, y) RELIFT_CALL(hypot, (x) + (y))(x, y)
#define fmin(x, y) RELIFT_CALL(fmin, (x) + (y))(x, y)
#define fmax(x, y) RELIFT_CALL(fmax, (x) + (y))(x, y)
#define fmod(x, y) RELIFT_CALL(fmod, (x) + (y))(x, y)
#define atan2(x, y) RELIFT_CALL(atan2, (x) + (y))(x, y)
#define copysign(x, y) RELIFT_CALL(copysign, (x) + (y))(x, y)
#define fma(x, y, z) RELIFT_CALL(fma, (x) + (y) + (z))(x, y, z)
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)
#define isfinite(x) __builtin_isfinite(x)
#define signbit(x) __builtin_signbit(x)
#define abs(x) ({ __auto_type relift_x = (x); relift_x < 0 ? -relift_x : relift_x; })
#define min(x, y) ({ __auto_type relift_x = (x); __auto_type relift_y = (y); relift_y < relift_x ? relift_y : relift_x; })
#define max(x, y) ({ __auto_type relift_a = (x); __auto_type relift_b = (y); relift_a < relift_b ? relift_b : relift_a; })
#define clamp(x, low, high) min(max(x, low), high)
#define mad(x, y, z) ((x) * (y) + (z))
#define select(x, y, c) ((c) ? (y) : (x))
#define rsqrt(x) (1 / sqrt(x))
#define as_int(x) ({ __auto_type relift_x = (x); int relift_r; __builtin_memcpy(&relift_r, &relift_x, 4); relift_r; })
#define as_uint(x) ((uint)as_int(x))
#define as_float(x) ({ __auto_type relift_x = (x); float relift_r; __builtin_memcpy(&relift_r, &relift_x, 4); relift_r; })
#define convert_int(x) ((int)(x))
#define convert_float(x) ((float)(x))
#define native_exp(x) exp(x)
#define native_exp2(x) exp2(x)
#define native_log(x) log(x)
#define native_log2(x) log2(x)
#define native_sin(x) sin(x)
#define native_cos(x) cos(x)
#define native_tan(x) tan(x)
#define native_sqrt(x) sqrt(x)
#define native_rsqrt(x) rsqrt(x)
#define native_divide(x, y) ((x) / (y))
#define native_recip(x) (1 / (x))

// where a group is: its number, how many there are, its first work-item, how many it has, and how many are launched
typedef struct { int group[3], groups[3], first[3], items[3], range[3]; } relift_place;

// barriers that not all work-items of a group come to
static int relift_diverged;
static inline void relift_all_or_none(int count, int items) {
  if (count != 0 && count != items) __atomic_store_n(&relift_diverged, 1, __ATOMIC_RELAXED);
}
static inline long relift_same(long others, long own) {
  if (others >= 0 && others != own) __atomic_store_n(&relift_diverged, 1, __ATOMIC_RELAXED);
  return others < 0 || own < others ? own : others;
}

// all groups of a launch, shared out to threads
static inline int relift_launch(void (*run)(void**, const relift_place*), void** given, const int* offset,
                                const int* range, const int* local, int threads) {
  int groups[3];
  for (int d = 0; d < 3; ++d) groups[d] = (range[d] + local[d] - 1) / local[d];
  const long all = (long)groups[0] * groups[1] * groups[2], share = all / 256 + 1;
  relift_diverged = 0;
#pragma omp parallel for schedule(dynamic, share) num_threads(threads)
  for (long g = 0; g < all; ++g) {
    const long at[3] = {g % groups[0], g / groups[0] % groups[1], g / groups[0] / groups[1]};
    relift_place here;
    for (int d = 0; d < 3; ++d) {
      const int left = range[d] - (int)at[d] * local[d];
      here.group[d] = (int)at[d];
      here.groups[d] = groups[d];
      here.first[d] = offset[d] + (int)at[d] * local[d];
      here.items[d] = left < local[d] ? left : local[d];
      here.range[d] = range[d];
    }
    run(given, &here);
  }
  return relift_diverged;
}
