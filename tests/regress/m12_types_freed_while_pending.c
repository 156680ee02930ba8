// M12: the datatype of a nonblocking or split access may be freed while the access is pending (MPI 5.1.9), also where the file's representation is one of the
// program's, whose functions receive the datatype.
#include "access_kinds.h"

enum { kItems = 1 << 16 };   // many calls of the conversion functions

static int keyval, copied, deleted, calls, wrong;

static int copy_attribute(MPI_Datatype type, int key, void *extra, void *value, void *result, int *flag) {
  (void)type, (void)key, (void)extra;
  *(void **)result = value;
  *flag = 1;
  copied++;
  return MPI_SUCCESS;
}

static int delete_attribute(MPI_Datatype type, int key, void *value, void *extra) {
  (void)type, (void)key, (void)value, (void)extra;
  deleted++;
  return MPI_SUCCESS;
}

static int extent_fn(MPI_Datatype type, MPI_Aint *extent, void *extra) {
  int bytes = 0;
  (void)extra;
  MPI_Type_size(type, &bytes);
  *extent = bytes;
  return MPI_SUCCESS;
}

static void look_at(MPI_Datatype type) {
  int bytes = 0;
  calls++;
  if (MPI_Type_size(type, &bytes) != MPI_SUCCESS || bytes != (int)(kItems * sizeof(int))) wrong++;
}

// One's complement in the file.
static int write_fn(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *extra) {
  (void)extra;
  look_at(type);
  for (int i = 0; i < count; i++) ((int *)file)[i] = ~((const int *)user)[position + i];
  return MPI_SUCCESS;
}

static int read_fn(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *extra) {
  (void)extra;
  look_at(type);
  for (int i = 0; i < count; i++) ((int *)user)[position + i] = ~((const int *)file)[i];
  return MPI_SUCCESS;
}

static MPI_File open_file(void) {
  MPI_File fh = MPI_FILE_NULL;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_buffer_size", "4096");   // so many bytes are converted at a time
  if (!CHECK_OK(MPI_File_open(MPI_COMM_WORLD, ck_fresh("f"), MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh))) MPI_Abort(MPI_COMM_WORLD, 1);
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "m12 complement", info));
  MPI_Info_free(&info);
  return fh;
}

static MPI_Datatype make_type(void) {
  MPI_Datatype type;
  MPI_Type_contiguous(kItems, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Type_set_attr(type, keyval, NULL);
  return type;
}

typedef enum { kAlone, kTogether, kSplit, kWays } Way;
static const char *const way_names[kWays] = {"alone", "together", "split"};

// The type is freed at once, before the other ranks join.
static void move(MPI_File fh, Way way, int write, int *data) {
  const MPI_Offset offset = (MPI_Offset)kItems * ck_rank;
  MPI_Datatype type = make_type();
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  if (ck_rank > 0) MPI_Barrier(MPI_COMM_WORLD);
  if (way == kAlone && write) CHECK_OK(MPI_File_iwrite_at(fh, offset, data, 1, type, &request));
  if (way == kAlone && !write) CHECK_OK(MPI_File_iread_at(fh, offset, data, 1, type, &request));
  if (way == kTogether && write) CHECK_OK(MPI_File_iwrite_at_all(fh, offset, data, 1, type, &request));
  if (way == kTogether && !write) CHECK_OK(MPI_File_iread_at_all(fh, offset, data, 1, type, &request));
  if (way == kSplit && write) CHECK_OK(MPI_File_write_at_all_begin(fh, offset, data, 1, type));
  if (way == kSplit && !write) CHECK_OK(MPI_File_read_at_all_begin(fh, offset, data, 1, type));
  CHECK_OK(MPI_Type_free(&type));
  if (ck_rank == 0) MPI_Barrier(MPI_COMM_WORLD);
  if (way != kSplit) CHECK_OK(MPI_Wait(&request, &status));
  if (way == kSplit && write) CHECK_OK(MPI_File_write_at_all_end(fh, data, &status));
  if (way == kSplit && !write) CHECK_OK(MPI_File_read_at_all_end(fh, data, &status));
  CHECK_COUNT(status, MPI_INT, kItems);
}

static void free_while_pending(Way way) {
  static int data[kItems], got[kItems];
  MPI_File fh = open_file();
  copied = deleted = calls = wrong = 0;
  for (int i = 0; i < kItems; i++) data[i] = ck_rank * kItems + i, got[i] = -1;
  move(fh, way, 1, data);
  MPI_Barrier(MPI_COMM_WORLD);
  move(fh, way, 0, got);
  CHECK(calls > 2);
  CHECK_INT(wrong, 0);
  CHECK(memcmp(data, got, sizeof data) == 0);
  CHECK_OK(MPI_File_close(&fh));
  CHECK_INT(deleted, 2 + copied);   // no type is left
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);   // an error of a request is reported there on some MPIs
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (ck_is_mercutio()) {
    CHECK_OK(MPI_Register_datarep("m12 complement", read_fn, write_fn, extent_fn, NULL));
    MPI_Type_create_keyval(copy_attribute, delete_attribute, &keyval, NULL);
    for (int way = 0; way < kWays; way++) RUN_FOR(free_while_pending, way_names[way], way);
    MPI_Type_free_keyval(&keyval);
  }
  return ck_finish();
}
