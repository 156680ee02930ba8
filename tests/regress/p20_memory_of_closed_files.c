// P20: files that were closed take no memory, also if the program keeps a block of its own for each.
#include "check.h"

enum { kFirst = 500, kMore = 3000, kKept = 56, kMostBytesAnOpen = 1024 };

static long resident_bytes(void) {
  long all = 0, resident = 0;
  FILE *statm = fopen("/proc/self/statm", "r");
  CHECK(statm && fscanf(statm, "%ld %ld", &all, &resident) == 2);
  if (statm) fclose(statm);
  return resident * sysconf(_SC_PAGESIZE);
}

static void open_and_close(const char *name, int times, void **kept) {
  for (int i = 0; i < times; i++) {
    MPI_File fh;
    kept[i] = malloc(kKept);
    CHECK_OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    CHECK_OK(MPI_File_close(&fh));
  }
}

static void closed_files(void) {
  static void *kept[kFirst + kMore];
  char name[600];
  snprintf(name, sizeof name, "%s.%d", ck_path("f"), ck_rank);
  open_and_close(name, kFirst, kept);
  const long before = resident_bytes();
  open_and_close(name, kMore, kept + kFirst);
  CHECK(resident_bytes() - before <= (long)kMore * kMostBytesAnOpen);
  for (int i = 0; i < kFirst + kMore; i++) free(kept[i]);
  unlink(name);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN(closed_files);
  return ck_finish();
}
