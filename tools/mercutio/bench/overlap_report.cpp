// The tables of `mercutio bench overlap`, its bars, and the same as JSON.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "common.h"
#include "insight/job_summary.h"
#include "overlap.h"
#include "process.h"

namespace mercutio::tool {
namespace {

constexpr double kTotalLimit = 1.10, kBlockingLimit = 1.06, kPostingLimit = 200e-6;

std::string short_call(const std::string& call) {
  const auto at = call.rfind("_begin");
  return at == std::string::npos ? call : call.substr(0, at) + "_begin/end";
}

// The calls whose computation has to hide behind the I/O.
bool has_to_overlap(const std::string& call) {
  static constexpr const char* kNames[] = {"iwrite_all", "iread_all", "write_all_begin", "read_all_begin", "iwrite"};
  return std::find(std::begin(kNames), std::end(kNames), call) != std::end(kNames);
}

// The row of the same case on the I/O of the MPI itself.
template <typename Row>
const Row* host_of(const Field& field, const std::vector<Row>& rows, const Row& mine) {
  for (const Row& row : rows) {
    const Contender &self = field.contenders[mine.contender], &other = field.contenders[row.contender];
    if (self.ours() && other.io == "host" && other.mpi == self.mpi && row.call == mine.call &&
        row.pattern == mine.pattern && row.bytes == mine.bytes) {
      return &row;
    }
  }
  return nullptr;
}

void print_rows(const Field& field, const OverlapFigures& figures) {
  std::printf("%-23s %-11s %-23s %8s %8s %8s %8s %9s %9s %8s %7s %7s %7s\n", "call", "pattern", "MPI/io", "block(s)",
              "I/O(s)", "comp(s)", "both(s)", "post(ms)", "wait(ms)", "overlap", "total", "tested", "host");
  for (const OverlapRow& row : figures.rows) {
    const OverlapTimes& times = row.times;
    const OverlapRow* host = host_of(field, figures.rows, row);
    std::printf("%-23s %-11s %-23s %8.4f %8.4f %8.4f %8.4f %9.3f %9.3f %8.2f %7.2f %7s %7s%s\n",
                short_call(row.call).c_str(), row.pattern.c_str(), field.contenders[row.contender].name().c_str(),
                times.blocking, times.io, times.compute, times.both, times.both_post * 1e3, times.both_complete * 1e3,
                row.overlap, row.total, times.tested > 0 ? fixed(row.tested_total, 2).c_str() : "-",
                host ? fixed(host->total, 2).c_str() : "-", row.wrong > 0 ? " WRONG DATA" : "");
  }
}

void print_postings(const Field& field, const OverlapFigures& figures) {
  if (figures.postings.empty()) return;
  std::printf("\n%-23s %-11s %-23s %12s %10s %10s %10s %10s\n", "posting", "pattern", "MPI/io", "bytes a rank", "us",
              "least", "most", "host");
  for (const PostingRow& row : figures.postings) {
    const PostingRow* host = host_of(field, figures.postings, row);
    std::printf("%-23s %-11s %-23s %12.0f %10.1f %10.1f %10.1f %10s%s\n", short_call(row.call).c_str(),
                row.pattern.c_str(), field.contenders[row.contender].name().c_str(), row.bytes, row.seconds * 1e6,
                row.least * 1e6, row.most * 1e6, host ? fixed(host->seconds * 1e6, 1).c_str() : "-",
                row.wrong > 0 ? " WRONG DATA" : "");
  }
}

void print_bars(const std::vector<Bar>& bars) {
  if (bars.empty()) return;
  int missed = 0;
  std::printf("\nbars\n");
  for (const Bar& bar : bars) {
    missed += !bar.met();
    std::printf("  %-72s %-16s %8.2f %-2s %s %.2f\n", bar.what.c_str(), bar.mpi.c_str(), bar.measured, bar.unit.c_str(),
                bar.met() ? "<=" : "MISSED, >", bar.limit);
  }
  std::printf("%zu of %zu bars are met\n", bars.size() - static_cast<std::size_t>(missed), bars.size());
}

void json_name(std::ostream& out, const Contender& contender, const std::string& call, const std::string& pattern) {
  out << "{\"call\": " << json_text(short_call(call)) << ", \"pattern\": " << json_text(pattern)
      << ", \"mpi\": " << json_text(contender.mpi) << ", \"io\": " << json_text(contender.io);
}

void json_row(std::ostream& out, const Contender& contender, const OverlapRow& row) {
  const OverlapTimes& times = row.times;
  json_name(out, contender, row.call, row.pattern);
  json_number(out, "bytes", row.bytes);
  json_number(out, "blocking_s", times.blocking);
  json_number(out, "io_s", times.io);
  json_number(out, "io_post_s", times.io_post);
  json_number(out, "io_wait_s", times.io_complete);
  json_number(out, "compute_s", times.compute);
  json_number(out, "both_s", times.both);
  json_number(out, "both_post_s", times.both_post);
  json_number(out, "both_wait_s", times.both_complete);
  json_number(out, "overlap", row.overlap);
  json_number(out, "total", row.total);
  json_number(out, "of_blocking", row.of_blocking);
  const bool tested = times.tested > 0;
  json_number(out, "tested_s", tested ? std::optional<double>(times.tested) : std::nullopt);
  json_number(out, "tested_total", tested ? std::optional<double>(row.tested_total) : std::nullopt);
  out << ", \"wrong\": " << row.wrong << ", \"samples\": " << row.samples << "}";
}

void json_posting(std::ostream& out, const Contender& contender, const PostingRow& row) {
  json_name(out, contender, row.call, row.pattern);
  json_number(out, "bytes", row.bytes);
  json_number(out, "us", row.seconds * 1e6);
  json_number(out, "least_us", row.least * 1e6);
  json_number(out, "most_us", row.most * 1e6);
  out << ", \"wrong\": " << row.wrong << "}";
}

template <typename Rows, typename Print>
void json_list(std::ostream& out, const char* name, const Rows& rows, const Print& print) {
  out << ",\n \"" << name << "\": [";
  const char* comma = "\n  ";
  for (const auto& row : rows) {
    out << comma;
    print(row);
    comma = ",\n  ";
  }
  out << "]";
}

}  // namespace

std::vector<Bar> overlap_bars(const Field& field, const OverlapFigures& figures) {
  std::vector<Bar> bars;
  for (const OverlapRow& row : figures.rows) {
    const Contender& who = field.contenders[row.contender];
    const std::string name = short_call(row.call) + " " + row.pattern;
    if (!who.ours() || !has_to_overlap(row.call)) continue;
    bars.push_back({name + ": with computation, of the longer of the two", who.mpi, "x", row.total, kTotalLimit});
  }
  for (const OverlapRow& row : figures.rows) {
    const Contender& who = field.contenders[row.contender];
    const std::string name = short_call(row.call) + " " + row.pattern;
    if (!who.ours()) continue;
    bars.push_back(
        {name + ": without computation, of the blocking call", who.mpi, "x", row.of_blocking, kBlockingLimit});
  }
  for (const PostingRow& row : figures.postings) {
    const Contender& who = field.contenders[row.contender];
    if (!who.ours() || row.call[0] != 'i') continue;
    const std::string name = row.call + " " + row.pattern + " " + fixed(row.bytes, 0) + " bytes a rank: posting";
    bars.push_back({name, who.mpi, "us", row.seconds * 1e6, kPostingLimit * 1e6});
  }
  return bars;
}

void print_overlap(const Field& field, const OverlapFigures& figures, const std::vector<Bar>& bars) {
  print_rows(field, figures);
  print_postings(field, figures);
  print_bars(bars);
  for (const std::string& trouble : figures.troubles) std::printf("note: %s\n", trouble.c_str());
  std::printf("%d failure%s of Mercutio\n", figures.failures, figures.failures == 1 ? "" : "s");
}

bool write_overlap_json(const OverlapOptions& options, const Field& field, const OverlapFigures& figures,
                        const std::vector<Bar>& bars) {
  std::ofstream out(options.common.json_file);
  out.precision(9);
  out << "{\"kind\": \"overlap\", \"version\": " << json_text(MERCUTIO_VERSION_TEXT)
      << ", \"directory\": " << json_text(options.common.directory) << ", \"ranks\": " << options.common.ranks
      << ", \"posting_ranks\": " << options.posting_ranks << ", \"repetitions\": " << options.common.repetitions
      << ", \"servers\": " << options.servers << ", \"rate\": " << options.rate << ", \"stripe\": " << options.stripe;
  json_list(out, "remarks", field.remarks, [&](const std::string& remark) { out << json_text(remark); });
  json_list(out, "rows", figures.rows,
            [&](const OverlapRow& row) { json_row(out, field.contenders[row.contender], row); });
  json_list(out, "postings", figures.postings,
            [&](const PostingRow& row) { json_posting(out, field.contenders[row.contender], row); });
  json_list(out, "bars", bars, [&](const Bar& bar) {
    out << "{\"bar\": " << json_text(bar.what) << ", \"mpi\": " << json_text(bar.mpi) << ", \"unit\": " << json_text(bar.unit);
    json_number(out, "measured", bar.measured);
    json_number(out, "limit", bar.limit);
    out << ", \"met\": " << (bar.met() ? "true" : "false") << "}";
  });
  out << "}\n";
  return out.flush() || discard(options.common.json_file);
}

}  // namespace mercutio::tool
