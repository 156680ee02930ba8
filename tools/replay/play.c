/* One rank's steps, in the order in which the program took them. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "replay.h"

enum { kWrite = 1, kCollective = 2 }; /* flags of a step; the form is above them */
enum { kBlocking, kStarted, kSplit };
enum { kMostOutstanding = 1024 };
static const i64 kMostOutstandingBytes = (i64)1 << 30;

/* A data access under way. */
typedef struct {
  char* buffer;
  i64 bytes, begin;  /* in the view's stream */
  const Type* type;
  i64 displacement;
  int write;
  MPI_Request request;
} Access;

typedef struct {
  i64 number;
  MPI_File handle;
  const Type* type; /* NULL: bytes */
  i64 displacement, etype_bytes;
  Access split;
  int splitting;
} Open;

typedef struct {
  const Script* script;
  const Setting* setting;
  Tally* tally;
  MPI_Comm* comm; /* by group; MPI_COMM_NULL: not needed yet */
  Open* open;
  int opens, types;
  Type** type; /* as the steps have brought them */
  Access* outstanding; /* oldest first */
  int count;
  i64 outstanding_bytes;
  char* kept; /* the buffer of blocking accesses */
  i64 kept_bytes;
} Player;

/* ---- buffers */

typedef struct {
  char* at;
  i64 displacement, wrong, left; /* left: bytes that were really read */
} Filling;

static void fill_piece(void* state, i64 offset, i64 bytes) {
  Filling* filling = state;
  fill_bytes(filling->at, filling->displacement + offset, bytes);
  filling->at += bytes;
}

static void check_piece(void* state, i64 offset, i64 bytes) {
  Filling* filling = state;
  const i64 here = bytes < filling->left ? bytes : filling->left;
  filling->wrong += wrong_bytes(filling->at, filling->displacement + offset, here);
  filling->at += bytes;
  filling->left -= here;
}

static void walk_access(const Access* access, Visit* visit, Filling* filling) {
  if (access->type)
    walk_type(access->type, access->begin, access->bytes, visit, filling);
  else if (access->bytes > 0)
    visit(filling, access->begin, access->bytes);
}

static void fill(const Access* access) {
  Filling filling = {access->buffer, access->displacement, 0, 0};
  walk_access(access, fill_piece, &filling);
}

/* After it: what came is counted and looked at. */
static void account(Player* player, const Access* access, MPI_Status* status) {
  Tally* tally = player->tally;
  MPI_Count moved = 0;
  MPI_Get_elements_x(status, MPI_BYTE, &moved);
  if (access->write) {
    tally->bytes_written += access->bytes;
    return;
  }
  tally->bytes_read += moved;
  if (!player->setting->verify) return;
  Filling filling = {access->buffer, access->displacement, 0, moved};
  walk_access(access, check_piece, &filling);
  tally->wrong += filling.wrong;
}

static char* kept_buffer(Player* player, i64 bytes) {
  if (bytes > player->kept_bytes) {
    free(player->kept);
    player->kept = must_alloc(bytes);
    player->kept_bytes = bytes;
  }
  return player->kept;
}

/* ---- accesses under way */

static void wait_oldest(Player* player, int count) {
  if (count > player->count) count = player->count;
  for (int i = 0; i < count; ++i) {
    Access* access = &player->outstanding[i];
    MPI_Status status;
    const double start = MPI_Wtime();
    check_mpi(MPI_Wait(&access->request, &status), "MPI_Wait");
    player->tally->io_seconds += MPI_Wtime() - start;
    account(player, access, &status);
    player->outstanding_bytes -= access->bytes;
    free(access->buffer);
  }
  player->count -= count;
  memmove(player->outstanding, player->outstanding + count, sizeof(Access) * (size_t)player->count);
}

static void end_split(Player* player, Open* open) {
  Access* access = &open->split;
  MPI_Status status;
  const double start = MPI_Wtime();
  if (!open->splitting) return;
  check_mpi(access->write ? MPI_File_write_at_all_end(open->handle, access->buffer, &status)
                          : MPI_File_read_at_all_end(open->handle, access->buffer, &status),
            "the end of a split collective access");
  player->tally->io_seconds += MPI_Wtime() - start;
  open->splitting = 0;
  account(player, access, &status);
  free(access->buffer);
}

/* ---- one access */

static int call_blocking(MPI_File file, i64 offset, Access* access, int flags, MPI_Status* status) {
  int count = 0, code = 0;
  MPI_Datatype type = bytes_type(access->bytes, &count);
  switch (flags & 3) {
    case 0: code = MPI_File_read_at(file, offset, access->buffer, count, type, status); break;
    case kWrite: code = MPI_File_write_at(file, offset, access->buffer, count, type, status); break;
    case kCollective: code = MPI_File_read_at_all(file, offset, access->buffer, count, type, status); break;
    default: code = MPI_File_write_at_all(file, offset, access->buffer, count, type, status); break;
  }
  if (type != MPI_BYTE) MPI_Type_free(&type);
  return code;
}

static int call_started(MPI_File file, i64 offset, Access* access, int flags) {
  int count = 0, code = 0;
  MPI_Datatype type = bytes_type(access->bytes, &count);
  MPI_Request* request = &access->request;
  switch (flags & 3) {
    case 0: code = MPI_File_iread_at(file, offset, access->buffer, count, type, request); break;
    case kWrite: code = MPI_File_iwrite_at(file, offset, access->buffer, count, type, request); break;
    case kCollective: code = MPI_File_iread_at_all(file, offset, access->buffer, count, type, request); break;
    default: code = MPI_File_iwrite_at_all(file, offset, access->buffer, count, type, request); break;
  }
  if (type != MPI_BYTE) MPI_Type_free(&type);
  return code;
}

static int call_split(MPI_File file, i64 offset, Access* access) {
  int count = 0, code = 0;
  MPI_Datatype type = bytes_type(access->bytes, &count);
  code = access->write ? MPI_File_write_at_all_begin(file, offset, access->buffer, count, type)
                       : MPI_File_read_at_all_begin(file, offset, access->buffer, count, type);
  if (type != MPI_BYTE) MPI_Type_free(&type);
  return code;
}

static void one_access(Player* player, Open* open, int flags, i64 offset, i64 bytes) {
  const int form = flags >> 2;
  Access access = {NULL, bytes, offset * open->etype_bytes, open->type, open->displacement, flags & kWrite, MPI_REQUEST_NULL};
  if (open->type && open->type->size == 0) access.bytes = bytes = 0;
  if (form == kStarted && (player->count == kMostOutstanding || player->outstanding_bytes + bytes > kMostOutstandingBytes))
    wait_oldest(player, player->count);
  access.buffer = form == kBlocking ? kept_buffer(player, bytes) : must_alloc(bytes);
  if (access.write) fill(&access);
  MPI_Status status;
  int code = 0;
  const double start = MPI_Wtime();
  if (form == kBlocking)
    code = call_blocking(open->handle, offset, &access, flags, &status);
  else
    code = form == kStarted ? call_started(open->handle, offset, &access, flags) : call_split(open->handle, offset, &access);
  player->tally->io_seconds += MPI_Wtime() - start;
  check_mpi(code, access.write ? "a write" : "a read");
  ++player->tally->calls;
  if (form == kBlocking) {
    account(player, &access, &status);
  } else if (form == kSplit) {
    open->split = access;
    open->splitting = 1;
  } else {
    player->outstanding[player->count++] = access;
    player->outstanding_bytes += bytes;
  }
}

/* ---- files */

static Open* find_open(Player* player, i64 number) {
  for (int i = player->opens - 1; i >= 0; --i) {
    if (player->open[i].number == number) return &player->open[i];
  }
  fail("the script", "it has an access of a file that isn't open");
  return NULL;
}

static MPI_Comm comm_of(Player* player, int group) {
  const int* ranks = group < 0 ? NULL : player->script->group[group];
  MPI_Group all, some;
  if (group < 0) return MPI_COMM_SELF;
  if (ranks[0] == player->script->ranks) {
    int in_order = 1;
    for (int i = 0; i < ranks[0]; ++i) in_order = in_order && ranks[i + 1] == i;
    if (in_order) return player->setting->world;
  }
  if (player->comm[group] == MPI_COMM_NULL) {
    MPI_Comm_group(player->setting->world, &all);
    MPI_Group_incl(all, ranks[0], ranks + 1, &some);
    check_mpi(MPI_Comm_create_group(player->setting->world, some, group % 16384, &player->comm[group]), "MPI_Comm_create_group");
    MPI_Group_free(&some);
    MPI_Group_free(&all);
  }
  return player->comm[group];
}

void add_hints(MPI_Info info, char** hints) {
  for (; *hints; ++hints) {
    char* equals = strchr(*hints, '=');
    if (!equals) continue;
    *equals = '\0';
    MPI_Info_set(info, *hints, equals[1] ? equals + 1 : " ");
    *equals = '=';
  }
}

static int amode_of(int bits) {
  static const int modes[] = {MPI_MODE_RDONLY, MPI_MODE_WRONLY, MPI_MODE_RDWR, MPI_MODE_CREATE, MPI_MODE_EXCL, 0, MPI_MODE_UNIQUE_OPEN};
  int amode = 0;
  for (int i = 0; i < 7; ++i) amode |= bits >> i & 1 ? modes[i] : 0;
  return amode;
}

/* A file is there when the replay begins only if it was when the program began. */
static void open_file(Player* player, i64 number, const i64 at[4]) {
  Open open;
  MPI_Info info;
  memset(&open, 0, sizeof open);
  open.number = number;
  open.etype_bytes = 1;
  MPI_Info_create(&info);
  add_hints(info, player->script->info[at[2]]);
  add_hints(info, player->setting->hints);
  const MPI_Comm comm = comm_of(player, (int)at[1]);
  const double start = MPI_Wtime();
  check_mpi(MPI_File_open(comm, player->script->file[at[0]].name, amode_of((int)at[3]), info, &open.handle), player->script->file[at[0]].name);
  player->tally->io_seconds += MPI_Wtime() - start;
  MPI_Info_free(&info);
  player->open = realloc(player->open, sizeof(Open) * (size_t)(player->opens + 1));
  if (!player->open) fail("malloc", "no memory");
  player->open[player->opens++] = open;
}

static void close_file(Player* player, Open* open) {
  wait_oldest(player, player->count);
  end_split(player, open);
  const double start = MPI_Wtime();
  check_mpi(MPI_File_close(&open->handle), "MPI_File_close");
  player->tally->io_seconds += MPI_Wtime() - start;
  *open = player->open[--player->opens];
}

static void set_view(Player* player, Open* open, const i64 at[3]) {
  MPI_Datatype etype;
  if (at[2] < 0 || at[2] >= player->types) fail("the script", "it is damaged");
  const Type* type = player->type[at[2]];
  open->displacement = at[0];
  open->etype_bytes = at[1];
  open->type = type;
  check_mpi(MPI_Type_contiguous((int)at[1], MPI_BYTE, &etype), "MPI_Type_contiguous");
  MPI_Type_commit(&etype);
  const double start = MPI_Wtime();
  check_mpi(MPI_File_set_view(open->handle, at[0], etype, type->handle, "native", MPI_INFO_NULL), "MPI_File_set_view");
  player->tally->io_seconds += MPI_Wtime() - start;
  MPI_Type_free(&etype);
}

/* ---- steps */

static void pause_for(const Player* player, i64 microseconds) {
  struct timespec time = {(time_t)(microseconds / 1000000), (long)(microseconds % 1000000) * 1000};
  if (player->setting->think && microseconds > 0) nanosleep(&time, NULL);
}

static void simple_step(Player* player, char kind, Open* open, i64 value) {
  const double start = MPI_Wtime();
  int code = MPI_SUCCESS;
  if (kind == 's') {
    code = MPI_File_sync(open->handle);
  } else if (kind == 'z') {
    code = MPI_File_set_size(open->handle, value);
  } else if (kind == 'p') {
    code = MPI_File_preallocate(open->handle, value);
  } else {
    code = MPI_File_set_atomicity(open->handle, (int)value);
  }
  check_mpi(code, kind == 's' ? "MPI_File_sync" : kind == 'z' ? "MPI_File_set_size" : kind == 'p' ? "MPI_File_preallocate" : "MPI_File_set_atomicity");
  player->tally->io_seconds += MPI_Wtime() - start;
}

/* Numbers behind each letter, of which the last one is the pause before each call. */
static int numbers_of(char kind) {
  static const char letters[] = "ovawecsztp";
  static const int numbers[] = {6, 5, 7, 2, 2, 2, 3, 3, 3, 3};
  const char* found = strchr(letters, kind);
  return found && kind ? numbers[found - letters] : -1;
}

static i64 calls_of(char kind, const i64* at) {
  return kind == 'a' ? at[4] : kind == 's' ? at[1] : kind == 'w' ? at[0] : 1;
}

static void take_call(Player* player, char kind, const i64* at, i64 number) {
  switch (kind) {
    case 'o':
      return open_file(player, at[0], at + 1);
    case 'v':
      return set_view(player, find_open(player, at[0]), at + 1);
    case 'a':
      return one_access(player, find_open(player, at[0]), (int)at[1], at[2] + number * at[5], at[3]);
    case 'w':
      return wait_oldest(player, 1);
    case 'e':
      return end_split(player, find_open(player, at[0]));
    case 'c':
      return close_file(player, find_open(player, at[0]));
    default:
      return simple_step(player, kind, find_open(player, at[0]), at[1]);
  }
}

static void take_step(Player* player, char kind, const i64* at) {
  const i64 calls = calls_of(kind, at), pause = at[numbers_of(kind) - 1];
  for (i64 i = 0; i < calls; ++i) {
    pause_for(player, pause);
    take_call(player, kind, at, i);
  }
}

static void add_type(Player* player) {
  player->type = realloc(player->type, sizeof(Type*) * (size_t)(player->types + 1));
  if (!player->type) fail("malloc", "no memory");
  player->type[player->types] = must_alloc(sizeof(Type));
  read_type(player->script->steps, player->type[player->types++]);
}

/* What the trace leaves open is closed in the order in which all ranks opened it. */
static void close_rest(Player* player) {
  while (player->opens > 0) {
    Open* first = &player->open[0];
    for (int i = 1; i < player->opens; ++i) {
      if (player->open[i].number < first->number) first = &player->open[i];
    }
    close_file(player, first);
  }
}

void play(const Script* script, const Setting* setting, Tally* tally) {
  Player player;
  memset(&player, 0, sizeof player);
  player.script = script;
  player.setting = setting;
  player.tally = tally;
  player.comm = must_alloc((i64)sizeof(MPI_Comm) * script->groups);
  player.outstanding = must_alloc((i64)sizeof(Access) * kMostOutstanding);
  for (int i = 0; i < script->groups; ++i) player.comm[i] = MPI_COMM_NULL;
  for (;;) {
    char kind = 0;
    long long value = 0;
    i64 at[8] = {0};
    if (fscanf(script->steps, " %c", &kind) != 1 || (kind != 'q' && kind != 'y' && numbers_of(kind) < 0)) fail("the script", "it is damaged");
    if (kind == 'q') break;
    if (kind == 'y') {
      add_type(&player);
      continue;
    }
    for (int i = 0; i < numbers_of(kind); ++i) {
      if (fscanf(script->steps, "%lld", &value) != 1) fail("the script", "it is damaged");
      at[i] = value;
    }
    take_step(&player, kind, at);
  }
  wait_oldest(&player, player.count);
  close_rest(&player);
  for (int i = 0; i < script->groups; ++i) {
    if (player.comm[i] != MPI_COMM_NULL) MPI_Comm_free(&player.comm[i]);
  }
  for (int i = 0; i < player.types; ++i) {
    MPI_Type_free(&player.type[i]->handle);
    free(player.type[i]);
  }
  free(player.type);
  free(player.comm);
  free(player.open);
  free(player.outstanding);
  free(player.kept);
}
