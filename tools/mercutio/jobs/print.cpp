// As text, JSON, and a page without scripts, pictures or anything from a network. Names are of users and may hold anything.
#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "base/utf8.h"
#include "insight/findings.h"
#include "insight/job_summary.h"
#include "insight/rules.h"
#include "jobs/jobs.h"

namespace mercutio::tool {
namespace {

std::string plain(const std::string& text, i64 longest) {
  return last_columns(printable(text), longest);
}

std::string share_text(double part, double all) {
  char text[24];
  std::snprintf(text, sizeof text, "%.1f %%", all > 0 ? 100 * part / all : 0.0);
  return text;
}

std::string left_out_text(const Records& records) {
  std::string text;
  const std::pair<i64, const char*> counts[] = {{records.foreign, "of another kind"},
                                                {records.damaged, "damaged or of another version"},
                                                {records.unreadable, "not readable"},
                                                {records.not_the_owners, "whose owner is not its user"}};
  for (const auto& [count, what] : counts)
    if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  return text.empty() ? text : "left out: " + text;
}

std::string count_text(i64 count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string headline(const JobsSummary& summary) {
  if (summary.jobs == 0) return "no job";
  const JobsRow& all = summary.all;
  return count_text(summary.jobs, "job") + " of " + count_text(summary.users, "user") + ", " + day_of(summary.first) + " to " + day_of(summary.last) + ": " +
         hours_text(all.rank_hours) + " rank hours, " + share_text(all.io_rank_hours, all.rank_hours) + " of them in I/O; remedies would win " +
         hours_text(all.lost_rank_hours) + " (" + share_text(all.lost_rank_hours, all.rank_hours) + ")" +
         (all.most_rank_hours > all.lost_rank_hours ? ", at most " + hours_text(all.most_rank_hours) + " where other ranks wait unseen" : "");
}

std::string lost_text(const JobsRow& row) {
  return row.lost_rank_hours > 0 || row.most_rank_hours == 0 ? hours_text(row.lost_rank_hours) : "<= " + hours_text(row.most_rank_hours);
}

std::string title_of(const std::string& finding) {
  for (const Rule& rule : rules())
    if (finding == rule.id) return rule.title;
  return "";
}

std::string html(const std::string& text) {
  std::string out;
  for (const char c : plain(text, 300)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

constexpr const char* kStyle =
    "body{font:15px/1.45 sans-serif;max-width:72em;margin:2em auto;padding:0 1em;color:#111;background:#fff}"
    "h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}table{border-collapse:collapse;width:100%}"
    "th,td{text-align:right;padding:.2em .6em;border-bottom:1px solid #ccc}th:first-child,td:first-child,td.left,th.left{text-align:left;overflow-wrap:anywhere}"
    ".bar{display:block;height:.7em;background:#555;border:1px solid #222;min-width:1px}nav a{margin-right:1em}footer{margin-top:2em;color:#444}"
    "@media print{nav{display:none}}";

std::string table_page(const JobsTable& table) {
  double most = 0;
  for (const JobsRow& row : table.rows) most = std::max(most, row.lost_rank_hours);
  std::string out = "<h2 id=\"" + table.key + "\">" + table.title + "</h2>\n<table>\n<tr><th class=\"left\">" + table.key +
                    "</th><th>jobs</th><th>rank hours</th><th>in I/O</th><th>to be won</th><th class=\"left\" style=\"width:18%\"></th><th>data</th><th class=\"left\">most in</th></tr>\n";
  for (const JobsRow& row : table.rows) {
    char width[24];
    std::snprintf(width, sizeof width, "%.1f", most > 0 ? 100 * row.lost_rank_hours / most : 0.0);
    const std::string title = table.key == "finding" ? title_of(row.name) : "";
    out += "<tr><td>" + html(title.empty() ? row.name : title + " [" + row.name + "]") + "</td><td>" + std::to_string(row.jobs) + "</td><td>" + hours_text(row.rank_hours) +
           "</td><td>" + hours_text(row.io_rank_hours) + "</td><td>" + html(lost_text(row)) + "</td><td><span class=\"bar\" style=\"width:" + width +
           "%\"></span></td><td>" + bytes_text(static_cast<double>(row.bytes)) + "</td><td class=\"left\">" + html(row.worst) + "</td></tr>\n";
  }
  return out + "</table>\n";
}

}  // namespace

std::string hours_text(double hours) {
  char text[32];
  std::snprintf(text, sizeof text, hours >= 100 || hours == 0 ? "%.0f" : hours >= 10 ? "%.1f" : "%.2g", hours);
  return text;
}

std::string jobs_text(const JobsSummary& summary, const Records& records) {
  std::string out = "mercutio jobs: " + headline(summary) + "\n";
  for (const JobsTable& table : summary.tables) {
    if (table.rows.empty()) continue;
    char line[128];
    std::snprintf(line, sizeof line, " %8s %12s %10s %10s  %s\n", "jobs", "rank hours", "in I/O", "to be won", "most in");
    out += "\n" + padded(table.title, 44) + line;
    for (const JobsRow& row : table.rows) {
      std::snprintf(line, sizeof line, " %8" PRId64 " %12s %10s %10s  ", row.jobs, hours_text(row.rank_hours).c_str(), hours_text(row.io_rank_hours).c_str(),
                    lost_text(row).c_str());
      out += "  " + padded(plain(row.name, 42), 42) + line + plain(row.worst, 60) + "\n";
    }
  }
  const std::string left_out = left_out_text(records);
  return out + (left_out.empty() ? "" : "\n" + left_out + "\n");
}

std::string jobs_json(const JobsSummary& summary, const Records& records) {
  const auto number = [](double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", value);
    return std::string(text);
  };
  const auto row_of = [&](const JobsRow& row) {
    return "{\"name\":" + json_text(escaped_bytes(row.name)) + ",\"jobs\":" + std::to_string(row.jobs) + ",\"bytes\":" + std::to_string(row.bytes) + ",\"rank_hours\":" +
           number(row.rank_hours) + ",\"io_rank_hours\":" + number(row.io_rank_hours) + ",\"lost_rank_hours\":" + number(row.lost_rank_hours) + ",\"most_rank_hours\":" + number(row.most_rank_hours) + ",\"worst\":" +
           json_text(escaped_bytes(row.worst)) + "}";
  };
  std::string out = "{\"jobs\":" + std::to_string(summary.jobs) + ",\"users\":" + std::to_string(summary.users) + ",\"first\":" + std::to_string(summary.first) +
                    ",\"last\":" + std::to_string(summary.last) + ",\"foreign\":" + std::to_string(records.foreign) + ",\"damaged\":" + std::to_string(records.damaged) +
                    ",\"unreadable\":" + std::to_string(records.unreadable) + ",\"not_the_owners\":" + std::to_string(records.not_the_owners) + ",\"all\":" +
                    row_of(summary.all);
  for (const JobsTable& table : summary.tables) {
    out += ",\"by_" + table.key + "\":[";
    for (std::size_t i = 0; i < table.rows.size(); ++i) out += (i > 0 ? "," : "") + row_of(table.rows[i]);
    out += "]";
  }
  return out + "}\n";
}

std::string jobs_page(const JobsSummary& summary, const Records& records) {
  std::string out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>I/O of all jobs</title><style>" + std::string(kStyle) +
                    "</style></head>\n<body>\n<h1>I/O of all jobs</h1>\n<p>" + html(headline(summary)) + "</p>\n<nav>";
  for (const JobsTable& table : summary.tables) out += "<a href=\"#" + table.key + "\">" + table.title + "</a>";
  out += "</nav>\n";
  for (const JobsTable& table : summary.tables) out += table_page(table);
  return out + "<footer><p>To be won: what the best single remedy of each job would save; at most that where other ranks are not seen to wait. Times are those of a rank, times the ranks of the job. " +
         html(left_out_text(records)) + "</p></footer>\n</body>\n</html>\n";
}

}  // namespace mercutio::tool
