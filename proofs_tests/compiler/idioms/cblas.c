/* The routines of a BLAS that the tests link: what the standard says of them for rows one after the other, with no care for speed. */
#include <stdlib.h>
#define ROUTINES(T, P) \
void cblas_##P##gemm(int order, int ta, int tb, int m, int n, int k, T alpha, const T *a, int lda, const T *b, int ldb, T beta, T *c, int ldc) { \
  if (order != 101 || lda < (ta == 111 ? k : m) || ldb < (tb == 111 ? n : k) || ldc < n) abort(); \
  for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) { T s = 0; \
    for (int p = 0; p < k; p++) s += (ta == 111 ? a[i * lda + p] : a[p * lda + i]) * (tb == 111 ? b[p * ldb + j] : b[j * ldb + p]); \
    c[i * ldc + j] = alpha * s + (beta == 0 ? 0 : beta * c[i * ldc + j]); } } \
void cblas_##P##gemv(int order, int ta, int m, int n, T alpha, const T *a, int lda, const T *x, int incx, T beta, T *y, int incy) { \
  if (order != 101 || lda < n) abort(); \
  for (int i = 0; i < (ta == 111 ? m : n); i++) { T s = 0; \
    for (int p = 0; p < (ta == 111 ? n : m); p++) s += (ta == 111 ? a[i * lda + p] : a[p * lda + i]) * x[p * incx]; \
    y[i * incy] = alpha * s + (beta == 0 ? 0 : beta * y[i * incy]); } } \
void cblas_##P##axpy(int n, T alpha, const T *x, int incx, T *y, int incy) { for (int i = 0; i < n; i++) y[i * incy] += alpha * x[i * incx]; } \
T cblas_##P##dot(int n, const T *x, int incx, const T *y, int incy) { T s = 0; for (int i = n - 1; i >= 0; i--) s += x[i * incx] * y[i * incy]; return s; }
ROUTINES(float, s)
ROUTINES(double, d)
