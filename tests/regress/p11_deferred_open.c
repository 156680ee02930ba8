// P11: romio_no_indep_rw. Only rank 0 and the aggregators open the file; another rank opens it when it needs it.
#include "check.h"

#include <dirent.h>
#include <limits.h>

enum { kBytes = 4096 };

// The descriptors of this process that are this file.
static int descriptors(const char *name) {
  char real[PATH_MAX], path[PATH_MAX], target[PATH_MAX];
  int found = 0;
  DIR *all = opendir("/proc/self/fd");
  struct dirent *entry;
  if (!realpath(name, real)) snprintf(real, sizeof real, "%s", name);
  while (all && (entry = readdir(all))) {
    snprintf(path, sizeof path, "/proc/self/fd/%.200s", entry->d_name);
    const ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0) continue;
    target[length] = 0;
    found += strcmp(target, real) == 0;
  }
  closedir(all);
  return found;
}

static MPI_File open_deferred(const char *name, int amode, const char *aggregators) {
  MPI_File fh = MPI_FILE_NULL;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_no_indep_rw", "true");
  MPI_Info_set(info, "cb_nodes", aggregators);
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, amode, info, &fh));
  MPI_Info_free(&info);
  return fh;
}

static int openers(const char *name) {
  int mine = descriptors(name), all = 0;
  CHECK(mine <= 1);
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

static void write_all(MPI_File fh) {
  char mine[kBytes];
  memset(mine, 'a' + ck_rank, sizeof mine);
  CHECK_OK(MPI_File_write_at_all(fh, (MPI_Offset)kBytes * ck_rank, mine, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void read_all(MPI_File fh) {
  char got[kBytes] = {0};
  const int next = (ck_rank + 1) % ck_size;
  CHECK_OK(MPI_File_read_at_all(fh, (MPI_Offset)kBytes * next, got, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_INT(got[0], 'a' + next);
  CHECK_INT(got[kBytes - 1], 'a' + next);
}

static void aggregators_open(void) {
  const char *name = ck_fresh("f");
  MPI_File fh = open_deferred(name, MPI_MODE_CREATE | MPI_MODE_RDWR, "1");
  char value[16] = "";
  int set = 0;
  MPI_Info info;
  CHECK_OK(MPI_File_get_info(fh, &info));
  MPI_Info_get(info, "romio_no_indep_rw", 15, value, &set);
  CHECK(set && strcmp(value, "true") == 0);
  MPI_Info_free(&info);
  CHECK_INT(openers(name), 1);
  write_all(fh);
  CHECK_OK(MPI_File_sync(fh));
  read_all(fh);
  CHECK_OK(MPI_File_set_size(fh, (MPI_Offset)kBytes * ck_size));
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  CHECK_INT(openers(name), 1);
  CHECK_OK(MPI_File_close(&fh));
  CHECK_INT(openers(name), 0);
}

static void another_rank_opens_later(void) {
  const char *name = ck_fresh("f");
  char mine[kBytes] = "later", got[kBytes] = {0};
  MPI_Offset bytes = 0;
  MPI_File fh = open_deferred(name, MPI_MODE_CREATE | MPI_MODE_RDWR, "1");
  write_all(fh);
  CHECK_INT(openers(name), 1);
  if (ck_rank == ck_size - 1) CHECK_OK(MPI_File_write_at(fh, 0, mine, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_INT(openers(name), 2);
  CHECK_OK(MPI_File_sync(fh));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_sync(fh));
  CHECK_OK(MPI_File_read_at_all(fh, 0, got, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(memcmp(got, mine, 5) == 0);
  CHECK_INT(openers(name), 2);
  CHECK_OK(MPI_File_get_size(fh, &bytes));
  CHECK_INT(bytes, (MPI_Offset)kBytes * ck_size);
  CHECK_OK(MPI_File_close(&fh));
}

// The error is of the rank that needs the file, and of the call that needs it.
static void gone_meanwhile(void) {
  const char *name = ck_fresh("f");
  char mine[kBytes] = {0}, text[MPI_MAX_ERROR_STRING];
  MPI_File fh = open_deferred(name, MPI_MODE_CREATE | MPI_MODE_RDWR, "1");
  int length = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (ck_rank == 0) unlink(name);
  MPI_Barrier(MPI_COMM_WORLD);
  if (ck_rank == ck_size - 1) {
    const int code = MPI_File_write_at(fh, 0, mine, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK_CLASS(code, MPI_ERR_NO_SUCH_FILE);
    MPI_Error_string(code, text, &length);
  }
  write_all(fh);
  if (ck_rank == ck_size - 1) {   // another file under the name
    const int made = open(name, O_CREAT | O_EXCL | O_WRONLY, 0600);
    CHECK(made >= 0 && close(made) == 0);
    CHECK_CLASS(MPI_File_write_at(fh, 0, mine, kBytes, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_NOT_SAME);
  }
  MPI_Barrier(MPI_COMM_WORLD);   // rank 0 has the first file open so long, and its number is in use
  CHECK_OK(MPI_File_close(&fh));
}

static void modes(void) {
  const char *name = ck_fresh("f");
  MPI_File fh = open_deferred(name, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_EXCL, "2");
  write_all(fh);
  CHECK(openers(name) <= 2);
  CHECK_OK(MPI_File_close(&fh));
  fh = open_deferred(name, MPI_MODE_RDONLY, "1");
  read_all(fh);
  CHECK_INT(openers(name), 1);
  CHECK_OK(MPI_File_close(&fh));
  fh = open_deferred(name, MPI_MODE_RDWR | MPI_MODE_APPEND | MPI_MODE_DELETE_ON_CLOSE, "1");
  MPI_Offset at = 0;
  CHECK_OK(MPI_File_get_position(fh, &at));
  CHECK_INT(at, (MPI_Offset)kBytes * ck_size);
  CHECK_INT(openers(name), 1);
  CHECK_OK(MPI_File_close(&fh));
  CHECK(access(name, F_OK) != 0);
}

int main(int argc, char **argv) {
#ifdef BETWEEN_NODES
  setenv("MPIR_CVAR_ODD_EVEN_CLIQUES", "1", 1);
#endif
  ck_init(&argc, &argv);
  if (ck_is_mercutio()) {
    RUN(aggregators_open);
    RUN(another_rank_opens_later);
    RUN(gone_meanwhile);
    RUN(modes);
  }
  return ck_finish();
}
