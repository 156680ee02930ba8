// M1: MPI_File_sync calls the system's fsync after every kind of write, each time. Needs the preload that counts the calls.
#include "access_kinds.h"

static int syncs(void) {
  int (*calls)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "test_fsync_calls");
  int mine = calls ? calls() : 0, sum = 0;
  CHECK(calls != NULL);
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

static void sync_after(int kind) {
  MPI_File fh = ck_create("f");
  char buffer[100];
  memset(buffer, 'a', sizeof buffer);
  for (int i = 0; i < 2; i++) {
    CHECK_OK(ck_write(kind, fh, 100 * ck_rank, buffer, 100, MPI_BYTE, MPI_STATUS_IGNORE));
    int before = syncs();
    CHECK_OK(MPI_File_sync(fh));
    CHECK(syncs() > before);
  }
  CHECK_OK(MPI_File_close(&fh));
}

static void one_rank_wrote(void) {
  MPI_File fh = ck_create("f");
  for (int writer = 0; writer < ck_size; writer++) {
    if (ck_rank == writer) CHECK_OK(MPI_File_write_at(fh, 10 * writer, "0123456789", 10, MPI_BYTE, MPI_STATUS_IGNORE));
    int before = syncs();
    CHECK_OK(MPI_File_sync(fh));
    CHECK(syncs() > before);
  }
  CHECK_OK(MPI_File_close(&fh));
}

static void strided(void) {
  MPI_File fh = ck_create("f");
  MPI_Datatype type;
  MPI_Type_create_resized(MPI_INT, 0, 40, &type);
  MPI_Type_commit(&type);
  CHECK_OK(MPI_File_set_view(fh, 4 * ck_rank, MPI_INT, type, "native", MPI_INFO_NULL));
  int data[20] = {0};
  for (int i = 0; i < 2; i++) {
    CHECK_OK(MPI_File_write_at(fh, 0, data, 20, MPI_INT, MPI_STATUS_IGNORE));
    int before = syncs();
    CHECK_OK(MPI_File_sync(fh));
    CHECK(syncs() > before);
  }
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&type);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN_FOR_KINDS(sync_after, 0, kPlainKinds);
  RUN_FOR(sync_after, "shared", kShared);
  RUN_FOR(sync_after, "ordered", kOrdered);
  RUN(one_rank_wrote);
  RUN(strided);
  return ck_finish();
}
