// The nearest centre of each point: points feature by feature, 16 of them for each work-item.
__attribute__((vec_type_hint(float16)))
kernel void kmeans(global const float16* restrict features, global const float* restrict centres, global int16* restrict out) {
  const int i = get_global_id(0);
  float16 s[K];
  #pragma unroll
  for (int c = 0; c < K; ++c) s[c] = 0.0f;
  for (int f = 0; f < D; ++f) {
    const float16 v = features[f * (N / 16) + i];
    #pragma unroll
    for (int c = 0; c < K; ++c) {
      const float16 gap = v - centres[c * D + f];
      s[c] += gap * gap;
    }
  }
  float16 nearest = s[0];
  int16 number = 0;
  #pragma unroll
  for (int c = 1; c < K; ++c) {
    const int16 nearer = s[c] < nearest;
    nearest = nearer ? s[c] : nearest;
    number = nearer ? (int16)(c) : number;
  }
  out[i] = number;
}

// The same for points that come one after the other: the work-items of a group are the lanes.
kernel void kmeans_rows(global const float* restrict points, global const float* restrict centres, global int* restrict out) {
  const int i = get_global_id(0);
  float s[K];
  #pragma unroll
  for (int c = 0; c < K; ++c) s[c] = 0.0f;
  for (int f = 0; f < D; ++f) {
    const float v = points[i * D + f];
    #pragma unroll
    for (int c = 0; c < K; ++c) s[c] += (v - centres[c * D + f]) * (v - centres[c * D + f]);
  }
  float nearest = s[0];
  int number = 0;
  #pragma unroll
  for (int c = 1; c < K; ++c) {
    if (s[c] < nearest) {
      nearest = s[c];
      number = c;
    }
  }
  out[i] = number;
}
