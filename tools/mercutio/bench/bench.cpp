// A run of `mercutio bench` from its options to its exit code.
#include "bench.h"

#include <sys/statvfs.h>

#include <cstdio>
#include <filesystem>
#include <thread>

#include "../process.h"
#include "common.h"
#include "report.h"

namespace mercutio::tool {
namespace {

constexpr std::uint64_t kDefaultBytes = 64 << 20, kQuickBytes = 4 << 20;

std::uint64_t bytes_of(const BenchOptions& options) {
  return options.bytes > 0 ? options.bytes : options.quick ? kQuickBytes : kDefaultBytes;
}

// The largest file has holes and headers beside the data: a third more is enough.
bool room_for(const BenchOptions& options) {
  struct statvfs room {};
  if (statvfs(options.directory.c_str(), &room) != 0) return true;
  const double free_bytes = static_cast<double>(room.f_bavail) * static_cast<double>(room.f_frsize);
  const double needed = static_cast<double>(bytes_of(options)) * options.ranks * 1.4;
  if (free_bytes > needed) return true;
  std::fprintf(stderr, "mercutio bench: %s has %.0f MiB left, %.0f MiB are needed\n", options.directory.c_str(),
               free_bytes / (1 << 20), needed / (1 << 20));
  return false;
}

void print_header(const BenchOptions& options, const Field& field) {
  std::printf("mercutio bench %s: %d ranks on %u cores, %.4g MiB a rank, %d repetition%s, data in %s\n",
              MERCUTIO_VERSION_TEXT, options.ranks, std::thread::hardware_concurrency(),
              static_cast<double>(bytes_of(options)) / (1 << 20), options.repetitions,
              options.repetitions == 1 ? "" : "s", options.directory.c_str());
  for (const Contender& contender : field.contenders) std::printf("  %s\n", contender.name().c_str());
  for (const std::string& remark : field.remarks) std::printf("note: %s\n", remark.c_str());
  std::printf("\n");
  std::fflush(stdout);
}

int run(BenchOptions options) {
  if (!room_for(options)) return 1;
  stop_on_signals();   // what there is until then is still shown
  const Scratch programs(std::filesystem::temp_directory_path().string()), data(options.directory);
  if (programs.path().empty() || data.path().empty()) {
    std::fprintf(stderr, "mercutio bench: no directory can be made in %s\n",
                 data.path().empty() ? options.directory.c_str() : "the temporary directory");
    return 1;
  }
  const Field field = find_contenders(options, pattern_program(), programs.path());
  print_header(options, field);
  if (field.contenders.empty()) {
    std::fprintf(stderr, "mercutio bench: there is no MPI to measure\n");
    return 1;
  }
  const Measurements measurements = measure(options, field, data.path());
  const Report report = make_report(field, measurements);
  print_report(field, report, measurements);
  if (report.rows.empty() && !options.patterns.empty())
    std::fprintf(stderr, "mercutio bench: no case has a name that begins with one of '%s'\n", options.patterns.c_str());
  int code = report.failures > 0 || report.rows.empty() || field.refused || measurements.of_others ? 1 : 0;
  if (options.json_file.empty() && !options.plot_file.empty()) options.json_file = programs.path() + "/bench.json";
  if (!options.json_file.empty() && !write_json(options, field, report, measurements)) {
    std::fprintf(stderr, "mercutio bench: %s can't be written\n", options.json_file.c_str());
    code = 1;
  }
  if (!options.plot_file.empty() && plot(options.json_file, options.plot_file) != 0) code = 1;
  return code;
}

}  // namespace

int bench(const BenchOptions& options) {
  if (!options.from_file.empty()) return plot(options.from_file, options.plot_file);
  return run(options);
}

}  // namespace mercutio::tool
