#include "darshan.h"

#include <array>
#include <charconv>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "insight/name_patterns.h"
#include "locate.h"
#include "process.h"
#include "python.h"

namespace mercutio::tool {
namespace {

using Fields = std::vector<std::string>;

Fields fields_of(const std::string& line) {
  Fields fields;
  std::istringstream parts(line);
  for (std::string part; std::getline(parts, part, '\t');) fields.push_back(part);
  return fields;
}

i64 number_in(const std::string& text) {
  i64 value = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void put_totals(FileRecord& record, const std::map<std::string, i64>& totals) {
  visit_totals(record.totals, [&](const std::string& name, const i64& value) {
    if (const auto given = totals.find(name); given != totals.end()) const_cast<i64&>(value) = given->second;   // of `record`
  });
}

// What darshan_log.py prints.
class Reader {
 public:
  bool take(const std::string& line) {
    const Fields fields = fields_of(line);
    const auto is = [&](const char* what, std::size_t least) { return fields.size() >= least && fields[0] == what; };
    if (is("total", 3) && !traces_.empty() && !traces_.back().files.empty()) return totals_[fields[1]] = number_in(fields[2]), true;
    end_file();
    if (is("file", 3) && !traces_.empty()) return begin_file(fields), true;
    if (is("trace", 3)) return begin_trace(number_in(fields[1]), number_in(fields[2])), true;
    if (is("run", 3)) return run_ += fields[1] + "=" + fields[2] + "\n", true;
    if (!is("job", 5)) return line.empty();
    put_text(header_.program, fields[1]);
    header_.ranks = number_in(fields[2]);
    header_.end_ns = header_.last_ns = std::max<i64>(1, number_in(fields[3]));
    header_.wall_start_ns = number_in(fields[4]);
    header_.bin_ns = header_.end_ns;
    return true;
  }
  std::vector<RankTrace> traces() {
    end_file();
    if (!traces_.empty()) traces_.front().texts.push_back(TraceText{TextKind::kRun, -1, 1, run_});
    return std::move(traces_);
  }

 private:
  void begin_trace(i64 rank, i64 members) {
    RankTrace trace;
    trace.header = header_;
    trace.header.rank = trace.header.first_rank = rank;
    trace.header.members = members;
    traces_.push_back(std::move(trace));
  }
  void begin_file(const Fields& fields) {
    FileRecord record;
    put_text(record.name, recorded_name(fields[1], record.name.size() - 1));
    put_text(record.file_system, fields[2]);
    put_text(record.library, fields.size() > 3 ? fields[3] : "");
    traces_.back().files.push_back(record);
  }
  void end_file() {
    if (!totals_.empty()) put_totals(traces_.back().files.back(), totals_);
    totals_.clear();
  }
  PieceHeader header_{};
  std::string run_;
  std::map<std::string, i64> totals_;   // of the last file
  std::vector<RankTrace> traces_;
};

}  // namespace

// A version such as "3.41" in 8 bytes, then a number that also tells the order of bytes.
bool is_darshan_log(const std::string& path) {
  constexpr std::uint64_t kMagic = 6567223;
  std::ifstream in(path, std::ios::binary);
  std::array<char, 16> begin{};
  if (!in.read(begin.data(), begin.size())) return false;
  std::uint64_t magic = 0;
  std::memcpy(&magic, begin.data() + 8, sizeof magic);
  return begin[0] >= '0' && begin[0] <= '9' && begin[1] == '.' && (magic == kMagic || magic == __builtin_bswap64(kMagic));
}

Result<std::vector<RankTrace>> read_darshan_log(const std::string& path) {
  const std::string script = resolved(own_directory() + "/../share/mercutio/report/darshan_log.py"), python = find_python("darshan");
  if (python.empty() || script.empty()) return Error{ErrorClass::kOther, python.empty() ? "a Darshan log needs python3 and PyDarshan" : "darshan_log.py is not installed"};
  const Output output = capture({python, script, path}, 600);
  if (output.exit_code != 0) {   // the last line: Darshan's library speaks, too
    const std::string said = output.text.substr(0, output.text.find_last_not_of('\n') + 1);
    return Error{ErrorClass::kFile, said.substr(said.rfind('\n') + 1)};
  }
  Reader reader;
  std::istringstream lines(output.text);
  for (std::string line; std::getline(lines, line);)
    if (!reader.take(line)) return Error{ErrorClass::kFile, "darshan_log.py says '" + line.substr(0, 80) + "'"};
  std::vector<RankTrace> traces = reader.traces();
  if (traces.empty()) return Error{ErrorClass::kFile, "the log holds no rank"};
  return traces;
}

}  // namespace mercutio::tool
