// M20: a collective read with a gap of more windows than are in flight, on storage that blocks. The windows of the gap are read ahead before the
// ranks have said that they need none of them, and are slow to come: this program's pread delays them. Their slots are not free until then.
#include "check.h"

#include <time.h>

enum { kWindow = 65536, kUnit = 8 };
static int delays;

static void nap(int ms) {
  const struct timespec time = {0, ms * 1000000L};
  nanosleep(&time, NULL);
}

// In front of the C library's.
ssize_t pread(int file, void *data, size_t bytes, off_t at) {
  static ssize_t (*real)(int, void *, size_t, off_t);
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pread");
  if (delays && at == 0) nap(5);   // by this, the storage shows that it blocks
  if (delays && at == kWindow) nap(300);
  return real(file, data, bytes, at);
}
ssize_t pread64(int file, void *data, size_t bytes, off64_t at) { return pread(file, data, bytes, at); }

static void write_offsets(const char *name) {
  FILE *file = fopen(name, "w");
  for (long at = 0; file && at < 6L * kWindow; at += kUnit) fwrite(&at, kUnit, 1, file);
  if (file) fclose(file);
}

// Every ck_size-th unit of window 0, and of windows 3 and 4.
static MPI_Datatype units_of_three_windows(int units) {
  MPI_Datatype part, type;
  const MPI_Aint places[3] = {0, 3L * kWindow, 4L * kWindow};
  MPI_Type_create_hvector(units, kUnit, (MPI_Aint)kUnit * ck_size, MPI_BYTE, &part);
  MPI_Type_create_hindexed_block(3, 1, places, part, &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&part);
  return type;
}

static void gap_of_windows(void) {
  const char *name = ck_fresh("f");
  const int units = kWindow / kUnit / ck_size;
  long *data = calloc(3 * (size_t)units, kUnit);
  MPI_File fh;
  MPI_Info info;
  MPI_Datatype type = units_of_three_windows(units);
  if (ck_rank == 0) write_offsets(name);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_read", "enable");
  MPI_Info_set(info, "cb_buffer_size", "65536");
  MPI_Info_set(info, "cb_nodes", "1");
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, (char *)name, MPI_MODE_RDONLY, info, &fh));
  CHECK_OK(MPI_File_set_view(fh, (MPI_Offset)ck_rank * kUnit, MPI_BYTE, type, "native", MPI_INFO_NULL));
  delays = 1;
  CHECK_OK(MPI_File_read_at_all(fh, 0, data, 3 * units * kUnit, MPI_BYTE, MPI_STATUS_IGNORE));
  delays = 0;
  int wrong = 0;
  for (int i = 0; i < 3 * units; i++) {
    const long window = i < units ? 0 : 2 + i / units;
    wrong += data[i] != window * kWindow + ((long)(i % units) * ck_size + ck_rank) * kUnit;
  }
  CHECK_INT(wrong, 0);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Info_free(&info);
  MPI_Type_free(&type);
  free(data);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN(gap_of_windows);
  return ck_finish();
}
