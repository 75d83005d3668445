/* One of the programs of `replacing_speed`, as it is and with its loops replaced, in one program: -DCASE=name -DLARGE=n.
   It prints the least time of several calls of both, and whether both computed the same; its argument divides the size. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern char relift_opencl_said[256], relift_opencl_device[256];
extern long REFUSED;
static unsigned long long state = 88172645463325252ULL;
static unsigned draw(void) { state ^= state << 13; state ^= state >> 7; state ^= state << 17; return state >> 32; }
static float *floats(size_t n) { float *x = malloc(n * sizeof *x + 1); for (size_t i = 0; i < n; i++) x[i] = draw() / 4294967296.0f; return x; }
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }

#define sgemm 1
#define histogram 2
#define stencil 3
#define csr 4
#define tpacf 5
#if CASE == sgemm
void f_original(int n, const float *a, const float *b, float *c), f(int n, const float *a, const float *b, float *c);
#define CALL(f) f(SIZE, a, b, to)
#define MADE float *a = floats((size_t)SIZE * SIZE), *b = floats((size_t)SIZE * SIZE)
typedef float cell;
#define CELLS ((size_t)SIZE * SIZE)
#elif CASE == histogram
void f_original(int n, const int *key, int *bins), f(int n, const int *key, int *bins);
#define CALL(f) f(SIZE, key, to)
#define MADE int *key = malloc(SIZE * sizeof(int)); for (size_t i = 0; i < SIZE; i++) key[i] = draw() % 4096
typedef int cell;
#define CELLS 4096
#elif CASE == stencil
void f_original(int n, const float *a, float *b), f(int n, const float *a, float *b);
#define CALL(f) f(SIZE, a, to)
#define MADE float *a = floats((size_t)SIZE * SIZE)
typedef float cell;
#define CELLS ((size_t)SIZE * SIZE)
#elif CASE == csr
typedef const int *ints;
typedef const float *reals;
void f_original(int n, ints rows, ints columns, reals values, reals x, float *y), f(int n, ints rows, ints columns, reals values, reals x, float *y);
#define CALL(f) f(SIZE, rows, columns, values, x, to)
#define MADE int *rows = malloc((SIZE + 1) * sizeof(int)); rows[0] = 0; for (size_t i = 0; i < SIZE; i++) rows[i + 1] = rows[i] + draw() % 64; \
  int *columns = malloc(rows[SIZE] * sizeof(int) + 1); for (int k = 0; k < rows[SIZE]; k++) columns[k] = draw() % SIZE; \
  float *values = floats(rows[SIZE]), *x = floats(SIZE)
typedef float cell;
#define CELLS SIZE
#else
typedef const float *reals;
void f_original(int n, int m, reals x, reals y, reals z, reals bounds, long *bins), f(int n, int m, reals x, reals y, reals z, reals bounds, long *bins);
#define CALL(f) f(SIZE, 20, x, y, z, bounds, to)
#define MADE float *x = floats(SIZE), *y = floats(SIZE), *z = floats(SIZE), bounds[20]; \
  for (int i = 0; i < SIZE; i++) { x[i] = 2 * x[i] - 1; y[i] = 2 * y[i] - 1; z[i] = 2 * z[i] - 1; \
    float r = sqrtf(x[i] * x[i] + y[i] * y[i] + z[i] * z[i]); x[i] /= r; y[i] /= r; z[i] /= r; } \
  for (int b = 0; b < 20; b++) bounds[b] = cosf((b + 1) * 3.14159265f / 20)
typedef long cell;
#define CELLS 21
#endif

int main(int count, char **given) {
  const int SIZE = LARGE / (count > 1 ? atoi(given[1]) : 1);
  MADE;
  cell *to = malloc(CELLS * sizeof(cell)), *wanted = malloc(CELLS * sizeof(cell));
  double before = 1e9, after = 1e9, first = 0;
  for (int call = 0; call < CALLS; call++) {
    memset(to, 0, CELLS * sizeof(cell));
    const double begin = now();
    CALL(f_original);
    const double took = now() - begin;
    before = took < before ? took : before;
  }
  memcpy(wanted, to, CELLS * sizeof(cell));
  for (int call = 0; call < CALLS + 3; call++) {
    memset(to, 0, CELLS * sizeof(cell));
    const double begin = now();
    CALL(f);
    const double took = now() - begin;
    if (!call) first = took;
    after = took < after ? took : after;
  }
  double worst = 0;
  for (size_t i = 0; i < CELLS; i++) {
    const double apart = fabs((double)to[i] - (double)wanted[i]) / (1e-30 + fabs((double)wanted[i]));
    if (!(apart <= worst)) worst = apart;
  }
  printf("%-10s size %-9d original %9.2f ms  replaced %9.2f ms  times %6.2f  first call %8.1f ms  %s  refused %ld %s on %s\n", NAME, SIZE, before * 1e3,
         after * 1e3, before / after, first * 1e3, worst < 1e-4 ? "same" : "DIFFERS", REFUSED, relift_opencl_said, relift_opencl_device);
  return !(worst < 1e-4) || REFUSED || after > before;
}
