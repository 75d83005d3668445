/* A matrix product as it is often written, and a stencil: relift lift examples/c/matmul.c */

void matmul(int n, int m, int k, const float *a, const float *b, float *c)
{
  for (int p = 0; p < k; p++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < m; j++)
        c[i * m + j] += a[i * k + p] * b[p * m + j];
}

void smooth(int n, const float *x, float *y)
{
  for (int i = 1; i < n - 1; i++)
    y[i] = 0.25f * x[i - 1] + 0.5f * x[i] + 0.25f * x[i + 1];
}

float until_negative(int n, const float *x)
{
  float s = 0;
  for (int i = 0; i < n; i++) {
    if (x[i] < 0)
      break;
    s += x[i];
  }
  return s;
}
