// a*x + y: a vector for each work-item.
__attribute__((vec_type_hint(float16)))
kernel void saxpy(const float a, global const float16* restrict x, global const float16* restrict y, global float16* restrict out) {
  const int i = get_global_id(0);
  out[i] = a * x[i] + y[i];
}
