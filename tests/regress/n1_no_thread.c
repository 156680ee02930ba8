// N1: where no thread can be had (a limit of processes), started accesses are moved all the same, and nothing ends the
// program. Calls of pthread_create from the library under test fail; those of the MPI do not.
#include "write_limit.h"

#include <errno.h>
#include <pthread.h>

static int refusing, refused;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
  typedef int (*Create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  Dl_info caller;
  const int known = dladdr(__builtin_return_address(0), &caller) && caller.dli_fname;
  if (refusing && known && strstr(caller.dli_fname, "libmercutio")) {
    refused++;
    return EAGAIN;
  }
  return ((Create)dlsym(RTLD_NEXT, "pthread_create"))(thread, attributes, start, argument);
}

// Larger than what the starting call moves by itself anyway.
enum { kBytes = 1 << 20 };

static void whole_access(int kind) {
  unsigned char *data = malloc(kBytes), *got = calloc(1, kBytes);
  for (int i = 0; i < kBytes; i++) data[i] = ck_byte_at(i + ck_rank);
  const char *name = ck_fresh(ck_tag_of_kind(kind));
  MPI_File fh = open_with(name, kAllAggregate);
  const MPI_Offset offset = kind >= kShared ? 0 : (MPI_Offset)kBytes * ck_rank;
  MPI_Status status;
  for (int write = 1; write >= 0; write--) {
    CkAccess access = {write, kind, fh, offset, write ? data : got, kBytes, MPI_BYTE};
    CHECK_OK(ck_do(&access, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
  }
  if (ck_kind_is_collective(kind) || kind < kShared) CHECK(memcmp(data, got, kBytes) == 0);
  CHECK_OK(MPI_File_close(&fh));
  free(data);
  free(got);
}

static void everywhere(int kind) {
  refusing = 1;
  whole_access(kind);
  refusing = 0;
}

// On one rank, while the others have their threads.
static void many_in_flight(void) {
  enum { kRequests = 8, kPart = kBytes / kRequests };
  unsigned char *data = malloc(kBytes), *got = calloc(1, kBytes);
  for (int i = 0; i < kBytes; i++) data[i] = ck_byte_at(i + ck_rank);
  MPI_Request requests[kRequests];
  MPI_Status statuses[kRequests];
  MPI_File fh = open_with(ck_fresh("f"), kDefaultHints);
  refusing = ck_rank == 0;
  for (int write = 1; write >= 0; write--) {
    for (int i = 0; i < kRequests; i++) {
      const MPI_Offset offset = (MPI_Offset)kBytes * ck_rank + i * kPart;
      CHECK_OK(write ? MPI_File_iwrite_at_all(fh, offset, data + i * kPart, kPart, MPI_BYTE, &requests[i])
                     : MPI_File_iread_at_all(fh, offset, got + i * kPart, kPart, MPI_BYTE, &requests[i]));
    }
    CHECK_OK(MPI_Waitall(kRequests, requests, statuses));
  }
  refusing = 0;
  CHECK(memcmp(data, got, kBytes) == 0);
  CHECK_OK(MPI_File_close(&fh));
  free(data);
  free(got);
}

static void threads_were_refused(void) { CHECK(!ck_is_mercutio() || refused > 0); }

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  return_errors();
  for (int kind = 0; kind < kAllKinds; kind++)
    if ((ck_kind_is_nonblocking(kind) || ck_kind_is_split(kind)) && ck_kind_exists(kind))
      RUN_FOR(everywhere, ck_kind_names[kind], kind);
  RUN(threads_were_refused);
  RUN(many_in_flight);
  return ck_finish();
}
