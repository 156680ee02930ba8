// R2: the program changes its working directory, or replaces the file, between the open and a call that needs the name again. Ranks in different
// directories mean different files by one name.
#include "check.h"

#include <limits.h>

static char start[PATH_MAX], other[PATH_MAX + 16];

static void put(const char *name, const char *text) {
  FILE *f = fopen(name, "w");
  if (CHECK(f != NULL)) fputs(text, f), fclose(f);
}

// On rank 0, in both directories.
static void make_files(const char *name) {
  char path[2 * PATH_MAX];
  if (ck_rank == 0) {
    CHECK_INT(mkdir(other, 0755) == 0 || errno == EEXIST, 1);
    put(name, "here");
    snprintf(path, sizeof path, "%s/%s", other, name);
    put(path, "else");
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void clean(const char *name) {
  char path[2 * PATH_MAX];
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_INT(chdir(start), 0);
  if (ck_rank != 0) return;
  snprintf(path, sizeof path, "%s/%s", other, name);
  (void)unlink(path);
  (void)unlink(name);
  (void)rmdir(other);
}

static void deletes_the_opened_file(void) {
  const char *name = "r2_deleted";
  char path[2 * PATH_MAX];
  MPI_File fh = MPI_FILE_NULL;
  make_files(name);
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, (char *)name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh));
  CHECK_INT(chdir(other), 0);
  CHECK_OK(MPI_File_close(&fh));
  snprintf(path, sizeof path, "%s/%s", other, name);
  CHECK_INT(access(path, F_OK), 0);
  snprintf(path, sizeof path, "%s/%s", start, name);
  CHECK_INT(access(path, F_OK), -1);
  clean(name);
}

static MPI_File open_deferred(const char *name) {
  MPI_File fh = MPI_FILE_NULL;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_no_indep_rw", "true");
  MPI_Info_set(info, "cb_nodes", "1");
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, (char *)name, MPI_MODE_RDONLY, info, &fh));
  MPI_Info_free(&info);
  return fh;
}

static void late_open_after_chdir(void) {
  const char *name = "r2_read";
  char got[5] = "";
  make_files(name);
  MPI_File fh = open_deferred(name);
  CHECK_INT(chdir(other), 0);
  CHECK_OK(MPI_File_read_at(fh, 0, got, 4, MPI_CHAR, MPI_STATUS_IGNORE));
  CHECK_INT(strcmp(got, "here"), 0);
  CHECK_OK(MPI_File_close(&fh));
  clean(name);
}

// Ranks that open now would read another file than those that opened it before.
static void late_open_after_rename(void) {
  const char *name = "r2_renamed";
  char got[5] = "", path[2 * PATH_MAX];
  make_files(name);
  MPI_File fh = open_deferred(name);
  MPI_Barrier(MPI_COMM_WORLD);
  snprintf(path, sizeof path, "%s/%s", other, name);
  if (ck_rank == 0) CHECK_INT(rename(path, name), 0);
  MPI_Barrier(MPI_COMM_WORLD);
  const int code = MPI_File_read_at(fh, 0, got, 4, MPI_CHAR, MPI_STATUS_IGNORE);
  if (code == MPI_SUCCESS) CHECK_INT(strcmp(got, "here"), 0);
  else CHECK_CLASS(code, MPI_ERR_NOT_SAME);
  CHECK_OK(MPI_File_close(&fh));
  clean(name);
}

static int open_with(const char *name, int amode, const char *hint, const char *value) {
  MPI_File fh = MPI_FILE_NULL;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, (char *)hint, (char *)value);
  const int code = MPI_File_open(MPI_COMM_WORLD, (char *)name, amode, info, &fh);
  MPI_Info_free(&info);
  if (code == MPI_SUCCESS) CHECK_OK(MPI_File_close(&fh));
  return code;
}

static void ranks_in_two_directories(void) {
  const char *name = "r2_one_name";
  make_files(name);
  if (ck_rank == ck_size - 1) CHECK_INT(chdir(other), 0);
  const int code = open_with(name, MPI_MODE_RDWR, "mercutio_coherence", "auto");
  if (ck_size > 1) CHECK_CLASS(code, MPI_ERR_NOT_SAME);
  CHECK_SAME(code);
  CHECK_OK(open_with(name, MPI_MODE_RDWR, "mercutio_coherence", "none"));
  CHECK_OK(open_with(name, MPI_MODE_RDONLY, "mercutio_coherence", "auto"));
  clean(name);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  if (ck_is_mercutio() && getcwd(start, sizeof start)) {   // ROMIO uses the relative name again
    snprintf(other, sizeof other, "%s/r2_other", start);
    RUN(deletes_the_opened_file);
    RUN(late_open_after_chdir);
    RUN(late_open_after_rename);
    RUN(ranks_in_two_directories);
  }
  return ck_finish();
}
