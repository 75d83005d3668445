// The matrix Q: 16 voxels for each work-item, all samples one after the other.
__attribute__((vec_type_hint(float16)))
kernel void mriq(
    global const float16* restrict x, global const float16* restrict y, global const float16* restrict z,
    global const float* restrict kx, global const float* restrict ky, global const float* restrict kz,
    global const float* restrict magnitude, global float16* restrict re, global float16* restrict im) {
  const int i = get_global_id(0);
  const float16 a = x[i], b = y[i], c = z[i];
  float16 r = 0.0f, m = 0.0f;
  for (int s = 0; s < K; ++s) {
    const float16 angle = 6.2831853f * (kx[s] * a + ky[s] * b + kz[s] * c);
    r += magnitude[s] * cos(angle);
    m += magnitude[s] * sin(angle);
  }
  re[i] = r;
  im[i] = m;
}
