// M3: every kind of nonblocking write that fails on one rank completes there with the error, and everywhere if collective.
#include "write_limit.h"

static void refused(int kind) {
  char *buffer = calloc(1, kShare);
  const char *name = ck_fresh("f");
  MPI_File fh = open_with(name, kAllAggregate);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  int refused_rank = ck_size - 1, collective = ck_kind_is_collective(kind), shared = kind >= kShared;
  MPI_Offset offset = shared ? 0 : (MPI_Offset)kShare * ck_rank;
  if (!shared) CHECK_OK(MPI_File_seek(fh, offset, MPI_SEEK_SET));
  limit_writes(refused_rank);
  CkAccess access = {1, kind, fh, offset, buffer, kShare, MPI_BYTE};
  int code = ck_call_write(&access, &status, &request);
  if (code == MPI_SUCCESS) code = test_until_done(&request, &status);
  lift_limit();
  CHECK_CLASS(code, collective || ck_rank == refused_rank ? MPI_ERR_NO_SPACE : MPI_SUCCESS);
  CHECK(request == MPI_REQUEST_NULL);
  interleaved_view(fh);
  check_still_usable(fh, name);
  CHECK_OK(MPI_File_close(&fh));
  free(buffer);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  return_errors();
  for (int kind = 0; kind < kAllKinds; kind++)
    if (ck_kind_is_nonblocking(kind) && ck_kind_exists(kind)) RUN_FOR(refused, ck_kind_names[kind], kind);
  return ck_finish();
}
