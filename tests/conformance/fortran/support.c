// What the Fortran programs need from C: the named checks of check.h, paths, bytes on disk, and the C halves of the cases
// in which both languages use one file. Names are the compiler's; character arguments bring their length at the end.
#include "check.h"

static void ck_text(char *out, size_t room, const char *text, size_t length) {
  while (length && text[length - 1] == ' ') length--;
  if (length >= room) length = room - 1;
  memcpy(out, text, length);
  out[length] = '\0';
}

static void ck_pad(char *out, size_t length, const char *text) {
  size_t n = strlen(text);
  memset(out, ' ', length);
  memcpy(out, text, n < length ? n : length);
}

// After MPI_Init, which the programs call in Fortran.
void ckstart_(void) {
  static char words[4096];
  static char *argv[64];
  char **list = argv;
  int argc = 0;
  FILE *f = fopen("/proc/self/cmdline", "rb");
  size_t n = f ? fread(words, 1, sizeof words - 1, f) : 0;
  if (f) fclose(f);
  for (size_t i = 0; i < n && argc < 63; i += strlen(words + i) + 1) argv[argc++] = words + i;
  ck_init_level(&argc, &list, CK_INITIALISED, NULL);
}

void ckrun_(const char *name, void (*body)(void), size_t length) {
  static char text[CK_NAME_BYTES];
  ck_text(text, sizeof text, name, length);
  if (!ck_begin(text)) return;
  body();
  ck_end();
}

void ckdone_(int *failed_cases) { *failed_cases = ck_done(); }

void ckok_(const int *code, const char *what, size_t length) {
  char text[200];
  ck_text(text, sizeof text, what, length);
  ck_report_class(*code, MPI_SUCCESS, ck_program, 0, text);
}

void ckerr_(const int *code, const int *class, const char *what, size_t length) {
  char text[200];
  ck_text(text, sizeof text, what, length);
  ck_report_class(*code, *class, ck_program, 0, text);
}

void ckeq_(const int *got, const int *want, const char *what, size_t length) {
  char text[200];
  ck_text(text, sizeof text, what, length);
  ck_report_ints(*got, *want, ck_program, 0, text);
}

void ckeq8_(const long long *got, const long long *want, const char *what, size_t length) {
  char text[200];
  ck_text(text, sizeof text, what, length);
  ck_report_ints(*got, *want, ck_program, 0, text);
}

// A path without a file, padded with blanks as Fortran has it.
void ckfresh_(const char *tag, char *path, size_t tag_length, size_t path_length) {
  char text[64];
  ck_text(text, sizeof text, tag, tag_length);
  ck_pad(path, path_length, ck_fresh(text));
}

void ckexists_(const char *path, int *exists, size_t length) {
  char text[CK_NAME_BYTES];
  ck_text(text, sizeof text, path, length);
  *exists = ck_disk_size(text) >= 0;
}

// Default integers on disk.
void ckdisk_(const char *path, const long long *offset, const int *want, const int *count, size_t length) {
  char text[CK_NAME_BYTES];
  ck_text(text, sizeof text, path, length);
  ck_report_bytes(text, *offset, want, (size_t)*count * sizeof(int), ck_program, 0);
}

// The C half of a file that Fortran opened: f2c, write, read, c2f gives the same number.
void ckcuses_(const MPI_Fint *fortran_file, const MPI_Offset *offset, const int *value) {
  MPI_File file = MPI_File_f2c(*fortran_file);
  int back = -1;
  MPI_Status status;
  if (!CHECK(file != MPI_FILE_NULL)) return;
  CHECK_INT(MPI_File_c2f(file), *fortran_file);
  CHECK_OK(MPI_File_write_at(file, *offset, value, 1, MPI_INT, &status));
  CHECK_COUNT(status, MPI_INT, 1);
  CHECK_OK(MPI_File_read_at(file, *offset, &back, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_INT(back, *value);
}

void ckcopen_(const char *path, MPI_Fint *fortran_file, size_t length) {
  char text[CK_NAME_BYTES];
  ck_text(text, sizeof text, path, length);
  *fortran_file = MPI_File_c2f(ck_open(text, MPI_MODE_CREATE | MPI_MODE_RDWR));
}

void ckcclose_(const MPI_Fint *fortran_file) {
  MPI_File file = MPI_File_f2c(*fortran_file);
  CHECK_OK(MPI_File_close(&file));
  CHECK(file == MPI_FILE_NULL);
  CHECK_INT(MPI_File_c2f(file), MPI_File_c2f(MPI_FILE_NULL));
}

// A C handler attached to a file of Fortran, and the error that Fortran makes arrives here.
static int c_handler_calls;
static MPI_File c_handler_file;
static void c_handler(MPI_File *file, int *code, ...) {
  c_handler_calls += ck_class(*code) != MPI_SUCCESS;
  c_handler_file = *file;
}
void ckcattach_(const MPI_Fint *fortran_file) {
  MPI_Errhandler handler;
  CHECK_OK(MPI_File_create_errhandler(c_handler, &handler));
  CHECK_OK(MPI_File_set_errhandler(MPI_File_f2c(*fortran_file), handler));
  CHECK_OK(MPI_Errhandler_free(&handler));
  c_handler_calls = 0;
}
void ckccalled_(const MPI_Fint *fortran_file, const int *calls) {
  CHECK_INT(c_handler_calls, *calls);
  CHECK(c_handler_file == MPI_File_f2c(*fortran_file));
}
// An error made in C on a file whose handler is a Fortran procedure.
void ckcfails_(const MPI_Fint *fortran_file) {
  int value = 0;
  (void)MPI_File_read_at(MPI_File_f2c(*fortran_file), -1, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
}
