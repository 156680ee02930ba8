// M16: error handlers of files by the bindings of MPI-2 for C++, which MPICH 4.0 and Open MPI 4 still have. A handler of the program takes
// an object of class MPI::File; MPI::ERRORS_THROW_EXCEPTIONS is predefined, and throws if the bindings were built so.
#include <mpi.h>

#include <cstdio>
#include <string>

#if defined(MPIX_CALLREF) || defined(MPIPP_H)   // MPICH has, Open MPI has
static int calls, failures;
static MPI::Offset size_shown;

static void handler(MPI::File& file, int*, ...) {
  ++calls;
  size_shown = file.Get_size();
}

static void check(bool good, const char* what) {
  if (good) return;
  ++failures;
  std::fprintf(stderr, "rank %d: %s\n", MPI::COMM_WORLD.Get_rank(), what);
}

static void user_handler(MPI::File& file) {
  const MPI::Errhandler made = MPI::File::Create_errhandler(handler);
  file.Set_errhandler(made);
  file.Seek(-1, MPI_SEEK_SET);
  check(calls == 1, "the handler is called once");
  check(size_shown == 1000, "the handler gets the file");
  file.Seek(1, MPI_SEEK_SET);
  check(calls == 1, "the handler is called for errors only");
}

static void throwing_handler(MPI::File& file) {
  calls = 0;
  file.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
  check(calls == 0, "it is accepted");
  bool thrown = false;
  try {
    file.Seek(-1, MPI_SEEK_SET);
  } catch (const MPI::Exception&) {
    thrown = true;
  }
#ifdef MPICH
  check(thrown, "an exception is thrown");
#endif
  check(file.Get_position() == 1, "the pointer stays");
}

static void run(const char* name, void (*body)(MPI::File&), MPI::File& file) {
  const bool speaks = MPI::COMM_WORLD.Get_rank() == 0;
  int all = 0;
  if (speaks) std::printf("run %s\n", name), std::fflush(stdout);
  failures = 0;
  body(file);
  MPI::COMM_WORLD.Allreduce(&failures, &all, 1, MPI::INT, MPI::SUM);
  if (speaks) std::printf(all == 0 ? "ok %s\n" : "FAILED %s %d\n", name, all), std::fflush(stdout);
}

int main(int argc, char** argv) {
  MPI::Init(argc, argv);
  std::string folder = ".";
  for (int i = 1; i + 1 < argc; i += 2)
    if (std::string(argv[i]) == "--dir") folder = argv[i + 1];
  MPI::File file = MPI::File::Open(MPI::COMM_WORLD, (folder + "/m16").c_str(), MPI::MODE_CREATE | MPI::MODE_RDWR | MPI::MODE_DELETE_ON_CLOSE, MPI::INFO_NULL);
  file.Set_size(1000);
  run("user_handler", user_handler, file);
  run("throwing_handler", throwing_handler, file);
  file.Close();
  if (MPI::COMM_WORLD.Get_rank() == 0) std::printf("done m16_error_handlers_of_cplusplus\n");
  MPI::Finalize();
}
#else   // the MPI has no such bindings
int main() { std::printf("done m16_error_handlers_of_cplusplus\n"); }
#endif
