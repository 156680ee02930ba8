// A run of `mercutio bench overlap` from its options to its exit code.
#include "overlap.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "../process.h"
#include "common.h"

namespace mercutio::tool {
namespace {

constexpr const char* kStorage = "libstriped_servers.so";
enum { kStateBytes = 65536, kMostServers = 16 };

MeasuringProgram overlap_program() {
  return {"mercutio-overlap",
          {"overlap/main", "overlap/access", "overlap/calls", "overlap/work", "common", "side", "output"},
          {},
          {}};
}

// What striped_servers.c wants to find below its root.
bool make_servers(const std::string& root) {
  std::error_code error;
  for (int server = 0; server < kMostServers; ++server) {
    std::filesystem::create_directory(root + "/.server" + std::to_string(server), error);
  }
  std::ofstream state(root + "/.servers", std::ios::binary);
  state << std::string(kStateBytes, '\0');
  return !error && state.flush();
}

MeasuringProgram with_servers(MeasuringProgram program, const OverlapOptions& options, const std::string& root) {
  program.preloads.push_back(find_rank_library(kStorage));
  program.variables = {{"MERCUTIO_SERVERS_ROOT", root},
                       {"MERCUTIO_SERVERS_COUNT", std::to_string(options.servers)},
                       {"MERCUTIO_SERVERS_STRIPE", std::to_string(options.stripe)},
                       {"MERCUTIO_SERVERS_RATE", std::to_string(options.rate)}};
  return program;
}

void print_header(const OverlapOptions& options, const Field& field) {
  const BenchOptions& common = options.common;
  std::printf(
      "mercutio bench overlap %s: %d ranks on %u cores, %.4g MiB a rank and access, %d repetition%s, data in %s\n",
      MERCUTIO_VERSION_TEXT, common.ranks, std::thread::hardware_concurrency(),
      static_cast<double>(common.bytes) / (1 << 20), common.repetitions, common.repetitions == 1 ? "" : "s",
      common.directory.c_str());
  std::printf("storage: %d server%s of %.4g MB/s each, stripes of %.4g KiB; no limit for the postings\n",
              options.servers, options.servers == 1 ? "" : "s", static_cast<double>(options.rate) / 1e6,
              static_cast<double>(options.stripe) / 1024);
  for (const Contender& contender : field.contenders) std::printf("  %s\n", contender.name().c_str());
  for (const std::string& remark : field.remarks) std::printf("note: %s\n", remark.c_str());
  std::printf("\n");
  std::fflush(stdout);
}

int finish(OverlapOptions options, const Field& field, const OverlapFigures& figures, const std::string& scratch) {
  BenchOptions& common = options.common;
  const std::vector<Bar> bars = overlap_bars(field, figures);
  print_overlap(field, figures, bars);
  int code = figures.failures > 0 || figures.rows.empty() || field.refused || figures.of_others ? 1 : 0;
  for (const Bar& bar : bars) {
    if (options.check_bars && !bar.met()) code = 1;
  }
  if (common.json_file.empty() && !common.plot_file.empty()) common.json_file = scratch + "/overlap.json";
  if (!common.json_file.empty() && !write_overlap_json(options, field, figures, bars)) {
    std::fprintf(stderr, "mercutio bench overlap: %s can't be written\n", common.json_file.c_str());
    code = 1;
  }
  if (!common.plot_file.empty() && plot(common.json_file, common.plot_file) != 0) code = 1;
  return code;
}

int run(const OverlapOptions& options) {
  stop_on_signals();   // what there is until then is still shown
  const Scratch programs(std::filesystem::temp_directory_path().string()), data(options.common.directory);
  if (programs.path().empty() || data.path().empty() || !make_servers(data.path())) {
    std::fprintf(stderr, "mercutio bench overlap: no directory can be made in %s\n",
                 programs.path().empty() ? "the temporary directory" : options.common.directory.c_str());
    return 1;
  }
  if (find_rank_library(kStorage).empty()) {
    std::fprintf(stderr, "mercutio bench overlap: %s is not installed beside the command (libexec/mercutio)\n",
                 kStorage);
    return 1;
  }
  BenchOptions posting = options.common;
  posting.ranks = options.posting_ranks;
  Field field = find_contenders(options.common, with_servers(overlap_program(), options, data.path()), programs.path());
  const Field posting_field = find_contenders(posting, overlap_program(), programs.path());
  for (const std::string& remark : posting_field.remarks) {
    const bool known = std::find(field.remarks.begin(), field.remarks.end(), remark) != field.remarks.end();
    if (!known) field.remarks.push_back("posting: " + remark);
  }
  print_header(options, field);
  if (field.contenders.empty()) {
    std::fprintf(stderr, "mercutio bench overlap: there is no MPI to measure\n");
    return 1;
  }
  return finish(options, field, measure_overlap(options, field, posting_field, data.path()), programs.path());
}

}  // namespace

int bench_overlap(const OverlapOptions& given) {
  OverlapOptions options = given;
  BenchOptions& common = options.common;
  if (!common.from_file.empty()) return plot(common.from_file, common.plot_file);
  if (common.bytes == 0) common.bytes = common.quick ? 1 << 20 : 8 << 20;
  if (common.bytes < 4096 || common.bytes > (1u << 30)) {
    std::fprintf(stderr, "mercutio bench overlap: --bytes has to be 4KiB to 1GiB\n");
    return 2;
  }
  if (options.rate == 0 || options.stripe == 0) {
    std::fprintf(stderr, "mercutio bench overlap: --rate and --stripe have to be more than 0\n");
    return 2;
  }
  if (common.io.empty()) common.io = {"host", "mercutio"};
  return run(options);
}

}  // namespace mercutio::tool
