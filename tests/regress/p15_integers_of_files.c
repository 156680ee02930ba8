// P15: the integers of file handles. MPI-5's ABI gives MPI_FILE_NULL one of its own, as it does to all predefined handles; those of open
// files are none of them.
#include "check.h"

enum { kFiles = 300 };

#ifdef MPI_ABI
#define TO_INTEGER MPI_File_toint
#define FROM_INTEGER MPI_File_fromint
enum { kNull = 0x118, kFirst = 4096 };
#else
#define TO_INTEGER MPI_File_c2f
#define FROM_INTEGER MPI_File_f2c
enum { kNull = 0, kFirst = 1 };
#endif

static void integers(void) {
  static MPI_File fh[kFiles];
  const char *name = ck_fresh("f");
  CHECK_INT(TO_INTEGER(MPI_FILE_NULL), kNull);
  CHECK(FROM_INTEGER(kNull) == MPI_FILE_NULL);
  CHECK(FROM_INTEGER(0) == MPI_FILE_NULL);
  CHECK(FROM_INTEGER(-7) == MPI_FILE_NULL);
  for (int i = 0; i < kFiles; i++) fh[i] = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  CHECK(FROM_INTEGER(kNull) == MPI_FILE_NULL);
  for (int i = 0; i < kFiles; i++) {
    const int number = TO_INTEGER(fh[i]);
    CHECK(number >= kFirst);
    CHECK(FROM_INTEGER(number) == fh[i]);
    for (int j = 0; j < i; j++)
      if (TO_INTEGER(fh[j]) == number) CHECK(0);
  }
  const int freed = TO_INTEGER(fh[7]);
  CHECK_OK(MPI_File_close(&fh[7]));
  CHECK(FROM_INTEGER(freed) == MPI_FILE_NULL);
  for (int i = 0; i < kFiles; i++)
    if (i != 7) CHECK_OK(MPI_File_close(&fh[i]));
  CHECK_INT(TO_INTEGER(fh[0]), kNull);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN(integers);
  return ck_finish();
}
