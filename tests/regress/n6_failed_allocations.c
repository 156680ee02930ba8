// N6: whichever allocation of an access is the first to fail, the access fails with MPI_ERR_NO_MEM and its file goes on: the pointer stays, the status
// says that nothing was moved, its datatype can be freed, and the error of a request comes from the file's handler. A rank that lacks memory once in a
// collective call takes part in it: all ranks have the same error, or none.
#include "write_limit.h"

#include <errno.h>

enum { kAllocations = 60, kPieces = 20, kBytes = 2 * kPieces };

static volatile long left = -1;   // allocations of Mercutio that succeed before others fail; -1: all do
static volatile int once;         // one of them fails, not all: where memory is held back, it is given back then
static unsigned long library_begin, library_end;

static int fails(const void *caller) {
  const unsigned long at = (unsigned long)caller;
  if (left < 0 || at < library_begin || at >= library_end) return 0;
  if (left == 0) {
    if (once) left = -1;
    return 1;
  }
  __atomic_fetch_sub(&left, 1, __ATOMIC_SEQ_CST);
  return 0;
}

extern void *__libc_malloc(size_t bytes);
void *malloc(size_t bytes) {
  if (!fails(__builtin_return_address(0))) return __libc_malloc(bytes);
  errno = ENOMEM;
  return NULL;
}

static void find_library(void) {
  char line[4096];
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps))
    if (strstr(line, "/libmercutio-") && strstr(line, " r-xp ")) CHECK_INT(sscanf(line, "%lx-%lx", &library_begin, &library_end), 2);
  if (maps) fclose(maps);
}

typedef int Access(MPI_File fh, const void *data, MPI_Datatype type, MPI_Status *status);

static int blocking(MPI_File fh, const void *data, MPI_Datatype type, MPI_Status *status) { return MPI_File_write(fh, data, 1, type, status); }
static int collective(MPI_File fh, const void *data, MPI_Datatype type, MPI_Status *status) { return MPI_File_write_all(fh, data, 1, type, status); }
static int started(MPI_File fh, const void *data, MPI_Datatype type, MPI_Status *status) {
  MPI_Request request;
  const int code = MPI_File_iwrite_at_all(fh, 0, data, 1, type, &request);
  return code == MPI_SUCCESS ? MPI_Wait(&request, status) : code;
}

// A datatype of its own, as what is known of others is kept.
static void fail_from(Access *access, const char *name, long allocations) {
  char data[3 * kPieces];
  MPI_Datatype type;
  MPI_File fh = MPI_FILE_NULL;
  MPI_Status status;
  MPI_Offset position = -1;
  int bytes = -1;
  memset(data, 'x', sizeof data);
  CHECK_OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  MPI_Type_vector(kPieces, 2, 3, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  once = 0;
  left = allocations;
  const int code = access(fh, data, type, &status);
  left = -1;
  if (code != MPI_SUCCESS) CHECK_CLASS(code, MPI_ERR_NO_MEM);
  CHECK_OK(MPI_File_get_position(fh, &position));
  if (access != started) {
    CHECK_OK(MPI_Get_count(&status, MPI_BYTE, &bytes));
    CHECK_INT(bytes, code == MPI_SUCCESS ? kBytes : 0);
    CHECK_INT(position, bytes);
  }
  CHECK_OK(access(fh, data, type, MPI_STATUS_IGNORE));
  MPI_Type_free(&type);
  CHECK_OK(MPI_File_close(&fh));
}

static void first_to_fail(Access *access) {
  char name[CK_NAME_BYTES + 20];
  snprintf(name, sizeof name, "%s.%d", ck_fresh("f"), ck_rank);
  for (long n = 0; n < kAllocations; n++) fail_from(access, name, n);
  MPI_File_delete(name, MPI_INFO_NULL);
}

static int set_view(MPI_File fh, const void *data, MPI_Datatype type, MPI_Status *status) {
  (void)data, (void)status;
  return MPI_File_set_view(fh, 0, MPI_BYTE, type, "native", MPI_INFO_NULL);
}
static int set_info(MPI_File fh, const void *data, MPI_Datatype type, MPI_Status *status) {
  (void)data, (void)type, (void)status;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_buffer_size", "65536");
  const int code = MPI_File_set_info(fh, info);
  MPI_Info_free(&info);
  return code;
}
static int split(MPI_File fh, const void *data, MPI_Datatype type, MPI_Status *status) {
  const int code = MPI_File_write_all_begin(fh, data, 1, type);
  return code == MPI_SUCCESS ? MPI_File_write_all_end(fh, data, status) : code;
}
static int ordered(MPI_File fh, const void *data, MPI_Datatype type, MPI_Status *status) { return MPI_File_write_ordered(fh, data, 1, type, status); }
static int opened(MPI_File fh, const void *data, MPI_Datatype type, MPI_Status *status) {
  (void)fh, (void)data, (void)type, (void)status;
  MPI_File other = MPI_FILE_NULL;
  const int code = MPI_File_open(MPI_COMM_WORLD, ck_path("g"), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &other);
  return code == MPI_SUCCESS ? MPI_File_close(&other) : code;
}

static void lacks_memory_once(Access *access) {
  char data[3 * kPieces], seen[3 * kPieces];
  const char *name = ck_fresh("f");
  for (long n = 0; n < kAllocations; n++) {
    MPI_Datatype type;
    MPI_File fh = MPI_FILE_NULL;
    memset(data, (int)('a' + n % 26), sizeof data);
    CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    MPI_Type_vector(kPieces, 2, 3, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    once = 1;
    left = ck_rank == n % ck_size ? n : -1;
    const int code = access(fh, data, type, MPI_STATUS_IGNORE);
    left = -1;
    CHECK_SAME(code);
    if (code != MPI_SUCCESS) CHECK_CLASS(code, MPI_ERR_NO_MEM);
    CHECK_OK(MPI_File_set_view(fh, ck_rank * (MPI_Offset)sizeof data, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    CHECK_OK(MPI_File_write_all(fh, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_File_read_at_all(fh, 0, seen, sizeof seen, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(memcmp(seen, data, sizeof seen) == 0);
    MPI_Type_free(&type);
    CHECK_OK(MPI_File_close(&fh));
  }
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  return_errors();
  const int sanitized = dlsym(RTLD_DEFAULT, "__asan_init") || dlsym(RTLD_DEFAULT, "__tsan_init");
  if (ck_is_mercutio() && !sanitized) {
    find_library();
    CHECK(library_end > library_begin);
    RUN_FOR(first_to_fail, "blocking", blocking);
    RUN_FOR(first_to_fail, "collective", collective);
    RUN_FOR(first_to_fail, "started", started);
    RUN_FOR(lacks_memory_once, "collective", collective);
    RUN_FOR(lacks_memory_once, "split", split);
    RUN_FOR(lacks_memory_once, "ordered", ordered);
    RUN_FOR(lacks_memory_once, "set_view", set_view);
    RUN_FOR(lacks_memory_once, "set_info", set_info);
    RUN_FOR(lacks_memory_once, "open", opened);
  }
  return ck_finish();
}
