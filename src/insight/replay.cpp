#include "insight/replay.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <sstream>
#include <unordered_map>

#include "base/trace.h"
#include "insight/piece_merge.h"
#include "model/flat_node.h"

namespace mercutio {
namespace {

// What a rank's open step says (src/file/tracing.cpp writes it).
struct Opening {
  std::string members, amode, name, hints;
};

Opening opening_of(const std::string& text) {
  Opening opening;
  std::istringstream lines(text);
  std::getline(lines, opening.members);
  std::getline(lines, opening.amode);
  std::getline(lines, opening.name);
  std::replace(opening.name.begin(), opening.name.end(), '\0', '\n');
  for (std::string line; std::getline(lines, line);) opening.hints += line + "\n";
  return opening;
}

// "0-3,8": the ranks, or nothing where it can't be.
std::vector<i64> ranks_in(const std::string& members, i64 rank, i64 ranks) {
  std::vector<i64> all;
  const std::string text = members == "self" ? std::to_string(rank) : members == "world" ? "0-" + std::to_string(ranks - 1) : members;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    i64 first = -1, last = -1;
    const int got = std::sscanf(part.c_str(), "%" SCNd64 "-%" SCNd64, &first, &last);
    if (got == 1) last = first;
    if (got < 1 || first < 0 || last < first || last >= ranks || last - first >= ranks - static_cast<i64>(all.size())) return std::vector<i64>();
    for (i64 one = first; one <= last; ++one) all.push_back(one);
  }
  return all;
}

int amode_bits(const std::string& amode) {
  static constexpr std::pair<const char*, int> kFlags[] = {{"rdonly", 1}, {"wronly", 2}, {"rdwr", 4}, {"create", 8}, {"excl", 16}, {"unique_open", 64}};
  int bits = 0;
  for (const auto& [name, bit] : kFlags) {
    if (("|" + amode + "|").find("|" + std::string(name) + "|") != std::string::npos) bits |= bit;
  }
  return bits;   // the replay needs no file pointers, and keeps its files until the end
}

// A type's constructors in prefix order; tools/replay/types.c reads them.
void write_node(std::ostream& out, const FlatNode& node) {
  using Kind = FlatNode::Kind;
  const auto entries = [&](char name, i64 unit) {
    out << ' ' << name << ' ' << node.entries() << ' ' << node.stride;
    for (i64 i = 0; i < node.entries(); ++i) out << ' ' << node.offset_at(i) << ' ' << node.entry_bytes(i) / unit;
  };
  switch (node.kind) {
    case Kind::kRun:
      out << " r " << node.size;
      return;
    case Kind::kStrided:
      out << " s " << node.count << ' ' << node.stride;
      return write_node(out, *node.child);
    case Kind::kRuns:
      return entries('i', 1);
    case Kind::kBlocks:
      entries('b', node.child->size);
      return write_node(out, *node.child);
    case Kind::kStruct:
      entries('t', 1);
      for (const FlatNodeRef& child : node.children) write_node(out, *child);
  }
}

std::string type_line(const FlatType& type) {
  std::ostringstream out;
  out << type.lb() << ' ' << type.extent() << ' ' << type.size();
  if (type.size() > 0) {
    out << ' ' << type.offset_of(0);
    write_node(out, type.root());
  }
  return out.str();
}

// Every distinct value once, numbered from 0.
class Numbered {
 public:
  i64 number(const std::string& value) {
    const auto [place, fresh] = numbers_.emplace(value, static_cast<i64>(values_.size()));
    if (fresh) values_.push_back(&place->first);
    return place->second;
  }
  const std::vector<const std::string*>& values() const { return values_; }

 private:
  std::map<std::string, i64> numbers_;
  std::vector<const std::string*> values_;
};

// One rank's steps while it is worked out how many of them can be repeated.
struct RankSteps {
  const RankTrace* trace = nullptr;
  std::vector<i64> opens;                   // by the number of the open on this rank: its number in the job, -1 not there
  std::vector<Opening> openings;
  std::unordered_map<i64, i64> together;    // open in the job -> collective calls
  std::size_t whole = 0;                    // steps that are repeated to their end
  std::uint32_t rest = 0;                   // and the number of calls of the next one
  std::uint32_t calls(std::size_t step) const { return step < whole ? trace->steps[step].repeats : step == whole ? rest : 0; }
};

bool is_collective(const StepRecord& step) { return (step.flags & kStepCollective) != 0; }
StepKind kind_of(const StepRecord& step) { return static_cast<StepKind>(step.kind); }

class Maker {
 public:
  explicit Maker(const Job& job) : job_(job) {}

  Result<Replay> make() {
    if (!job_.single_ranks()) return Error{ErrorClass::kFile, "of more than " + std::to_string(kMostPieces) + " ranks it has no steps"};
    if (static_cast<i64>(job_.traces.size()) != job_.ranks)
      return Error{ErrorClass::kFile, "it has only " + std::to_string(job_.traces.size()) + " of the job's " + std::to_string(job_.ranks) + " ranks"};
    for (const RankTrace& trace : job_.traces) MERCUTIO_TRY(read_rank(trace));
    cut_to_common_calls();
    replay_.ranks = job_.ranks;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) write_rank(static_cast<i64>(rank));
    if (replay_.files.empty()) return Error{ErrorClass::kFile, why_.empty() ? "it holds no opens of files" : why_};
    write_head();
    for (const std::string& name : names_) {
      for (const JobFile& file : job_.files) {
        const bool cut = file.name.size() + 1 == sizeof(FileRecord::name) && name.ends_with(file.name);
        if (name == file.name || cut)
          replay_.files[static_cast<std::size_t>(file_number_.at(name))].file_system = file.file_system;
      }
    }
    if (left_out_ > 0) replay_.missing = std::to_string(left_out_) + " calls are not repeated: " + why_;
    return std::move(replay_);
  }

 private:
  // Steps up to the first that can't be understood; each open gets its number in the job.
  Status read_rank(const RankTrace& trace) {
    RankSteps mine;
    mine.trace = &trace;
    std::map<std::string, i64> seen;
    left_out_ += trace.header.steps_left_out;
    if (trace.header.steps_left_out > 0) {
      why_ = "the trace has room for " + std::to_string(trace.steps.size()) + " steps of rank " + std::to_string(trace.header.rank);
      if (trace.header.shapes_left_out > 0) why_ = "the datatypes of rank " + std::to_string(trace.header.rank) + " are too large for the trace";
    }
    for (; mine.whole < trace.steps.size(); ++mine.whole) {
      const StepRecord& step = trace.steps[mine.whole];
      const bool described = kind_of(step) == StepKind::kOpen || kind_of(step) == StepKind::kView;
      if (described && (step.shape < 0 || step.shape >= static_cast<i64>(trace.shapes.size()))) break;
      if (kind_of(step) == StepKind::kOpen && !enter_open(step, mine, seen)) break;
      if (kind_of(step) == StepKind::kWait) continue;
      if (step.open >= mine.opens.size() || mine.opens[step.open] < 0) return Error{ErrorClass::kFile, "it is damaged: a call on a file that isn't open"};
      if (is_collective(step)) mine.together[mine.opens[step.open]] += step.repeats;
    }
    for (std::size_t i = mine.whole; i < trace.steps.size(); ++i) left_out_ += trace.steps[i].repeats;
    ranks_.push_back(std::move(mine));
    return ok_status();
  }

  bool enter_open(const StepRecord& step, RankSteps& mine, std::map<std::string, i64>& seen) {
    const i64 rank = static_cast<i64>(ranks_.size());
    Opening opening = opening_of(mine.trace->shapes[static_cast<std::size_t>(step.shape)].text);
    const std::vector<i64> members = ranks_in(opening.members, rank, job_.ranks);
    if (members.empty() || step.open > mine.trace->steps.size() + 64) {
      why_ = "'" + opening.name + "' was opened together with processes outside MPI_COMM_WORLD";
      return false;
    }
    std::string key = opening.members + (opening.members == "self" ? " " + std::to_string(rank) : "") + "\n" + opening.name;
    key += "\n" + std::to_string(seen[key]++);
    const auto [place, fresh] = job_opens_.emplace(key, static_cast<i64>(job_opens_.size()));
    if (fresh) members_.push_back(static_cast<i64>(members.size()));
    if (mine.opens.size() <= step.open) mine.opens.resize(step.open + 1, -1), mine.openings.resize(step.open + 1);
    mine.opens[step.open] = place->second;
    mine.openings[step.open] = std::move(opening);
    return true;
  }

  // By open: collective calls that all who took part have.
  std::map<i64, i64> common_calls() const {
    std::map<i64, i64> fewest, told;
    for (const RankSteps& rank : ranks_) {
      for (const auto& [open, calls] : rank.together) {
        const auto [place, fresh] = fewest.emplace(open, calls);
        if (!fresh) place->second = std::min(place->second, calls);
        ++told[open];
      }
    }
    for (auto& [open, calls] : fewest) {
      if (told[open] < members_[static_cast<std::size_t>(open)]) calls = 0;
    }
    return fewest;
  }

  // Cuts ranks until each collective call is there for all who took part in it.
  void cut_to_common_calls() {
    for (bool changed = true; changed;) {
      const std::map<i64, i64> fewest = common_calls();
      changed = false;
      for (RankSteps& rank : ranks_) changed = cut(rank, fewest) || changed;
    }
  }

  bool cut(RankSteps& rank, const std::map<i64, i64>& fewest) {
    const bool over = std::any_of(rank.together.begin(), rank.together.end(), [&](const auto& one) { return one.second > fewest.at(one.first); });
    if (!over) return false;
    if (why_.empty()) why_ = "the trace does not hold the same collective calls for all ranks";
    rank.together.clear();
    const std::size_t before = rank.whole + (rank.rest > 0 ? 1 : 0);
    std::uint32_t last = rank.rest;
    rank.rest = 0;
    for (std::size_t i = 0; i < before; ++i) {
      const StepRecord& step = rank.trace->steps[i];
      const std::uint32_t calls = i < rank.whole ? step.repeats : last;
      if (!is_collective(step) || kind_of(step) == StepKind::kWait) continue;
      i64& together = rank.together[rank.opens[step.open]];
      const i64 room = fewest.at(rank.opens[step.open]) - together;
      together += std::min<i64>(room, calls);
      if (room >= calls) continue;
      left_out_ += calls - room;
      for (std::size_t later = i + 1; later < before; ++later) left_out_ += later < rank.whole ? rank.trace->steps[later].repeats : last;
      rank.whole = i;
      rank.rest = static_cast<std::uint32_t>(std::max<i64>(0, room));
      return true;
    }
    return true;
  }

  void write_rank(i64 number) {
    const RankSteps& rank = ranks_[static_cast<std::size_t>(number)];
    std::ostringstream out;
    Views views;
    for (std::size_t i = 0; i <= rank.whole && i < rank.trace->steps.size(); ++i) {
      const std::uint32_t calls = rank.calls(i);
      if (calls > 0) write_step(out, rank, i, views);
    }
    replay_.starts.push_back(static_cast<i64>(replay_.body.size()));
    replay_.body += out.str() + "q\n";
  }

  struct CurrentView {
    FlatTypeRef type;
    i64 displacement = 0, etype_bytes = 1;
  };

  struct Views {
    std::unordered_map<i64, CurrentView> of;  // by open
    Numbered types;                    // each is in the rank's part once: irregular ones are large, and its own
  };

  void write_view(std::ostream& out, const StepRecord& step, i64 open, i64 think_us, Views& views) {
    const std::size_t known = views.types.values().size();
    const std::string line = type_line(*views.of[open].type);
    const i64 type = views.types.number(line);
    if (views.types.values().size() > known) out << "y " << line << '\n';
    out << "v " << open << ' ' << step.offset << ' ' << step.bytes << ' ' << type << ' ' << think_us << '\n';
  }

  void write_step(std::ostream& out, const RankSteps& rank, std::size_t index, Views& views) {
    const StepRecord& step = rank.trace->steps[index];
    const std::uint32_t calls = rank.calls(index);
    const i64 open = kind_of(step) == StepKind::kWait ? 0 : rank.opens[step.open];
    const i64 think_us = step.think_ns / 1000 / step.repeats;
    switch (kind_of(step)) {
      case StepKind::kOpen:
        views.of[open] = CurrentView{contiguous_bytes(), 0, 1};
        return write_open(out, open, rank.openings[step.open], think_us);
      case StepKind::kView:
        views.of[open] = CurrentView{type_of(rank, step), step.offset, step.bytes};
        return write_view(out, step, open, think_us, views);
      case StepKind::kAccess:
        replay_.calls += calls;
        if (!(step.flags & kStepWrite)) need(rank.openings[step.open].name, views.of[open], step, calls);
        out << "a " << open << ' ' << int{step.flags} << ' ' << step.offset << ' ' << step.bytes << ' ' << calls << ' ' << step.stride << ' ' << think_us << '\n';
        return;
      case StepKind::kWait:
        out << "w " << calls << ' ' << think_us << '\n';
        return;
      case StepKind::kSync:
        out << "s " << open << ' ' << calls << ' ' << think_us << '\n';
        return;
      case StepKind::kEnd:
        out << "e " << open << ' ' << think_us << '\n';
        return;
      case StepKind::kClose:
        out << "c " << open << ' ' << think_us << '\n';
        return;
      case StepKind::kAtomicity:
        out << "t " << open << ' ' << step.offset << ' ' << think_us << '\n';
        return;
      case StepKind::kSetSize:
      case StepKind::kPreallocate:
        out << (kind_of(step) == StepKind::kSetSize ? "z " : "p ") << open << ' ' << step.bytes << ' ' << think_us << '\n';
    }
  }

  FlatTypeRef type_of(const RankSteps& rank, const StepRecord& step) const {
    const std::string& text = rank.trace->shapes[static_cast<std::size_t>(step.shape)].text;
    auto type = FlatType::deserialize(ConstBytes(reinterpret_cast<const std::byte*>(text.data()), text.size()));
    return type ? *type : contiguous_bytes();
  }

  void write_open(std::ostream& out, i64 open, const Opening& opening, i64 think_us) {
    const int bits = amode_bits(opening.amode);
    const i64 group = opening.members == "self" ? -1 : groups_.number(opening.members);
    const auto [place, fresh] = file_number_.emplace(opening.name, static_cast<i64>(replay_.files.size()));
    if (fresh) {
      replay_.files.push_back({opening.name, (bits & 8) ? -1 : 0, ""});
      names_.push_back(opening.name);
    }
    out << "o " << open << ' ' << place->second << ' ' << group << ' ' << infos_.number(opening.hints) << ' ' << bits << ' ' << think_us << '\n';
  }

  // A file that the program found there must reach as far as it was read.
  void need(const std::string& name, const CurrentView& view, const StepRecord& step, std::uint32_t calls) {
    ReplayFile& file = replay_.files[static_cast<std::size_t>(file_number_.at(name))];
    if (file.needed_bytes < 0 || step.bytes == 0 || view.type->size() == 0) return;
    const i64 last = std::max(step.offset, step.offset + step.stride * (i64{calls} - 1));
    i64 end = 0;
    if (__builtin_mul_overflow(last, view.etype_bytes, &end) || __builtin_add_overflow(end, step.bytes, &end) || end > view.type->stream_bytes()) return;
    if (__builtin_add_overflow(view.type->offset_of(end - 1), i64{1}, &end) || __builtin_add_overflow(end, view.displacement, &end)) return;
    file.needed_bytes = std::max(file.needed_bytes, end);
  }

  void write_head() {
    std::ostringstream out;
    out << "groups " << groups_.values().size() << '\n';
    for (const std::string* members : groups_.values()) {
      const std::vector<i64> ranks = ranks_in(*members, 0, job_.ranks);
      out << ranks.size();
      for (const i64 rank : ranks) out << ' ' << rank;
      out << '\n';
    }
    out << "infos " << infos_.values().size() << '\n';
    for (const std::string* hints : infos_.values()) out << std::count(hints->begin(), hints->end(), '\n') << '\n' << *hints;
    replay_.head = out.str();
  }

  const Job& job_;
  Replay replay_;
  std::vector<RankSteps> ranks_;
  std::map<std::string, i64> job_opens_, file_number_;
  std::vector<std::string> names_;
  std::vector<i64> members_;  // by open: how many ranks
  Numbered groups_, infos_;
  i64 left_out_ = 0;
  std::string why_;
};

constexpr std::uint64_t kHashStart = 14695981039346656037u;

void mix(std::uint64_t& hash, const std::string& text) {
  for (const unsigned char c : text) hash = (hash ^ c) * 1099511628211u;
  hash = (hash ^ 0xff) * 1099511628211u;
}

}  // namespace

Result<Replay> make_replay(const Job& job) { return Maker(job).make(); }

std::string script_of(const Replay& replay, const std::vector<std::string>& names) {
  std::ostringstream out;
  out << "mercutio-replay 1\nranks " << replay.ranks << "\nfiles " << names.size() << '\n';
  for (std::size_t i = 0; i < names.size(); ++i) out << replay.files[i].needed_bytes << ' ' << names[i] << '\n';
  out << replay.head;
  for (const i64 start : replay.starts) {
    char line[32];
    std::snprintf(line, sizeof line, "%20" PRId64 "\n", start);
    out << line;
  }
  return out.str() + replay.body;
}

std::string pattern_hash(const Job& job) {
  std::uint64_t hash = kHashStart;
  bool any = false;
  for (const RankTrace& trace : job.traces) {
    for (const StepRecord& step : trace.steps) {
      if (kind_of(step) == StepKind::kWait) continue;   // when a program asks for its requests is chance
      any = true;
      const i64 numbers[] = {step.kind, step.flags, step.offset, step.bytes, step.stride, step.repeats, step.open};
      for (const i64 number : numbers) mix(hash, std::to_string(number));
      if (step.shape < 0 || step.shape >= static_cast<i64>(trace.shapes.size())) continue;
      const std::string& text = trace.shapes[static_cast<std::size_t>(step.shape)].text;
      mix(hash, kind_of(step) == StepKind::kOpen ? opening_of(text).members + opening_of(text).amode : text);
    }
  }
  char digits[20] = "";
  if (any) std::snprintf(digits, sizeof digits, "%016" PRIx64, hash);
  return digits;
}

}  // namespace mercutio
