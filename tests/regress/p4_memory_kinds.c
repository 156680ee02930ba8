// P4: MPI-4.1's memory allocation kinds. A file has those of MPI_COMM_WORLD, whatever else its info says; kinds that the program asserts narrow
// them if the MPI has them all, and are returned.
#include "check.h"

#define KINDS "mpi_memory_alloc_kinds"
#define ASSERTED "mpi_assert_memory_alloc_kinds"

static char world[MPI_MAX_INFO_VAL];   // "": the MPI knows no kinds

static void value_in(MPI_Info info, const char *key, char *value) {
  int found = 0;
  value[0] = 0;
  MPI_Info_get(info, key, MPI_MAX_INFO_VAL - 1, value, &found);
}

static void check_kinds(MPI_File fh, const char *kinds, const char *asserted) {
  char value[MPI_MAX_INFO_VAL];
  MPI_Info info = MPI_INFO_NULL;
  if (!CHECK_OK(MPI_File_get_info(fh, &info))) return;
  value_in(info, KINDS, value);
  CHECK(!strcmp(value, kinds));
  value_in(info, ASSERTED, value);
  CHECK(!strcmp(value, asserted));
  MPI_Info_free(&info);
}

static MPI_Info with(const char *key, const char *value) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, key, value);
  return info;
}

static MPI_File open_on(MPI_Comm comm, MPI_Info info) {
  MPI_File fh = MPI_FILE_NULL;
  CHECK_OK(MPI_File_open(comm, ck_fresh("f"), MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
  return fh;
}

static void of_the_world(void) {
  MPI_File fh = open_on(MPI_COMM_WORLD, MPI_INFO_NULL);
  MPI_Info info = with(KINDS, "nonsense");
  check_kinds(fh, world, "");
  CHECK_OK(MPI_File_set_info(fh, info));
  check_kinds(fh, world, "");
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", info));
  check_kinds(fh, world, "");
  CHECK_OK(MPI_File_close(&fh));
  MPI_Info_free(&info);
}

static void asserted(void) {
  MPI_Info info = with(ASSERTED, "system"), more = with(ASSERTED, "system,unheard_of"), restricted = with(ASSERTED, "mpi:alloc_mem");
  const int known = world[0] != 0;
  MPI_File fh = open_on(MPI_COMM_WORLD, info);
  check_kinds(fh, known ? "system" : "", known ? "system" : "");
  CHECK_OK(MPI_File_set_info(fh, restricted));
  check_kinds(fh, known ? "mpi:alloc_mem" : "", known ? "mpi:alloc_mem" : "");
  CHECK_OK(MPI_File_close(&fh));
  fh = open_on(MPI_COMM_WORLD, ck_rank == 0 ? more : info);   // each rank's own promise
  check_kinds(fh, ck_rank == 0 ? world : known ? "system" : "", ck_rank == 0 || !known ? "" : "system");
  CHECK_OK(MPI_File_close(&fh));
  MPI_Info_free(&info);
  MPI_Info_free(&more);
  MPI_Info_free(&restricted);
}

static void of_another_communicator(void) {
  MPI_Info info = with(ASSERTED, "system");
  MPI_Comm comm;
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
  MPI_File fh = open_on(comm, MPI_INFO_NULL);
  check_kinds(fh, world, "");
  CHECK_OK(MPI_File_close(&fh));
  MPI_Comm_free(&comm);
  MPI_Info_free(&info);
}

int main(int argc, char **argv) {
  MPI_Info info;
  ck_init(&argc, &argv);
  MPI_Comm_get_info(MPI_COMM_WORLD, &info);
  value_in(info, KINDS, world);
  MPI_Info_free(&info);
  RUN(of_the_world);
  RUN(asserted);
  RUN(of_another_communicator);
  return ck_finish();
}
