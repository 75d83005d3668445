/* The routines of a sparse library in the style of oneMKL that the tests link: what its manual says of them, with no care for speed. */
#include <stdlib.h>
struct descr { int type, mode, diag; };
struct matrix { int rows, columns; const int *begin, *end, *column; const void *values; };
int mkl_sparse_destroy(void *m) { free(m); return 0; }
#define ROUTINES(T, P) \
int mkl_sparse_##P##_create_csr(void **m, int base, int rows, int columns, int *begin, int *end, int *column, T *values) { \
  if (base != 0 || rows < 1 || columns < 1) return 3; \
  for (int r = 0; r < rows; r++) for (int k = begin[r]; k < end[r]; k++) if (column[k] < 0 || column[k] >= columns) abort(); \
  struct matrix *made = malloc(sizeof *made); \
  *made = (struct matrix){rows, columns, begin, end, column, values}; \
  *m = made; \
  return 0; } \
int mkl_sparse_##P##_mv(int operation, T alpha, void *m, struct descr d, const T *x, T beta, T *y) { \
  const struct matrix *a = m; \
  if (operation != 10 || d.type != 20) abort(); \
  for (int r = a->rows - 1; r >= 0; r--) { T s = 0; \
    for (int k = a->end[r] - 1; k >= a->begin[r]; k--) s += ((const T *)a->values)[k] * x[a->column[k]]; \
    y[r] = alpha * s + (beta == 0 ? 0 : beta * y[r]); } \
  return 0; }
ROUTINES(float, s)
ROUTINES(double, d)
