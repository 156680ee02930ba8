// The table, with IOR's columns, and the same as JSON.
#include <algorithm>
#include <cstdio>
#include <fstream>

#include "common.h"
#include "insight/job_summary.h"
#include "process.h"
#include "report.h"

namespace mercutio::tool {
namespace {

enum { kWorst = 15 };
constexpr double kNoise = 0.03;   // a case that is slower by less is as fast as the other library's

std::string ratio(const std::optional<double>& value) {
  return value ? fixed(*value, 2) : "-";
}

std::string remark_of(const Row& row) {
  std::string text;
  if (row.wrong > 0) text += " WRONG DATA";
  if (row.holes > 0) text += " rubbish in holes";
  if (row.died) text += " ENDED EARLY";
  if (row.moves_too_much()) text += " MOVES TOO MUCH";
  return text;
}

void print_bandwidths(const Field& field, const Report& report) {
  std::printf("%-27s %-5s %-23s %11s %8s %8s %8s %8s %9s %6s %7s %7s\n", "case", "op", "MPI/io", "bw(MiB/s)", "open(s)",
              "view(s)", "wr/rd(s)", "close(s)", "total(s)", "limit", "x host", "x best");
  for (const Row& row : report.rows) {
    if (row.point.operation == "latency" || row.point.operation == "moved") continue;
    const Sample& median = row.median;
    const std::string total = (row.timed_out ? ">" : "") + fixed(median.seconds, row.timed_out && median.seconds >= 1 ? 0 : 4);
    const std::string bandwidth = row.timed_out || row.died ? "-" : fixed(row.bandwidth, 2);
    std::printf("%-27s %-5s %-23s %11s %8.4f %8.4f %8.4f %8.4f %9s %6s %7s %7s%s\n", row.point.name.c_str(),
                row.point.operation.c_str(), field.contenders[row.contender].name().c_str(), bandwidth.c_str(),
                median.open, median.view, std::max(0.0, median.access - median.view), median.close, total.c_str(),
                ratio(row.of_limit).c_str(), ratio(row.of_host).c_str(), ratio(row.of_best).c_str(),
                remark_of(row).c_str());
  }
}

void print_latencies(const Field& field, const Report& report) {
  bool any = false;
  for (const Row& row : report.rows) {
    if (row.point.operation != "latency") continue;
    if (!any) std::printf("\n%-28s %-23s %12s %7s %7s\n", "latency", "MPI/io", "us a call", "x host", "x best");
    any = true;
    const std::string cost = row.timed_out ? ">limit" : fixed(row.cost * 1e6, 1);
    std::printf("%-28s %-23s %12s %7s %7s%s\n", row.point.name.substr(8).c_str(),
                field.contenders[row.contender].name().c_str(), cost.c_str(), ratio(row.of_host).c_str(),
                ratio(row.of_best).c_str(), remark_of(row).c_str());
  }
}

void print_moved(const Field& field, const Report& report) {
  bool any = false;
  for (const Row& row : report.rows) {
    if (row.point.operation != "moved") continue;
    if (!any) std::printf("\n%-36s %-23s %11s %11s %8s\n", "bytes read by storage", "MPI/io", "asked(KiB)", "read(KiB)", "x asked");
    any = true;
    std::printf("%-36s %-23s %11.0f %11.0f %8s  %s%s\n", row.point.name.substr(6).c_str(), field.contenders[row.contender].name().c_str(),
                row.median.bytes / 1024, row.median.moved / 1024, row.timed_out ? ">limit" : ratio(row.of_asked).c_str(), row.where.c_str(),
                remark_of(row).c_str());
  }
}

void print_worst(const Field& field, const Report& report) {
  std::vector<const Row*> rows;
  for (const Row& row : report.rows) {
    if (row.of_host || row.of_best) rows.push_back(&row);
  }
  if (rows.empty()) return;
  const auto key = [](const Row* row) { return row->of_host ? *row->of_host : *row->of_best; };
  std::sort(rows.begin(), rows.end(), [&](const Row* a, const Row* b) { return key(a) < key(b); });
  if (rows.size() > kWorst) rows.resize(kWorst);
  std::printf("\nMercutio's weakest cases, against the host's own I/O\n");
  for (const Row* row : rows) {
    std::printf("  %-26s %-7s %-18s x host %6s  x best %6s  of limit %5s\n", row->point.name.c_str(),
                row->point.operation.c_str(), field.contenders[row->contender].mpi.c_str(), ratio(row->of_host).c_str(),
                ratio(row->of_best).c_str(), ratio(row->of_limit).c_str());
  }
}

void print_against(const Field& field, const Report& report) {
  std::vector<const Row*> rows;
  int compared = 0;
  for (const Row& row : report.rows) {
    compared += row.of_against.has_value();
    if (row.of_against && *row.of_against < 1 - kNoise) rows.push_back(&row);
  }
  if (compared == 0) return;
  std::sort(rows.begin(), rows.end(), [](const Row* a, const Row* b) { return *a->of_against < *b->of_against; });
  std::printf("\n%zu of %d cases are more than %.0f %% slower than with the other library\n", rows.size(), compared, 100 * kNoise);
  for (const Row* row : rows) {
    std::printf("  %-26s %-7s %-18s x against %5s\n", row->point.name.c_str(), row->point.operation.c_str(),
                field.contenders[row->contender].mpi.c_str(), ratio(row->of_against).c_str());
  }
}

void json_row(std::ostream& out, const Contender& contender, const Row& row) {
  out << "{\"case\": " << json_text(row.point.name) << ", \"op\": " << json_text(row.point.operation)
      << ", \"mpi\": " << json_text(contender.mpi) << ", \"io\": " << json_text(contender.io);
  const Sample& median = row.median;
  json_number(out, "open_s", median.open);
  json_number(out, "view_s", median.view);
  json_number(out, "access_s", median.access);
  json_number(out, "close_s", median.close);
  json_number(out, "total_s", median.seconds);
  json_number(out, "later_s", median.later);
  json_number(out, "bytes", median.bytes);
  json_number(out, "moved", median.moved);
  json_number(out, "mib_s", row.bandwidth);
  json_number(out, "cost_s", row.cost);
  json_number(out, "of_limit", row.of_limit);
  json_number(out, "of_host", row.of_host);
  json_number(out, "of_best", row.of_best);
  json_number(out, "of_against", row.of_against);
  json_number(out, "of_asked", row.of_asked);
  out << ", \"wrong\": " << row.wrong << ", \"holes\": " << row.holes << ", \"samples\": " << row.samples
      << ", \"timed_out\": " << (row.timed_out ? "true" : "false") << ", \"died\": " << (row.died ? "true" : "false");
}

}  // namespace

void print_report(const Field& field, const Report& report, const Measurements& measurements) {
  print_bandwidths(field, report);
  print_latencies(field, report);
  print_moved(field, report);
  print_worst(field, report);
  print_against(field, report);
  if (!report.means.empty()) std::printf("\ngeometric means: of the noncontiguous collective cases, and of the calls of IOR\n");
  for (const Mean& mean : report.means) std::printf("  %-44s %7.2f  (%d)\n", mean.what.c_str(), mean.value, mean.cases);
  for (const std::string& trouble : measurements.troubles) std::printf("note: %s\n", trouble.c_str());
  std::printf("%d failure%s of Mercutio\n", report.failures, report.failures == 1 ? "" : "s");
}

bool write_json(const BenchOptions& options, const Field& field, const Report& report,
                const Measurements& measurements) {
  std::ofstream out(options.json_file);
  out.precision(9);
  out << "{\"version\": " << json_text(MERCUTIO_VERSION_TEXT) << ", \"directory\": " << json_text(options.directory)
      << ", \"ranks\": " << options.ranks << ", \"repetitions\": " << options.repetitions
      << ", \"limit_seconds\": " << options.limit_seconds << ",\n \"remarks\": [";
  for (std::size_t i = 0; i < field.remarks.size(); ++i) out << (i ? ", " : "") << json_text(field.remarks[i]);
  out << "],\n \"rows\": [";
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    const Row& row = report.rows[i];
    out << (i ? ",\n  " : "\n  ");
    json_row(out, field.contenders[row.contender], row);
    const int point = static_cast<int>(std::find(measurements.points.begin(), measurements.points.end(), row.point) -
                                       measurements.points.begin());
    out << ", \"seconds\": [";
    const char* comma = "";
    for (const Sample& sample : measurements.samples.at({point, row.contender})) {
      out << comma << sample.seconds;
      comma = ", ";
    }
    out << "]}";
  }
  out << "],\n \"geometric_means\": {";
  for (std::size_t i = 0; i < report.means.size(); ++i) {
    out << (i ? ", " : "") << json_text(report.means[i].what) << ": " << report.means[i].value;
  }
  out << "}}\n";
  return out.flush() || discard(options.json_file);
}

}  // namespace mercutio::tool
