// M8: asking for a position far into a view of many pieces takes no time that grows with the position.
#include "check.h"

#include <time.h>

enum { kCalls = 200, kFar = 1000000000 };

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void far_away(int pieces) {
  MPI_File fh = ck_create("f");
  MPI_Datatype type, vector;
  MPI_Type_vector(pieces, 1, 2, MPI_INT, &vector);
  MPI_Type_create_resized(vector, 0, 8 * (MPI_Aint)pieces, &type);
  MPI_Type_commit(&type);
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, type, "native", MPI_INFO_NULL));
  double begun = cpu_seconds();
  for (int i = 0; i < kCalls; i++) {
    MPI_Offset far = (MPI_Offset)kFar * (i % 3 + 1) + i, at = -1, bytes = -1;
    CHECK_OK(MPI_File_seek(fh, far, MPI_SEEK_SET));
    CHECK_OK(MPI_File_get_position(fh, &at));
    CHECK_INT(at, far);
    CHECK_OK(MPI_File_get_byte_offset(fh, at, &bytes));
    CHECK_INT(bytes, 8 * far);
  }
  CHECK(cpu_seconds() - begun < 1);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&type);
  MPI_Type_free(&vector);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN_FOR(far_away, "one_piece", 1);
  RUN_FOR(far_away, "many_pieces", 10000);
  return ck_finish();
}
