#include "print.h"

namespace mercutio::programs {
namespace {

const char* name_of(Op op) {
  static const char* const kNames[] = {"open",        "close",     "set_view",     "access",        "complete",
                                       "barrier",     "sync",      "set_size",     "preallocate",   "seek",
                                       "seek_shared", "get_size",  "get_position", "set_atomicity", "set_info",
                                       "meter_begin", "meter_end", "verify"};
  return kNames[static_cast<size_t>(op)];
}

std::string mode_of(unsigned mode) {
  static const char* const kNames[] = {"rd",          "wr",     "create",    "excl", "delete_on_close",
                                       "unique_open", "append", "sequential"};
  std::string text;
  for (unsigned i = 0; i < 8; ++i) {
    if (mode & (1U << i)) text += (text.empty() ? "" : "|") + std::string(kNames[i]);
  }
  return text;
}

std::string map_text(const Map& map) {
  if (map.contiguous()) return std::to_string(map.size) + " bytes";
  std::string text = "{";
  for (size_t i = 0; i < map.segments.size() && i < 6; ++i)
    text += std::to_string(map.segments[i].at) + "+" + std::to_string(map.segments[i].bytes) + " ";
  return text + (map.segments.size() > 6 ? ".. " : "") + "of " + std::to_string(map.extent) + "}";
}

std::string part_text(const Program& program, const Step& step, int rank, const Expected& expected) {
  const Part& part = step.parts[static_cast<size_t>(rank)];
  std::string text;
  if (part.delay_us > 0) text += " after " + std::to_string(part.delay_us) + " us";
  if (step.op == Op::kSetView)
    text += " at " + std::to_string(part.displacement) + " " + map_text(program.map(part.filetype));
  if (step.op == Op::kSeek) text += " " + std::to_string(part.offset);
  if (step.op == Op::kAccess && part.in) {
    text += " etype " + std::to_string(expected.first_etype) + ", " + std::to_string(part.count) + " x " +
            map_text(program.map(part.memory));
    i64 known = 0;
    for (const Want& want : expected.data) known += want.key != kAnything;
    if (!step.write) {
      text += ", wants " + std::to_string(expected.least) + ".." + std::to_string(expected.most) + " bytes, " +
              std::to_string(known) + " known";
    }
  }
  return text;
}

}  // namespace

std::string access_name(const Step& step) {
  std::string name = step.synchronism == Synchronism::kNonblocking ? "i" : "";
  name += step.write ? "write" : "read";
  if (step.positioning == Positioning::kExplicit) name += "_at";
  if (step.positioning == Positioning::kShared)
    return name + (step.collective ? "_ordered" : "_shared") +
           (step.synchronism == Synchronism::kSplit ? "_begin" : "");
  if (step.collective) name += "_all";
  return name + (step.synchronism == Synchronism::kSplit ? "_begin" : "");
}

std::string describe(const Program&, const Step& step) {
  std::string text = step.op == Op::kAccess ? access_name(step) : name_of(step.op);
  if (step.handle >= 0) text += " fh" + std::to_string(step.handle);
  if (step.op == Op::kOpen) {
    static const char* const kGroups[] = {"world", "self", "halves", "parity"};
    text += " file " + std::to_string(step.file) + " " + kGroups[static_cast<size_t>(step.group)] + " " +
            mode_of(step.mode);
  }
  if (step.op == Op::kVerify) text += " file " + std::to_string(step.file);
  if (step.op == Op::kSetView) text += " etype type " + std::to_string(step.etype);
  if (step.op == Op::kSetSize || step.op == Op::kPreallocate || step.op == Op::kSeekShared ||
      step.op == Op::kSetAtomicity)
    text += " " + std::to_string(step.value);
  static const char* const kWhence[] = {" set", " current", " end"};
  if (step.op == Op::kSeek) text += kWhence[static_cast<size_t>(step.whence)];
  for (const int target : step.targets) text += " " + std::to_string(target);
  if (step.info >= 0) text += " info " + std::to_string(step.info);
  return text;
}

std::string shown(const Program& program, const std::vector<Planned>& planned) {
  std::string text = "seed " + std::to_string(program.seed) + ", " + std::to_string(program.ranks) + " ranks" +
                     (program.jobs == 2 ? ", two jobs" : "") + (program.posix_order ? ", POSIX order" : "") + "\n";
  for (size_t i = 0; i < program.infos.size(); ++i) {
    text += "info " + std::to_string(i) + ":";
    for (const auto& [key, value] : program.infos[i]) text += " " + key + "=" + value;
    text += "\n";
  }
  for (size_t f = 0; f < program.files.size(); ++f) {
    text += "file " + std::to_string(f) + ": " + std::to_string(program.files[f].initial_bytes) + " bytes at first\n";
  }
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    text += std::to_string(step.id) + " " + describe(program, step) + (planned[i].dropped ? " (left out)" : "") + "\n";
    for (int r = 0; r < program.ranks && !planned[i].dropped; ++r) {
      if (!planned[i].ranks[static_cast<size_t>(r)].in) continue;
      const std::string part = part_text(program, step, r, planned[i].ranks[static_cast<size_t>(r)]);
      if (!part.empty()) text += "    rank " + std::to_string(r) + part + "\n";
    }
  }
  return text;
}

}  // namespace mercutio::programs
