// M7: a colon is a character like others, also in a relative name behind one letter.
#include "check.h"

static void open_there(const char *name, const char *path) {
  MPI_File fh = MPI_FILE_NULL;
  if (!CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh))) return;
  CHECK_OK(MPI_File_write_at_all(fh, 4 * ck_rank, &ck_rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  CHECK_BYTES(path, 4 * ck_rank, &ck_rank, 4);
  MPI_Barrier(MPI_COMM_WORLD);
  if (ck_rank == 0) CHECK_OK(MPI_File_delete(name, MPI_INFO_NULL));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_INT(ck_disk_size(path), -1);
}

static void name_with_colon(const char *name) {
  char path[CK_NAME_BYTES + 40], dotted[80];
  snprintf(path, sizeof path, "%s/%s", ck_dir, name);
  snprintf(dotted, sizeof dotted, "./%s", name);
  open_there(name, path);
  open_there(path, path);
  open_there(dotted, path);
}

static void folder_with_colon(void) {
  char path[CK_NAME_BYTES + 40];
  snprintf(path, sizeof path, "%s/d:e", ck_dir);
  if (ck_rank == 0) CHECK_INT(mkdir(path, 0777), 0);
  MPI_Barrier(MPI_COMM_WORLD);
  strcat(path, "/f:g");
  open_there(path, path);
  open_there("d:e/f:g", path);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  CHECK_INT(chdir(ck_dir), 0);
  RUN_FOR(name_with_colon, "n", "n:foo");
  RUN_FOR(name_with_colon, "u", "u:t.dat");
  RUN_FOR(name_with_colon, "time", "2024-01-01T12:00:00.nc");
  RUN_FOR(name_with_colon, "leading", ":x");
  RUN_FOR(name_with_colon, "trailing", "x:");
  RUN(folder_with_colon);
  return ck_finish();
}
