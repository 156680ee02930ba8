// M27: MPI_File_get_view where the MPI can't make the filetype again. The etype that was made before is freed, and the arguments stay as they were.
#include "check.h"

static int fails, live;   // `live`: types that the library has made and not freed

int PMPI_Type_contiguous(int count, MPI_Datatype part, MPI_Datatype *made) {
  int (*real)(int, MPI_Datatype, MPI_Datatype *) = (int (*)(int, MPI_Datatype, MPI_Datatype *))dlsym(RTLD_NEXT, "PMPI_Type_contiguous");
  live++;
  return real(count, part, made);
}

int PMPI_Type_free(MPI_Datatype *type) {
  int (*real)(MPI_Datatype *) = (int (*)(MPI_Datatype *))dlsym(RTLD_NEXT, "PMPI_Type_free");
  live--;
  return real(type);
}

int PMPI_Type_vector(int count, int length, int stride, MPI_Datatype part, MPI_Datatype *made) {
  int (*real)(int, int, int, MPI_Datatype, MPI_Datatype *) = (int (*)(int, int, int, MPI_Datatype, MPI_Datatype *))dlsym(RTLD_NEXT, "PMPI_Type_vector");
  return fails ? MPI_ERR_TYPE : real(count, length, stride, part, made);
}

static void no_filetype(void) {
  MPI_File fh = ck_create("f");
  MPI_Datatype pair, spread, etype = MPI_CHAR, filetype = MPI_CHAR;
  MPI_Offset displacement = -7;
  char datarep[MPI_MAX_DATAREP_STRING] = "unchanged";
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_vector(2, 1, 2, pair, &spread);
  MPI_Type_commit(&pair);
  MPI_Type_commit(&spread);
  CHECK_OK(MPI_File_set_view(fh, 4, pair, spread, "native", MPI_INFO_NULL));
  fails = 1;
  live = 0;
  CHECK_ERROR(MPI_File_get_view(fh, &displacement, &etype, &filetype, datarep));
  fails = 0;
  CHECK_INT(live, 0);
  CHECK(etype == MPI_CHAR && filetype == MPI_CHAR && displacement == -7 && !strcmp(datarep, "unchanged"));
  CHECK_OK(MPI_File_get_view(fh, &displacement, &etype, &filetype, datarep));
  CHECK_INT(live, 1);   // the etype; MPI_Type_vector is not counted
  CHECK_INT(displacement, 4);
  MPI_Type_free(&etype);
  MPI_Type_free(&filetype);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&pair);
  MPI_Type_free(&spread);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  if (ck_is_mercutio()) RUN(no_filetype);
  return ck_finish();
}
