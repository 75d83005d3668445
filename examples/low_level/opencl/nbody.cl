// One step of n bodies: 16 bodies for each work-item, all bodies one after the other.
__attribute__((vec_type_hint(float16)))
kernel void nbody(
    global const float* restrict px, global const float* restrict py, global const float* restrict pz, global const float* restrict mass,
    global const float16* restrict vx, global const float16* restrict vy, global const float16* restrict vz,
    const float softening, const float dt,
    global float16* restrict qx, global float16* restrict qy, global float16* restrict qz, global float16* restrict qm,
    global float16* restrict ux, global float16* restrict uy, global float16* restrict uz) {
  const int i = get_global_id(0);
  const float16 x = vload16(i, px), y = vload16(i, py), z = vload16(i, pz);
  float16 ax = 0.0f, ay = 0.0f, az = 0.0f;
  for (int j = 0; j < N; ++j) {
    const float16 dx = px[j] - x, dy = py[j] - y, dz = pz[j] - z;
    const float16 d = dx * dx + dy * dy + dz * dz + softening;
    const float16 s = mass[j] / (d * sqrt(d));
    ax += dx * s;
    ay += dy * s;
    az += dz * s;
  }
  const float h = 0.5f * dt * dt;
  qx[i] = x + vx[i] * dt + ax * h;
  qy[i] = y + vy[i] * dt + ay * h;
  qz[i] = z + vz[i] * dt + az * h;
  qm[i] = vload16(i, mass);
  ux[i] = vx[i] + ax * dt;
  uy[i] = vy[i] + ay * dt;
  uz[i] = vz[i] + az * dt;
}
