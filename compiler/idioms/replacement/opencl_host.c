/* What runs kernels in OpenCL: plain C.  The library of OpenCL is loaded when the first loop asks for it, and its names are
   declared here, so neither its headers nor its library are needed to compile and link.
   RELIFT_OPENCL names that library, where it is not libOpenCL.so.1.
   RELIFT_DEVICE names the device: gpu, cpu, or part of the names of its platform and of itself; without it a GPU is taken
   before others.  Where there is none, or where a call fails, the loop that was there runs, and that is counted;
   relift_opencl_said is why.  Needs `-ldl -lpthread` where the C library is older than glibc 2.34. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((weak)) char relift_opencl_said[256];
__attribute__((weak)) char relift_opencl_device[256];

/* One argument of a kernel: a number by its bytes, or an array of which the cells between two bytes are read. */
struct relift_given { const void *data; unsigned long bytes, low, high; int is_array; };
struct relift_memory { void *memory; unsigned long bytes; };
struct relift_offloaded {
  const char *source;
  int state; /* 1: built, -1: this device does not build it */
  void *program;
  struct relift_memory held[64];
};

#define RELIFT_OPENCL(X) \
  X(int, clGetPlatformIDs, (unsigned, void **, unsigned *)) \
  X(int, clGetPlatformInfo, (void *, unsigned, unsigned long, void *, unsigned long *)) \
  X(int, clGetDeviceIDs, (void *, unsigned long, unsigned, void **, unsigned *)) \
  X(int, clGetDeviceInfo, (void *, unsigned, unsigned long, void *, unsigned long *)) \
  X(void *, clCreateContext, (const long *, unsigned, void *const *, void *, void *, int *)) \
  X(void *, clCreateCommandQueue, (void *, void *, unsigned long, int *)) \
  X(void *, clCreateProgramWithSource, (void *, unsigned, const char **, const unsigned long *, int *)) \
  X(int, clBuildProgram, (void *, unsigned, void *const *, const char *, void *, void *)) \
  X(int, clReleaseProgram, (void *)) \
  X(void *, clCreateKernel, (void *, const char *, int *)) \
  X(int, clReleaseKernel, (void *)) \
  X(int, clSetKernelArg, (void *, unsigned, unsigned long, const void *)) \
  X(void *, clCreateBuffer, (void *, unsigned long, unsigned long, void *, int *)) \
  X(int, clReleaseMemObject, (void *)) \
  X(int, clEnqueueWriteBuffer, (void *, void *, unsigned, unsigned long, unsigned long, const void *, unsigned, void *, void *)) \
  X(int, clEnqueueReadBuffer, (void *, void *, unsigned, unsigned long, unsigned long, void *, unsigned, void *, void *)) \
  X(int, clEnqueueReadBufferRect, (void *, void *, unsigned, const unsigned long *, const unsigned long *, const unsigned long *, unsigned long, unsigned long, unsigned long, unsigned long, void *, unsigned, void *, void *)) \
  X(int, clEnqueueNDRangeKernel, (void *, void *, unsigned, const unsigned long *, const unsigned long *, const unsigned long *, unsigned, void *, void *)) \
  X(void *, clEnqueueMapBuffer, (void *, void *, unsigned, unsigned long, unsigned long, unsigned long, unsigned, const void *, void **, int *)) \
  X(int, clWaitForEvents, (unsigned, void *const *)) \
  X(int, clReleaseEvent, (void *)) \
  X(int, clFinish, (void *))
#define RELIFT_DECLARED(result, name, parameters) result (*name) parameters;
static struct {
  int state; /* 1: there is a device, -1: there is none */
  int process;
  void *device, *context, *queue;
  unsigned units;
  int is_cpu;
  void *stage[2]; /* memory that the device reads and writes by itself */
  void *moving[2]; /* what is on its way through it */
  char options[128];
  RELIFT_OPENCL(RELIFT_DECLARED)
} relift_cl;
static pthread_mutex_t relift_cl_lock = PTHREAD_MUTEX_INITIALIZER;

static int relift_fails(const char *what, int status) {
  snprintf(relift_opencl_said, sizeof relift_opencl_said, "%s (%d)", what, status);
  return 0;
}

/* The places where one device is used one call after the other. */
static int relift_locked(void) { pthread_mutex_lock(&relift_cl_lock); return 1; }
static void relift_unlock(int *locked) { if (*locked) pthread_mutex_unlock(&relift_cl_lock); }

static int relift_contains(const char *text, const char *part) {
  for (; *text; ++text) {
    const char *a = text, *b = part;
    while (*a && *b && (*a | ('A' <= *a && *a <= 'Z' ? 32 : 0)) == (*b | ('A' <= *b && *b <= 'Z' ? 32 : 0))) ++a, ++b;
    if (!*b) return 1;
  }
  return !*part;
}

/* How well a device is what is asked for: 0 where it is not. */
static int relift_rank(void *device, const char *platform, const char *wanted, char *name, unsigned long room) {
  unsigned long kind = 0;
  char own[128] = "";
  relift_cl.clGetDeviceInfo(device, 0x1000, sizeof kind, &kind, 0);
  relift_cl.clGetDeviceInfo(device, 0x102B, sizeof own - 1, own, 0);
  snprintf(name, room, "%s: %s", platform, own);
  const int is_gpu = (kind & 4) != 0, is_cpu = (kind & 2) != 0;
  if (wanted && relift_contains("gpu", wanted) && *wanted) return is_gpu;
  if (wanted && relift_contains("cpu", wanted) && *wanted) return is_cpu;
  if (wanted && !relift_contains(name, wanted)) return 0;
  return is_gpu ? 3 : is_cpu ? 1 : 2;
}

static int relift_find_device(void) {
  const char *const wanted = getenv("RELIFT_DEVICE");
  void *platforms[32], *devices[64];
  unsigned count = 0, found = 0;
  int best = 0;
  if (relift_cl.clGetPlatformIDs(32, platforms, &count)) count = 0;
  for (unsigned p = 0; p < (count < 32 ? count : 32); ++p) {
    char platform[96] = "";
    relift_cl.clGetPlatformInfo(platforms[p], 0x0902, sizeof platform - 1, platform, 0);
    if (relift_cl.clGetDeviceIDs(platforms[p], 0xFFFFFFFFUL, 64, devices, &found)) continue;
    for (unsigned d = 0; d < (found < 64 ? found : 64); ++d) {
      char name[256];
      const int rank = relift_rank(devices[d], platform, wanted, name, sizeof name);
      if (rank <= best) continue;
      best = rank;
      relift_cl.device = devices[d];
      memcpy(relift_opencl_device, name, sizeof name);
    }
  }
  if (!best) snprintf(relift_opencl_said, sizeof relift_opencl_said, "there is no device %s", wanted ? wanted : "of OpenCL");
  return best;
}

/* Whether there is a device; looked for once in a process. */
static int relift_ready(void) {
  if (relift_cl.state) {
    if (relift_cl.process == (int)getpid()) return relift_cl.state > 0;
    return relift_fails("a driver does not live on in a process that is forked", 0);
  }
  relift_cl.state = -1;
  relift_cl.process = (int)getpid();
  const char *const named = getenv("RELIFT_OPENCL"), *const loader = named && *named ? named : "libOpenCL.so.1";
  void *const library = dlopen(loader, RTLD_NOW);
  if (!library) return snprintf(relift_opencl_said, sizeof relift_opencl_said, "there is no library %s", loader), 0;
#define RELIFT_LOADED(result, name, parameters) \
  if (!(*(void **)&relift_cl.name = dlsym(library, #name))) return relift_fails("the library of OpenCL has no " #name, 0);
  RELIFT_OPENCL(RELIFT_LOADED)
  if (!relift_find_device()) return 0;
  int status = 0;
  relift_cl.context = relift_cl.clCreateContext(0, 1, &relift_cl.device, 0, 0, &status);
  if (!relift_cl.context) return relift_fails("the device has no context", status);
  relift_cl.queue = relift_cl.clCreateCommandQueue(relift_cl.context, relift_cl.device, 0, &status);
  if (!relift_cl.queue) return relift_fails("the device has no queue", status);
  unsigned long floats = 0, kind = 0;
  relift_cl.clGetDeviceInfo(relift_cl.device, 0x101B, sizeof floats, &floats, 0);
  relift_cl.clGetDeviceInfo(relift_cl.device, 0x1002, sizeof relift_cl.units, &relift_cl.units, 0);
  relift_cl.clGetDeviceInfo(relift_cl.device, 0x1000, sizeof kind, &kind, 0);
  relift_cl.is_cpu = (kind & 2) != 0;
  /* rounded as C rounds, where the device can; drivers of CPUs make vectors of folds, which C does not */
  snprintf(relift_cl.options, sizeof relift_cl.options, "%s%s", floats & 128 ? "-cl-fp32-correctly-rounded-divide-sqrt " : "",
           relift_cl.is_cpu ? "-DRELIFT_IN_ORDER" : "");
  relift_cl.state = 1;
  return 1;
}

static int relift_built(struct relift_offloaded *o) {
  int status = 0;
  if (!relift_ready()) return 0;
  if (o->state) return o->state > 0;
  o->state = -1;
  o->program = relift_cl.clCreateProgramWithSource(relift_cl.context, 1, &o->source, 0, &status);
  if (!o->program) return relift_fails("the device takes no source", status);
  status = relift_cl.clBuildProgram(o->program, 1, &relift_cl.device, relift_cl.options, 0, 0);
  if (status) return relift_fails("the device does not build a kernel", status);
  o->state = 1;
  return 1;
}

/* Memory of the device for one argument, which is kept for the next call. */
static void *relift_on_device(struct relift_offloaded *o, int slot, unsigned long bytes) {
  struct relift_memory *const held = &o->held[slot];
  int status = 0;
  if (held->memory && held->bytes >= bytes) return held->memory;
  if (held->memory) relift_cl.clReleaseMemObject(held->memory);
  held->bytes = bytes ? bytes : 1;
  held->memory = relift_cl.clCreateBuffer(relift_cl.context, 1, held->bytes, 0, &status);
  if (!held->memory) relift_fails("the device has too little memory", status);
  return held->memory;
}

#ifndef RELIFT_STAGES
#define RELIFT_STAGES (!relift_cl.is_cpu)
#endif
#define RELIFT_STAGE (16UL << 20)

/* Memory through which large arrays go: a device that is apart reads and writes other memory through one thread of its driver. */
static int relift_staged(unsigned long bytes) {
  if (!(RELIFT_STAGES) || bytes < RELIFT_STAGE / 4) return 0;
  for (int i = 0; i < 2 && !relift_cl.stage[i]; ++i) {
    int status = 0;
    void *const held = relift_cl.clCreateBuffer(relift_cl.context, 1 | 1 << 4, RELIFT_STAGE, 0, &status);
    if (held) relift_cl.stage[i] = relift_cl.clEnqueueMapBuffer(relift_cl.queue, held, 1, 3, 0, RELIFT_STAGE, 0, 0, 0, &status);
  }
  return relift_cl.stage[0] && relift_cl.stage[1];
}

/* Rows of bytes from one place to another, by all threads. */
static void relift_copy_rows(char *to, unsigned long to_pitch, const char *from, unsigned long from_pitch, unsigned long rows, unsigned long row) {
  const unsigned long piece = 1UL << 18, pieces = (row + piece - 1) / piece;
#pragma omp parallel for schedule(static)
  for (unsigned long i = 0; i < rows * pieces; ++i) {
    const unsigned long r = i / pieces, at = i % pieces * piece;
    memcpy(to + r * to_pitch + at, from + r * from_pitch + at, row - at < piece ? row - at : piece);
  }
}

/* Wait for what is on its way through one half of that memory. */
static int relift_arrived(int half) {
  int status = 0;
  if (relift_cl.moving[half]) {
    status = relift_cl.clWaitForEvents(1, &relift_cl.moving[half]);
    relift_cl.clReleaseEvent(relift_cl.moving[half]);
    relift_cl.moving[half] = 0;
  }
  return status;
}

static int relift_write(void *memory, unsigned long at, unsigned long bytes, const char *from) {
  int status = 0, half = 0;
  if (!relift_staged(bytes)) return relift_cl.clEnqueueWriteBuffer(relift_cl.queue, memory, 0, at, bytes, from, 0, 0, 0);
  for (unsigned long done = 0; done < bytes && !status; done += RELIFT_STAGE, half = !half) {
    const unsigned long some = bytes - done < RELIFT_STAGE ? bytes - done : RELIFT_STAGE;
    if ((status = relift_arrived(half))) break;
    relift_copy_rows(relift_cl.stage[half], 0, from + done, 0, 1, some);
    status = relift_cl.clEnqueueWriteBuffer(relift_cl.queue, memory, 0, at + done, some, relift_cl.stage[half], 0, 0, &relift_cl.moving[half]);
  }
  return status;
}

/* Rows that lie one after the other on the device, to where they begin `pitch` bytes apart. */
static int relift_read(void *memory, char *to, unsigned long rows, unsigned long row, unsigned long pitch) {
  static const unsigned long begin[3] = {0, 0, 0};
  const unsigned long region[3] = {row, rows, 1};
  if (rows == 1 || row == pitch) {
    row *= rows;
    rows = 1;
  }
  const unsigned long unit = rows == 1 ? 1 : row, all = rows * row;
  if (unit > RELIFT_STAGE || !relift_staged(all))
    return rows == 1 ? relift_cl.clEnqueueReadBuffer(relift_cl.queue, memory, 1, 0, all, to, 0, 0, 0)
                     : relift_cl.clEnqueueReadBufferRect(relift_cl.queue, memory, 1, begin, begin, region, row, 0, pitch, 0, to, 0, 0, 0);
  const unsigned long most = RELIFT_STAGE / unit * unit;
  int status = relift_arrived(0), other = relift_arrived(1);
  status = status ? status : other;
  for (unsigned long begun = 0, done = 0; done < all && !status;) {
    for (; begun < all && begun < done + 2 * most && !status; begun += most) {
      const int half = begun / most & 1;
      if (relift_cl.moving[half]) break;
      const unsigned long some = all - begun < most ? all - begun : most;
      status = relift_cl.clEnqueueReadBuffer(relift_cl.queue, memory, 0, begun, some, relift_cl.stage[half], 0, 0, &relift_cl.moving[half]);
    }
    const int half = done / most & 1;
    const unsigned long some = all - done < most ? all - done : most;
    if (status || (status = relift_arrived(half))) break;
    if (rows == 1) relift_copy_rows(to + done, 0, relift_cl.stage[half], 0, 1, some);
    else relift_copy_rows(to + done / row * pitch, pitch, relift_cl.stage[half], row, some / row, row);
    done += most;
  }
  return status;
}

/* What is given to a kernel, on the device: of arrays what is read of them. */
static int relift_upload(struct relift_offloaded *o, int count, const struct relift_given *given) {
  for (int i = 0; i < count; ++i) {
    if (!given[i].is_array) continue;
    void *const memory = relift_on_device(o, i, given[i].bytes);
    if (!memory) return 0;
    if (given[i].data && given[i].high > given[i].low) {
      const char *const from = (const char *)given[i].data + given[i].low;
      const int status = relift_write(memory, given[i].low, given[i].high - given[i].low, from);
      if (status) return relift_fails("an array does not get to the device", status);
    }
  }
  return 1;
}

/* A kernel, by whole groups, and by what is left over in each dimension. */
static int relift_enqueue(struct relift_offloaded *o, const char *name, int count, const struct relift_given *given,
                          unsigned dims, const long long *range, const unsigned long *group) {
  int status = 0, done = 1;
  void *const kernel = relift_cl.clCreateKernel(o->program, name, &status);
  if (!kernel) return relift_fails("there is no kernel", status);
  for (int i = 0; i < count && !status; ++i)
    status = given[i].is_array ? relift_cl.clSetKernelArg(kernel, i, sizeof(void *), &o->held[i].memory)
                               : relift_cl.clSetKernelArg(kernel, i, given[i].bytes, given[i].data);
  for (unsigned rest = 0; rest < 1u << dims && !status; ++rest) {
    unsigned long begin[3] = {0, 0, 0}, items[3] = {1, 1, 1}, local[3] = {1, 1, 1};
    int any = 1;
    for (unsigned d = 0; d < dims; ++d) {
      const unsigned long of = group[d], all = range[d], whole = all / of * of;
      const int is_rest = rest >> d & 1;
      begin[d] = is_rest ? whole : 0;
      items[d] = is_rest ? all - whole : whole;
      local[d] = is_rest ? items[d] : of;
      any = any && items[d];
    }
    if (any) status = relift_cl.clEnqueueNDRangeKernel(relift_cl.queue, kernel, dims, begin, items, local, 0, 0, 0);
  }
  if (status) done = relift_fails("a kernel does not run", status);
  relift_cl.clReleaseKernel(kernel);
  return done;
}

/* What is on the device, back here, where its rows begin `pitch` bytes apart; all that was asked for is done then. */
static int relift_download(struct relift_offloaded *o, int slot, void *to, unsigned long rows, unsigned long row, unsigned long pitch) {
  const int status = relift_read(o->held[slot].memory, to, rows, row, pitch);
  return status ? relift_fails("a result does not get back", status) : 1;
}

/* A kernel that computes one array, the argument `result`, which goes `to` some place in rows; 1 when it is there. */
static inline int relift_offload(struct relift_offloaded *o, const char *name, int count, const struct relift_given *given, int result,
                                 unsigned dims, const long long *range, void *to, unsigned long rows, unsigned long row, unsigned long pitch) {
  static const unsigned long in_rows[3] = {64, 1, 1}, in_tiles[3] = {32, 8, 1};
  int locked __attribute__((cleanup(relift_unlock))) = relift_locked();
  if (!relift_built(o)) return 0;
  const int started = relift_upload(o, count, given) && relift_enqueue(o, name, count, given, dims, range, dims > 1 ? in_tiles : in_rows);
  if (started && relift_download(o, result, to, rows, row, pitch)) return 1;
  relift_cl.clFinish(relift_cl.queue); /* what is on its way still reads the arrays */
  return 0;
}

/* Bins of whole numbers: kernel `find` says the greatest of them that is met, or fails; kernel `count` counts into as many.
   1: they are in *bins, which the caller frees; the first and second arguments are those of the kernels' own. */
static inline int relift_count(struct relift_offloaded *o, const char *find, const char *count_all, int count, struct relift_given *given,
                               long long iterations, unsigned long cell, void **bins, long long *most) {
  static const unsigned long group[3] = {256, 1, 1};
  int locked __attribute__((cleanup(relift_unlock))) = relift_locked();
  int found[2] = {-1, 0}, room = 0;
  if (!relift_built(o)) return 0;
  const long long items = 256LL * 4 * relift_cl.units, range[3] = {iterations < items ? (iterations + 255) / 256 * 256 : items, 1, 1};
  given[0] = (struct relift_given){found, sizeof found, 0, sizeof found, 1};
  given[1] = (struct relift_given){&room, sizeof room, 0, 0, 0};
  if (!relift_upload(o, count, given) || !relift_enqueue(o, find, count, given, 1, range, group) || !relift_download(o, 0, found, 1, sizeof found, 0)) {
    relift_cl.clFinish(relift_cl.queue);
    return 0;
  }
  if (found[1]) return relift_fails("a bin is below the first, or beyond those that int counts", 0);
  *most = found[0];
  if (found[0] < 0) return 1;
  const unsigned long bytes = ((unsigned long)found[0] + 1) * cell;
  *bins = calloc(1, bytes);
  if (!*bins || !relift_on_device(o, 0, bytes)) return relift_fails("there is too little memory for the bins", 0);
  room = found[0] + 1;
  given[0] = (struct relift_given){*bins, bytes, 0, bytes, 1};
  const int status = relift_cl.clEnqueueWriteBuffer(relift_cl.queue, o->held[0].memory, 1, 0, bytes, *bins, 0, 0, 0);
  if (status) return relift_fails("bins do not get to the device", status);
  return relift_enqueue(o, count_all, count, given, 1, range, group) && relift_download(o, 0, *bins, 1, bytes, 0);
}
