// A stand-in for the runtime of a device, preloaded above Mercutio: built as libcuda.so.1, libamdhip64.so.6 or
// libze_loader.so.1, it has the functions that Mercutio asks of that runtime, and puts the buffer of every data access into
// "device memory".
//
// Device memory is a range of addresses that are PROT_NONE. What is at an address there is the program's memory kDistance
// behind it, which the copies of this runtime reach. So a program needs no change, and gaps between pieces, and buffers of
// accesses that are under way, are what the program sees.
//
// FAKE_DEVICE_RANKS=odd: only on odd ranks. fake_device_refuse(n): the n-th copy from now on fails, and all that follow; 0: none.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { kRefused = 719 };
static const uintptr_t kDistance = 0x400000000000, kBegin = 0x100000000000, kEnd = 0x400000000000;

static int applies = 1;
static long refuse_in;

__attribute__((constructor)) static void reserve(void) {
  const char *ranks = getenv("FAKE_DEVICE_RANKS"), *rank = getenv("PMI_RANK");
  if (!rank) rank = getenv("OMPI_COMM_WORLD_RANK");
  applies = rank && (!ranks || atoi(rank) % 2 == 1);
  if (!rank) return;   // the launcher and its helpers
  void *at = mmap((void *)kBegin, kEnd - kBegin, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (at != (void *)kBegin) {
    static const char text[] = "fake_device: the addresses of device memory are taken\n";
    if (write(2, text, sizeof text - 1) < 0) _exit(125);
    _exit(126);
  }
}

__attribute__((visibility("default"))) void fake_device_refuse(long n) { refuse_in = n; }

static int is_device(uintptr_t address) { return address >= kBegin && address < kEnd; }
static char *memory_of(uintptr_t address) { return (char *)(address + kDistance); }

static int refused(void) {
  if (refuse_in == 0) return 0;
  if (refuse_in > 1) return refuse_in--, 0;
  return 1;
}

// Rows of a copy in one direction; the other side must be the processor's.
static int copy_rows(uintptr_t to, size_t to_pitch, uintptr_t from, size_t from_pitch, size_t width, size_t rows, int to_device) {
  const uintptr_t device = to_device ? to : from, host = to_device ? from : to;
  if (!is_device(device) || !is_device(device + width - 1) || is_device(host)) return 1;
  if (rows > 1 && (to_pitch < width || from_pitch < width)) return 1;
  if (refused()) return kRefused;
  for (size_t row = 0; row < rows; row++) {
    const uintptr_t a = to + row * to_pitch, b = from + row * from_pitch;
    memcpy(to_device ? memory_of(a) : (char *)a, to_device ? (const char *)b : memory_of(b), width);
  }
  return 0;
}

#define EXPORT __attribute__((visibility("default")))

#if defined(FAKE_CUDA)
typedef struct {
  size_t srcXInBytes, srcY;
  unsigned srcMemoryType;
  const void *srcHost;
  unsigned long long srcDevice;
  void *srcArray;
  size_t srcPitch, dstXInBytes, dstY;
  unsigned dstMemoryType;
  void *dstHost;
  unsigned long long dstDevice;
  void *dstArray;
  size_t dstPitch, WidthInBytes, Height;
} CUDA_MEMCPY2D;

static __thread void *current;
static int contexts[2];

EXPORT int cuPointerGetAttributes(unsigned n, int *attributes, void **data, unsigned long long pointer) {
  const int device = is_device(pointer);
  for (unsigned i = 0; i < n; i++) {
    switch (attributes[i]) {
      case 1: *(void **)data[i] = device ? &contexts[0] : NULL; break;
      case 2: *(unsigned *)data[i] = device ? 2 : 0; break;
      case 8: *(unsigned *)data[i] = 0; break;
      case 9: *(int *)data[i] = device ? 0 : -2; break;
      default: return 1;
    }
  }
  return 0;
}
EXPORT int cuCtxPushCurrent_v2(void *context) {
  if (context != &contexts[0] || current) return 201;
  current = context;
  return 0;
}
EXPORT int cuCtxPopCurrent_v2(void **context) {
  *context = current;
  current = NULL;
  return *context ? 0 : 201;
}
EXPORT int cuCtxGetCurrent(void **context) { return *context = current, 0; }
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) { return *context = &contexts[0], device != 0; }
EXPORT int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes) {
  return current ? copy_rows((uintptr_t)to, 0, from, 0, bytes, 1, 0) : 201;
}
EXPORT int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes) {
  return current ? copy_rows(to, 0, (uintptr_t)from, 0, bytes, 1, 1) : 201;
}
EXPORT int cuMemcpy2D_v2(const CUDA_MEMCPY2D *c) {
  if (!current || c->srcXInBytes || c->srcY || c->dstXInBytes || c->dstY) return 201;
  if (c->srcMemoryType == 2 && c->dstMemoryType == 1)
    return copy_rows((uintptr_t)c->dstHost, c->dstPitch, c->srcDevice, c->srcPitch, c->WidthInBytes, c->Height, 0);
  if (c->srcMemoryType == 1 && c->dstMemoryType == 2)
    return copy_rows(c->dstDevice, c->dstPitch, (uintptr_t)c->srcHost, c->srcPitch, c->WidthInBytes, c->Height, 1);
  return 1;
}
EXPORT int cuStreamSynchronize(void *stream) { return current && !stream ? 0 : 201; }
#endif

#if defined(FAKE_HIP)
typedef struct {
  int type, device;
  void *devicePointer, *hostPointer;
  int isManaged;
  unsigned allocationFlags;
} hipPointerAttribute_t;

static __thread int last_error, device_now;

EXPORT int hipPointerGetAttributes(hipPointerAttribute_t *attributes, const void *pointer) {
  if (!is_device((uintptr_t)pointer)) return last_error = 1;
  const hipPointerAttribute_t answer = {FAKE_HIP >= 6 ? 2 : 1, 1, (void *)pointer, NULL, 0, 0};
  *attributes = answer;
  return 0;
}
EXPORT int hipPeekAtLastError(void) { return last_error; }
EXPORT int hipGetLastError(void) {
  const int error = last_error;
  last_error = 0;
  return error;
}
EXPORT int hipRuntimeGetVersion(int *version) { return *version = FAKE_HIP * 10000000 + 100000, 0; }
EXPORT int hipGetDevice(int *device) { return *device = device_now, 0; }
EXPORT int hipSetDevice(int device) { return device_now = device, 0; }
EXPORT int hipMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows, int kind) {
  if (device_now != 1 || last_error || (kind != 1 && kind != 2)) return 1;
  return copy_rows((uintptr_t)to, to_pitch, (uintptr_t)from, from_pitch, width, rows, kind == 1);
}
EXPORT int hipMemcpy(void *to, const void *from, size_t bytes, int kind) { return hipMemcpy2D(to, 0, from, 0, bytes, 1, kind); }
EXPORT int hipStreamSynchronize(void *stream) { return stream || device_now != 1; }
#endif

#if defined(FAKE_LEVEL_ZERO)
typedef struct {
  int stype;
  void *pNext;
  int type;
  uint64_t id, pageSize;
} ze_memory_allocation_properties_t;
typedef struct {
  uint32_t originX, originY, originZ, width, height, depth;
} ze_copy_region_t;

static int driver, context, device;

EXPORT int zeDriverGet(uint32_t *count, void **drivers) {
  if (drivers) drivers[0] = &driver;
  *count = 1;
  return 0;
}
EXPORT int zeContextCreate(void *of, const int *desc, void **made) { return *made = &context, of != &driver || *desc != 0xd; }
EXPORT int zeMemGetAllocProperties(void *in, const void *pointer, ze_memory_allocation_properties_t *properties, void **on) {
  if (in != &context || properties->stype != 0x17) return 1;
  properties->type = is_device((uintptr_t)pointer) ? 2 : 0;
  *on = properties->type ? &device : NULL;
  return 0;
}
EXPORT int zeCommandListCreateImmediate(void *in, void *on, const void *desc, void **list) {
  struct {
    int stype;
    const void *next;
    uint32_t ordinal, index, flags;
    int mode, priority;
  } queue;
  memcpy(&queue, desc, sizeof queue);
  *list = malloc(1);
  return in != &context || on != &device || queue.stype != 0xe || queue.mode != 1;
}
EXPORT int zeCommandListDestroy(void *list) { return free(list), 0; }
static int ze_copy(void *to, uint32_t to_pitch, const void *from, uint32_t from_pitch, size_t width, size_t rows) {
  return copy_rows((uintptr_t)to, to_pitch, (uintptr_t)from, from_pitch, width, rows, is_device((uintptr_t)to));
}
EXPORT int zeCommandListAppendMemoryCopy(void *list, void *to, const void *from, size_t bytes, void *event, uint32_t n, void **waits) {
  return !list || event || n || waits ? 1 : ze_copy(to, 0, from, 0, bytes, 1);
}
EXPORT int zeCommandListAppendMemoryCopyRegion(void *list, void *to, const ze_copy_region_t *to_region, uint32_t to_pitch, uint32_t to_slice,
                                               const void *from, const ze_copy_region_t *from_region, uint32_t from_pitch,
                                               uint32_t from_slice, void *event, uint32_t n, void **waits) {
  if (!list || event || n || waits || to_slice || from_slice || memcmp(to_region, from_region, sizeof *to_region)) return 1;
  return to_region->depth != 1 ? 1 : ze_copy(to, to_pitch, from, from_pitch, to_region->width, to_region->height);
}
#endif

// The data accesses, whatever the MPI's handles are: all arguments fit in six registers.
typedef intptr_t Word;
typedef int (*Call)(Word, Word, Word, Word, Word, Word);

static Word on_device(Word buffer) { return applies ? (Word)((uintptr_t)buffer - kDistance) : buffer; }

#define FORWARD(name, ...) \
  static Call next; \
  if (!next) next = (Call)dlsym(RTLD_NEXT, #name); \
  return next(__VA_ARGS__)
#define SECOND(name) \
  EXPORT int name(Word a, Word b, Word c, Word d, Word e, Word f) { FORWARD(name, a, on_device(b), c, d, e, f); }
#define THIRD(name) \
  EXPORT int name(Word a, Word b, Word c, Word d, Word e, Word f) { FORWARD(name, a, b, on_device(c), d, e, f); }
#define BOTH(kind, name) kind(MPI_File_##name) kind(MPI_File_##name##_c)
#define EITHER(verb) \
  BOTH(SECOND, verb) BOTH(SECOND, verb##_all) BOTH(SECOND, verb##_shared) BOTH(SECOND, verb##_ordered) \
  BOTH(SECOND, verb##_all_begin) BOTH(SECOND, verb##_ordered_begin) \
  BOTH(THIRD, verb##_at) BOTH(THIRD, verb##_at_all) BOTH(THIRD, verb##_at_all_begin) \
  BOTH(SECOND, i##verb) BOTH(SECOND, i##verb##_all) BOTH(SECOND, i##verb##_shared) BOTH(THIRD, i##verb##_at) BOTH(THIRD, i##verb##_at_all) \
  SECOND(MPI_File_##verb##_all_end) SECOND(MPI_File_##verb##_at_all_end) SECOND(MPI_File_##verb##_ordered_end)
EITHER(read)
EITHER(write)
