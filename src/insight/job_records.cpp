#include "insight/job_records.h"

#include <charconv>
#include <cmath>

#include "base/utf8.h"

namespace mercutio {
namespace {

constexpr int kDeepest = 32;
constexpr double kMostSeconds = 366.0 * 86400;   // of a run; what is more would outweigh all other jobs
constexpr i64 kMostRanks = 100'000'000;
constexpr unsigned kNoCharacter = 0xFFFD;   // the replacement character
constexpr i64 kMostNumber = i64{1} << 60;

// Reads values in the order in which they stand. After a failure everything fails.
class Reader {
 public:
  explicit Reader(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}
  bool good() const { return good_; }
  bool at_end() { return next() == '\0' && at_ == end_; }

  std::string text() {
    std::string value;
    if (!take('"')) return value;
    while (good_ && at_ < end_ && *at_ != '"') {
      const char* const plain = at_;
      while (at_ < end_ && *at_ != '"' && *at_ != '\\') ++at_;
      value.append(plain, at_);
      if (at_ < end_ && *at_ == '\\') value += escaped();
    }
    (void)(at_ < end_ ? ++at_ : fail());
    return value.find("\\x") == std::string::npos ? value : unescaped_bytes(value);
  }
  double number() {
    double value = 0;
    (void)next();
    const auto [stop, error] = std::from_chars(at_, end_, value);
    if (error != std::errc() || !std::isfinite(value)) return fail(), 0;
    at_ = stop;
    return value;
  }
  i64 whole() {
    const double value = number();
    return std::abs(value) < static_cast<double>(kMostNumber) ? static_cast<i64>(value) : (fail(), 0);
  }
  bool truth() {
    const bool value = next() == 't';
    word(value ? "true" : "false");
    return value && good_;
  }
  // Calls member(key) for each; it takes the value.
  template <class Member>
  void object(Member member) {
    list('{', '}', [&] {
      const std::string key = text();
      if (take(':')) member(key);
    });
  }
  template <class Element>
  void array(Element element) {
    list('[', ']', element);
  }
  void skip() {
    switch (next()) {
      case '"': return (void)text();
      case '{': return object([this](const std::string&) { skip(); });
      case '[': return array([this] { skip(); });
      case 't': return word("true");
      case 'f': return word("false");
      case 'n': return word("null");
      default: (void)number();
    }
  }

 private:
  const char* fail() {
    good_ = false;
    return at_ = end_;
  }
  char next() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
    return at_ < end_ ? *at_ : '\0';
  }
  bool take(char wanted) {
    if (next() != wanted || at_ == end_) return fail(), false;
    ++at_;
    return true;
  }
  template <class Element>
  void list(char open, char close, Element element) {
    if (++depth_ > kDeepest) fail();
    if (!take(open)) return;
    while (good_ && next() != close) {
      element();
      if (next() == close) break;
      if (!take(',')) return;
    }
    take(close);
    --depth_;
  }
  void word(std::string_view wanted) {
    if (std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(wanted))
      at_ += wanted.size();
    else
      fail();
  }
  std::string escaped() {
    if (end_ - at_ < 2) return fail(), "";
    const char what = at_[1];
    at_ += 2;
    switch (what) {
      case 'n': return "\n";
      case 't': return "\t";
      case 'r': return "\r";
      case 'b': return "\b";
      case 'f': return "\f";
      case 'u': break;
      default: return std::string(1, what);
    }
    unsigned code = code_unit();
    const bool high = code >= 0xD800 && code < 0xDC00, low = code >= 0xDC00 && code < 0xE000;
    if (high && end_ - at_ >= 6 && at_[0] == '\\' && at_[1] == 'u') {
      const char* const after_first = at_;
      at_ += 2;
      const unsigned second = code_unit();
      const bool pair = good_ && second >= 0xDC00 && second < 0xE000;
      if (pair) return in_utf8(0x10000 + ((code - 0xD800) << 10) + (second - 0xDC00));
      if (good_) at_ = after_first;
    }
    return good_ ? in_utf8(high || low ? kNoCharacter : code) : "";   // half a pair stands for nothing
  }
  unsigned code_unit() {
    unsigned code = 0;
    const auto [stop, error] = end_ - at_ < 4 ? std::from_chars_result{at_, std::errc::invalid_argument} : std::from_chars(at_, at_ + 4, code, 16);
    if (error != std::errc() || stop != at_ + 4) return fail(), 0;
    at_ = stop;
    return code;
  }
  static std::string in_utf8(unsigned code) {
    const auto part = [](unsigned bits) { return static_cast<char>(bits); };
    const auto next = [&](unsigned shift) { return part(0x80 | (code >> shift & 0x3F)); };
    if (code < 0x80) return {part(code)};
    if (code < 0x800) return {part(0xC0 | code >> 6), next(0)};
    if (code < 0x10000) return {part(0xE0 | code >> 12), next(6), next(0)};
    return {part(0xF0 | code >> 18), next(12), next(6), next(0)};
  }

  const char *at_, *end_;
  int depth_ = 0;
  bool good_ = true;
};

RecordedFinding read_finding(Reader& reader) {
  RecordedFinding one;
  reader.object([&](const std::string& key) {
    if (key == "id") one.id = reader.text();
    else if (key == "file") one.file = reader.text();
    else if (key == "file_system") one.file_system = reader.text();
    else if (key == "seconds") one.seconds = reader.number();
    else if (key == "factor") one.factor = reader.number();
    else if (key == "at_most") one.at_most = reader.truth();
    else reader.skip();
  });
  return one;
}

RecordedFiles read_files(Reader& reader) {
  RecordedFiles one;
  reader.object([&](const std::string& key) {
    if (key == "name") one.name = reader.text();
    else if (key == "file_system") one.file_system = reader.text();
    else if (key == "library") one.library = reader.text();
    else if (key == "files") one.files = reader.whole();
    else if (key == "read") one.read = reader.whole();
    else if (key == "written") one.written = reader.whole();
    else if (key == "seconds") one.seconds = reader.number();
    else reader.skip();
  });
  return one;
}

bool believable(double seconds, i64 ranks = 1) {
  return seconds >= 0 && seconds <= kMostSeconds * static_cast<double>(ranks);
}

bool believable(const RecordedJob& job) {
  bool good = job.start >= 0 && job.start < 253402300800 && job.ranks > 0 && job.ranks <= kMostRanks && job.ranks_known >= 0 && job.nodes >= 0 && job.read >= 0 && job.written >= 0;
  good = good && believable(job.seconds) && believable(job.io_share) && believable(job.io_seconds, job.ranks);   // of all ranks, also below
  for (const RecordedFinding& one : job.findings) good = good && believable(one.seconds) && !one.id.empty();
  for (const RecordedFiles& one : job.files) good = good && believable(one.seconds, job.ranks) && one.read >= 0 && one.written >= 0;
  return good;
}

}  // namespace

std::optional<RecordedJob> parse_job_line(std::string_view line) {
  Reader reader(line);
  RecordedJob job;
  std::string format;
  i64 version = 0;
  const std::pair<std::string_view, std::string*> texts[] = {{"format", &format}, {"job", &job.job}, {"user", &job.user}, {"program", &job.program}};
  const std::pair<std::string_view, i64*> numbers[] = {{"version", &version}, {"uid", &job.uid},         {"start", &job.start}, {"ranks", &job.ranks},
                                                       {"ranks_known", &job.ranks_known}, {"nodes", &job.nodes}, {"read", &job.read}, {"written", &job.written}, {"file_count", &job.file_count}};
  const std::pair<std::string_view, double*> times[] = {{"seconds", &job.seconds}, {"io_seconds", &job.io_seconds}, {"io_share", &job.io_share}};
  reader.object([&](const std::string& key) {
    for (const auto& [name, value] : texts)
      if (key == name) return void(*value = reader.text());
    for (const auto& [name, value] : numbers)
      if (key == name) return void(*value = reader.whole());
    for (const auto& [name, value] : times)
      if (key == name) return void(*value = reader.number());
    if (key == "findings") return reader.array([&] { job.findings.push_back(read_finding(reader)); });
    if (key == "files") return reader.array([&] { job.files.push_back(read_files(reader)); });
    reader.skip();
  });
  const bool ours = reader.good() && reader.at_end() && format == "mercutio-job" && version == 1;
  return ours && believable(job) ? std::optional(std::move(job)) : std::nullopt;
}

}  // namespace mercutio
