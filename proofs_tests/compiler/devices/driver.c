/* Stands between the loader and a working driver, and goes wrong where FAULT says: a driver for tests.
   What is replaced are entries of the table of functions that every object of OpenCL points to. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int (*platforms_t)(unsigned, void **, unsigned *);
typedef void *(*extension_t)(const char *);
typedef void *(*source_t)(void *, unsigned, const char **, const size_t *, int *);

typedef int (*devices_t)(void *, unsigned long, unsigned, void **, unsigned *);
typedef void *(*context_t)(const void *, unsigned, void *const *, void *, void *, int *);

enum { GET_DEVICES = 2, CREATE_CONTEXT = 4, CREATE_PROGRAM_WITH_SOURCE = 26 };
static extension_t extension;
static source_t create;
static devices_t list;
static context_t open_;

static void *create_program(void *context, unsigned n, const char **texts, const size_t *lengths, int *error) {
  const char *fault = getenv("FAULT");
  for (unsigned i = 0; i < n; ++i) {
    const char *text = lengths && lengths[i] ? strndup(texts[i], lengths[i]) : strdup(texts[i]);
    if (strstr(text, "CRASH") || (fault && !strcmp(fault, "crash"))) raise(SIGSEGV);
    if (strstr(text, "HANG") || (fault && !strcmp(fault, "hang"))) for (;;) pause();
    if (fault && !strcmp(fault, "refuse")) { *error = -6; return 0; }
    if (fault && !strcmp(fault, "end")) _exit(0);
    if (fault && !strcmp(fault, "fail")) _exit(3);
  }
  return create(context, n, texts, lengths, error);
}

static int get_devices(void *platform, unsigned long type, unsigned n, void **devices, unsigned *count) {
  const char *fault = getenv("FAULT");
  if (!fault || strcmp(fault, "none")) return list(platform, type, n, devices, count);
  if (count) *count = 0;
  return -1;
}

static void *create_context(const void *properties, unsigned n, void *const *devices, void *said, void *data, int *error) {
  const char *fault = getenv("FAULT");
  if (!fault || strcmp(fault, "gone")) return open_(properties, n, devices, said, data, error);
  *error = -2;
  return 0;
}

static int get_platforms(unsigned n, void **platforms, unsigned *count) {
  platforms_t real = (platforms_t)extension("clIcdGetPlatformIDsKHR");
  unsigned found = 0;
  int status = real(n, platforms, &found);
  if (count) *count = found;
  for (unsigned i = 0; platforms && i < n && i < found; ++i) {
    void **table = *(void ***)platforms[i];
    if (table[CREATE_PROGRAM_WITH_SOURCE] == (void *)create_program) continue;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)table / page * page;
    mprotect((void *)start, 4 * page, PROT_READ | PROT_WRITE);
    open_ = (context_t)table[CREATE_CONTEXT];
    table[CREATE_CONTEXT] = (void *)create_context;
    list = (devices_t)table[GET_DEVICES];
    table[GET_DEVICES] = (void *)get_devices;
    create = (source_t)table[CREATE_PROGRAM_WITH_SOURCE];
    table[CREATE_PROGRAM_WITH_SOURCE] = (void *)create_program;
  }
  return status;
}

void *clGetExtensionFunctionAddress(const char *name) {
  if (!strcmp(name, "clIcdGetPlatformIDsKHR")) return (void *)get_platforms;
  return extension(name);
}

int clGetPlatformInfo(void *platform, unsigned name, size_t size, void *value, size_t *written) {
  typedef int (*info_t)(void *, unsigned, size_t, void *, size_t *);
  return ((info_t)(*(void ***)platform)[1])(platform, name, size, value, written);
}

__attribute__((destructor)) static void unload(void) {
  const char *fault = getenv("FAULT");
  if (fault && !strcmp(fault, "abort at exit")) abort();
}

__attribute__((constructor)) static void load(void) {
  const char *fault = getenv("FAULT");
  if (fault && !strcmp(fault, "abort at load")) abort();
  if (fault && !strcmp(fault, "hang at load")) for (;;) pause();
  if (fault && !strcmp(fault, "end at load")) _exit(0);
  void *real = dlopen(DRIVER, RTLD_NOW | RTLD_LOCAL);
  if (!real) abort();
  extension = (extension_t)dlsym(real, "clGetExtensionFunctionAddress");
}
