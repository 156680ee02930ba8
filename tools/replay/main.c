/* mercutio-replay SCRIPT RESULT [--hint key=value]... [--think] [--keep] [--no-verify]: see replay.h. RESULT gets one line of
 * JSON from rank 0. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "replay.h"

/* What all ranks meet, as a file that can't be opened, rank 0 says alone: it ends the others before they speak. Launchers lose what
   they have not passed on when the job is aborted. */
void fail(const char* what, const char* detail) {
  const struct timespec first = {2, 0}, passed_on = {0, 300000000};
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) nanosleep(&first, NULL);
  fprintf(stderr, "mercutio replay: %s: %s\n", what, detail);
  nanosleep(&passed_on, NULL);
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

void check_mpi(int code, const char* what) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (code == MPI_SUCCESS) return;
  MPI_Error_string(code, text, &length);
  fail(what, text);
}

void* must_alloc(i64 bytes) {
  void* memory = malloc((size_t)(bytes > 0 ? bytes : 1));
  if (!memory) fail("malloc", "no memory");
  return memory;
}

static MPI_Info hints_as_info(const Setting* setting) {
  MPI_Info info;
  MPI_Info_create(&info);
  add_hints(info, setting->hints);
  return info;
}

/* Files that the program found there are made, by all ranks in turn. */
static void prepare_files(const Script* script, const Setting* setting) {
  MPI_Info info = hints_as_info(setting);
  const i64 chunk = 4 << 20;
  char* buffer = must_alloc(chunk);
  for (int i = 0; i < script->files; ++i) {
    const File* file = &script->file[i];
    MPI_File handle;
    if (file->needed_bytes < 0) continue;
    check_mpi(MPI_File_open(setting->world, file->name, MPI_MODE_CREATE | MPI_MODE_WRONLY, info, &handle), file->name);
    for (i64 at = setting->rank * chunk; at < file->needed_bytes; at += script->ranks * chunk) {
      const i64 left = file->needed_bytes - at, bytes = left < chunk ? left : chunk;
      fill_bytes(buffer, at, bytes);
      check_mpi(MPI_File_write_at(handle, at, buffer, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE), file->name);
    }
    check_mpi(MPI_File_close(&handle), file->name);
  }
  free(buffer);
  MPI_Info_free(&info);
}

/* As JSON has it. */
static void put_text(FILE* file, const char* text) {
  fputc('"', file);
  for (; *text; ++text) {
    const unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
      fprintf(file, "\\%c", c);
    else if (c < 32)
      fprintf(file, "\\u%04x", c);
    else
      fputc(c, file);
  }
  fputc('"', file);
}

static void write_result(const char* path, const Setting* setting, const Tally* mine, double seconds) {
  double times[2] = {mine->io_seconds, seconds}, longest[2];
  long long sums[4] = {mine->calls, mine->bytes_read, mine->bytes_written, mine->wrong}, all[4];
  MPI_Reduce(times, longest, 2, MPI_DOUBLE, MPI_MAX, 0, setting->world);
  MPI_Reduce(sums, all, 4, MPI_LONG_LONG, MPI_SUM, 0, setting->world);
  if (setting->rank != 0) return;
  FILE* file = fopen(path, "w");
  Dl_info where = {0};
  const void* symbol = dlsym(RTLD_DEFAULT, "MPI_File_open");
  const char* io = symbol && dladdr(symbol, &where) && where.dli_fname ? where.dli_fname : "";
  if (!file) fail(path, "can't be written");
  fprintf(file, "{\"io_seconds\": %.6f, \"seconds\": %.6f, \"calls\": %lld, \"read\": %lld, \"written\": %lld, \"wrong\": %lld, \"io\": ",
          longest[0], longest[1], all[0], all[1], all[2], all[3]);
  put_text(file, io);
  fputs("}\n", file);
  if (ferror(file) != 0 || fclose(file) != 0) fail(path, "can't be written");
}

static void run(const char* path, const char* result, Setting* setting, int keep) {
  Script script;
  Tally tally = {0, 0, 0, 0, 0};
  memset(&script, 0, sizeof script);
  read_script(path, &script, setting->rank);
  prepare_files(&script, setting);
  MPI_Barrier(setting->world);
  const double start = MPI_Wtime();
  play(&script, setting, &tally);
  const double seconds = MPI_Wtime() - start;
  write_result(result, setting, &tally, seconds);
  MPI_Barrier(setting->world);
  for (int i = 0; i < script.files && !keep && setting->rank == 0; ++i) MPI_File_delete(script.file[i].name, MPI_INFO_NULL);
  fclose(script.steps);
}

int main(int argc, char** argv) {
  Setting setting = {MPI_COMM_NULL, NULL, 0, 1, 0};
  Script script;
  int rank = 0, ranks = 0, keep = 0, hints = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 3) fail("usage", "mercutio-replay script result [options]; it is started by `mercutio replay`");
  setting.hints = must_alloc((i64)sizeof(char*) * (argc + 1));
  for (int i = 3; i < argc; ++i) {
    if (strcmp(argv[i], "--hint") == 0 && i + 1 < argc)
      setting.hints[hints++] = argv[++i];
    else if (strcmp(argv[i], "--think") == 0)
      setting.think = 1;
    else if (strcmp(argv[i], "--keep") == 0)
      keep = 1;
    else if (strcmp(argv[i], "--no-verify") == 0)
      setting.verify = 0;
    else
      fail(argv[i], "no such option");
  }
  setting.hints[hints] = NULL;
  memset(&script, 0, sizeof script);
  read_script(argv[1], &script, -1);
  fclose(script.steps);
  if (ranks < script.ranks) {
    if (rank == 0) fprintf(stderr, "mercutio replay: the trace is of %d ranks, and only %d were started: start %d\n", script.ranks, ranks, script.ranks);
    MPI_Finalize();
    return 3;
  }
  MPI_Comm_split(MPI_COMM_WORLD, rank < script.ranks ? 0 : MPI_UNDEFINED, rank, &setting.world);
  setting.rank = rank;
  if (setting.world != MPI_COMM_NULL) {
    run(argv[1], argv[2], &setting, keep);
    MPI_Comm_free(&setting.world);
  }
  free(setting.hints);
  MPI_Finalize();
  return 0;
}
