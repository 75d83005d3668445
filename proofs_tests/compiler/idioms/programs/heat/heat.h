#define N 32
extern double now[N][N], next[N][N];
