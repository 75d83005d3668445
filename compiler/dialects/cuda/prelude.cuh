// What OpenCL C has built in, for CUDA: vectors, their arithmetic lane by lane, and conversions.
#ifndef RELIFT_PRELUDE
#define RELIFT_PRELUDE

#ifndef INFINITY
#define INFINITY (1.0f / 0.0f) // a constant: tables hold it
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fc00000)
#endif
#ifndef INT_MIN
#define INT_MIN (-2147483647 - 1)
#endif
#undef LONG_MAX
#define LONG_MAX 9223372036854775807LL
#undef LONG_MIN
#define LONG_MIN (-9223372036854775807LL - 1)

__constant__ int relift_offset[3];

template <int N> struct relift_size { static const int cells = N == 3 ? 4 : N; };

template <class T, int N> struct alignas(sizeof(T) * relift_size<N>::cells) relift_vec {
  T s[relift_size<N>::cells];
};

// some lanes of a vector
template <int... I, class T, int N> __device__ relift_vec<T, sizeof...(I)> relift_pick(const relift_vec<T, N>& v) {
  const int lanes[] = {I...};
  relift_vec<T, sizeof...(I)> r;
  for (int i = 0; i < (int)sizeof...(I); ++i) r.s[i] = v.s[lanes[i]];
  return r;
}

// lanes: several scalars and vectors in a row, or one scalar for all lanes
template <class T, int N, int M> __device__ int relift_put(relift_vec<T, N>& r, int at, const relift_vec<T, M>& v) {
  for (int i = 0; i < M; ++i) r.s[at + i] = v.s[i];
  return at + M;
}
template <class T, int N, class U> __device__ int relift_put(relift_vec<T, N>& r, int at, U x) {
  r.s[at] = (T)x;
  return at + 1;
}
template <class T, int N, class U> __device__ relift_vec<T, N> relift_lanes(U x) {
  relift_vec<T, N> r;
  for (int i = 0; i < N; ++i) r.s[i] = (T)x;
  return r;
}
template <class T, int N, class U, class V, class... W>
__device__ relift_vec<T, N> relift_lanes(U x, V y, W... rest) {
  relift_vec<T, N> r;
  int at = relift_put(r, 0, x);
  at = relift_put(r, at, y);
  int each[] = {0, (at = relift_put(r, at, rest))...};
  (void)each;
  return r;
}

template <class T> struct relift_mask { typedef int type; };
template <> struct relift_mask<double> { typedef long long type; };
template <> struct relift_mask<long long> { typedef long long type; };
template <> struct relift_mask<unsigned long long> { typedef long long type; };
template <> struct relift_mask<unsigned char> { typedef signed char type; };

#define RELIFT_ARITHMETIC(OP)                                                                        \
  template <class T, int N>                                                                          \
  __device__ relift_vec<T, N> operator OP(const relift_vec<T, N>& x, const relift_vec<T, N>& y) {    \
    relift_vec<T, N> r;                                                                              \
    for (int i = 0; i < N; ++i) r.s[i] = x.s[i] OP y.s[i];                                           \
    return r;                                                                                        \
  }                                                                                                  \
  template <class T, int N, class U>                                                                 \
  __device__ relift_vec<T, N> operator OP(const relift_vec<T, N>& x, U y) {                          \
    return x OP relift_lanes<T, N>(y);                                                               \
  }                                                                                                  \
  template <class T, int N, class U>                                                                 \
  __device__ relift_vec<T, N> operator OP(U x, const relift_vec<T, N>& y) {                          \
    return relift_lanes<T, N>(x) OP y;                                                               \
  }
RELIFT_ARITHMETIC(+)
RELIFT_ARITHMETIC(-)
RELIFT_ARITHMETIC(*)
RELIFT_ARITHMETIC(/)
RELIFT_ARITHMETIC(%)
RELIFT_ARITHMETIC(&)
RELIFT_ARITHMETIC(|)
RELIFT_ARITHMETIC(^)
RELIFT_ARITHMETIC(<<)
RELIFT_ARITHMETIC(>>)

#define RELIFT_COMPARISON(OP)                                                                        \
  template <class T, int N>                                                                          \
  __device__ relift_vec<typename relift_mask<T>::type, N> operator OP(const relift_vec<T, N>& x,     \
                                                                      const relift_vec<T, N>& y) {   \
    relift_vec<typename relift_mask<T>::type, N> r;                                                  \
    for (int i = 0; i < N; ++i) r.s[i] = x.s[i] OP y.s[i] ? -1 : 0;                                  \
    return r;                                                                                        \
  }                                                                                                  \
  template <class T, int N, class U>                                                                 \
  __device__ relift_vec<typename relift_mask<T>::type, N> operator OP(const relift_vec<T, N>& x,     \
                                                                      U y) {                         \
    return x OP relift_lanes<T, N>(y);                                                               \
  }                                                                                                  \
  template <class T, int N, class U>                                                                 \
  __device__ relift_vec<typename relift_mask<T>::type, N> operator OP(U x,                           \
                                                                      const relift_vec<T, N>& y) {   \
    return relift_lanes<T, N>(x) OP y;                                                               \
  }
RELIFT_COMPARISON(<)
RELIFT_COMPARISON(<=)
RELIFT_COMPARISON(>)
RELIFT_COMPARISON(>=)
RELIFT_COMPARISON(==)
RELIFT_COMPARISON(!=)

#define RELIFT_UNARY(OP)                                                                             \
  template <class T, int N> __device__ relift_vec<T, N> operator OP(const relift_vec<T, N>& x) {     \
    relift_vec<T, N> r;                                                                              \
    for (int i = 0; i < N; ++i) r.s[i] = OP x.s[i];                                                  \
    return r;                                                                                        \
  }
RELIFT_UNARY(-)
RELIFT_UNARY(~)
template <class T, int N> __device__ relift_vec<T, N> operator!(const relift_vec<T, N>& x) {
  relift_vec<T, N> r;
  for (int i = 0; i < N; ++i) r.s[i] = x.s[i] == 0 ? -1 : 0;
  return r;
}

// a choice lane by lane, where the lane of a mask is not 0; `select` takes the second where it is
template <class M, class T, int N>
__device__ relift_vec<T, N> relift_choose(const relift_vec<M, N>& c, const relift_vec<T, N>& x,
                                          const relift_vec<T, N>& y) {
  relift_vec<T, N> r;
  for (int i = 0; i < N; ++i) r.s[i] = c.s[i] < 0 ? x.s[i] : y.s[i];
  return r;
}
template <class M, class T, int N>
__device__ relift_vec<T, N> relift_select(const relift_vec<T, N>& x, const relift_vec<T, N>& y,
                                          const relift_vec<M, N>& c) {
  return relift_choose(c, y, x);
}

// conversions: by value, to the end of the range, and of bits
template <class T, class U> __device__ T relift_convert(U x) { return (T)x; }
template <class T, class U, int N> __device__ relift_vec<T, N> relift_convert(const relift_vec<U, N>& x) {
  relift_vec<T, N> r;
  for (int i = 0; i < N; ++i) r.s[i] = (T)x.s[i];
  return r;
}
template <class T> struct relift_sat;
template <> struct relift_sat<int> {
  __device__ static int of(float x) { return __float2int_rz(x); }
  __device__ static int of(double x) { return __double2int_rz(x); }
};
template <> struct relift_sat<long long> {
  __device__ static long long of(float x) { return __float2ll_rz(x); }
  __device__ static long long of(double x) { return __double2ll_rz(x); }
};
template <class T, class U> __device__ T relift_convert_sat(U x) { return relift_sat<T>::of(x); }
template <class T, class U, int N> __device__ relift_vec<T, N> relift_convert_sat(const relift_vec<U, N>& x) {
  relift_vec<T, N> r;
  for (int i = 0; i < N; ++i) r.s[i] = relift_sat<T>::of(x.s[i]);
  return r;
}
template <class T, class U> __device__ T relift_as(U x) { return (T)x; }
template <class T, class U, int N> __device__ relift_vec<T, N> relift_as(const relift_vec<U, N>& x) {
  return relift_convert<T>(x);
}

// vectors in memory that are not aligned
template <int N, class T> __device__ relift_vec<T, N> relift_vload(const T* p) {
  relift_vec<T, N> r;
  for (int i = 0; i < N; ++i) r.s[i] = p[i];
  return r;
}
template <class T, int N> __device__ void relift_vstore(const relift_vec<T, N>& v, T* p) {
  for (int i = 0; i < N; ++i) p[i] = v.s[i];
}

// functions of the library
template <class T> __device__ T relift_abs(T x) { return x < 0 ? (T)(0 - (unsigned long long)x) : x; }
#define RELIFT_CALL1(NAME, F)                                                                        \
  __device__ inline float relift_##NAME(float x) { return F##f(x); }                                 \
  __device__ inline double relift_##NAME(double x) { return F(x); }                                  \
  template <class T, int N> __device__ relift_vec<T, N> relift_##NAME(const relift_vec<T, N>& x) {   \
    relift_vec<T, N> r;                                                                              \
    for (int i = 0; i < N; ++i) r.s[i] = relift_##NAME(x.s[i]);                                      \
    return r;                                                                                        \
  }
#define RELIFT_CALL2(NAME, F)                                                                        \
  __device__ inline float relift_##NAME(float x, float y) { return F##f(x, y); }                     \
  __device__ inline double relift_##NAME(double x, double y) { return F(x, y); }                     \
  template <class T, int N>                                                                          \
  __device__ relift_vec<T, N> relift_##NAME(const relift_vec<T, N>& x, const relift_vec<T, N>& y) {  \
    relift_vec<T, N> r;                                                                              \
    for (int i = 0; i < N; ++i) r.s[i] = relift_##NAME(x.s[i], y.s[i]);                              \
    return r;                                                                                        \
  }
RELIFT_CALL1(fabs, fabs)
RELIFT_CALL1(floor, floor)
RELIFT_CALL1(ceil, ceil)
RELIFT_CALL1(sqrt, sqrt)
RELIFT_CALL1(rsqrt, rsqrt)
RELIFT_CALL1(exp, exp)
RELIFT_CALL1(log, log)
RELIFT_CALL1(sin, sin)
RELIFT_CALL1(cos, cos)
RELIFT_CALL1(tan, tan)
RELIFT_CALL1(asin, asin)
RELIFT_CALL1(acos, acos)
RELIFT_CALL1(atan, atan)
RELIFT_CALL2(atan2, atan2)
RELIFT_CALL1(tanh, tanh)
RELIFT_CALL2(pow, pow)
RELIFT_CALL2(hypot, hypot)
__device__ inline float relift_fma(float x, float y, float z) { return fmaf(x, y, z); }
__device__ inline double relift_fma(double x, double y, double z) { return fma(x, y, z); }
template <class T, int N>
__device__ relift_vec<T, N> relift_fma(const relift_vec<T, N>& x, const relift_vec<T, N>& y,
                                       const relift_vec<T, N>& z) {
  relift_vec<T, N> r;
  for (int i = 0; i < N; ++i) r.s[i] = relift_fma(x.s[i], y.s[i], z.s[i]);
  return r;
}
template <class T, int N> __device__ relift_vec<T, N> relift_abs(const relift_vec<T, N>& x) {
  relift_vec<T, N> r;
  for (int i = 0; i < N; ++i) r.s[i] = relift_abs(x.s[i]);
  return r;
}
#define RELIFT_EXTREME(NAME, OP)                                                                     \
  template <class T, class U> __device__ auto relift_##NAME(T x, U y) -> decltype(x + y) {           \
    return x OP y ? x : y;                                                                           \
  }                                                                                                  \
  template <class T, int N>                                                                          \
  __device__ relift_vec<T, N> relift_##NAME(const relift_vec<T, N>& x, const relift_vec<T, N>& y) {  \
    relift_vec<T, N> r;                                                                              \
    for (int i = 0; i < N; ++i) r.s[i] = x.s[i] OP y.s[i] ? x.s[i] : y.s[i];                         \
    return r;                                                                                        \
  }
RELIFT_EXTREME(min, <)
RELIFT_EXTREME(max, >)

// a cell that is combined with a value while others are: what others put there meanwhile is taken out again
__device__ inline void relift_add_f32_at_once(float* p, float x) {
  do {
    x = atomicExch(p, atomicExch(p, 0.0f) + x);
  } while (x != 0.0f);
}

// the same for what has no value that changes nothing: again until nobody came between
#define RELIFT_UPDATE(NAME, VALUE)                                                                   \
  __device__ inline void relift_##NAME##_f32_at_once(float* p, float x) {                            \
    int seen = __float_as_int(*(volatile float*)p);                                                  \
    while (true) {                                                                                   \
      const float old = __int_as_float(seen);                                                        \
      const int now = __float_as_int(VALUE);                                                         \
      if (now == seen) return;                                                                       \
      const int found = atomicCAS((int*)p, seen, now);                                               \
      if (found == seen) return;                                                                     \
      seen = found;                                                                                  \
    }                                                                                                \
  }
RELIFT_UPDATE(maximum, old > x || old != old ? old : x)
RELIFT_UPDATE(minimum, old < x || old != old ? old : x)

#endif
