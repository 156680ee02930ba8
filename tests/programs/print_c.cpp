// A program with what is expected of it as one C file: tables first (typemaps, expected bytes), then the steps in order.
#include <set>

#include "print.h"
#include "print_c_prelude.h"
#include "print_c_types.h"

namespace mercutio::programs {
namespace {

std::string number(i64 value) { return std::to_string(value); }

class Printer {
 public:
  Printer(const Program& program, const std::vector<Planned>& planned) : program_(program), planned_(planned) {}
  std::string print() {
    std::string body;
    for (step_ = 0; step_ < program_.steps.size(); ++step_) body += step();
    std::string text = "/* seed " + number(static_cast<i64>(program_.seed)) + ", " + number(program_.ranks) +
                       " ranks: mpicc FILE.c, mpirun -n " + number(program_.ranks) + " ./a.out [TIMES] */\n" + kPrelude;
    text += "static MPI_Datatype t[" + number(static_cast<i64>(program_.types.size())) + "];\n";
    for (const int type : types_) text += map_table(type);
    text += tables_ + "\nstatic void program(void) {\n  MPI_File fh[" + number(program_.handles + 1) +
            "];\n  MPI_Status s;\n  MPI_Offset o;\n  MPI_Info infos[" + number(static_cast<i64>(program_.infos.size()) + 1) + "];\n";
    text += "  static Access a[" + number(most_ + 1) + "];\n  static MPI_Request q[" + number(most_ + 1) + "];\n";
    text += start() + body + "}\n" + ending();
    return text;
  }

 private:
  [[nodiscard]] const Step& now() const { return program_.steps[step_]; }
  [[nodiscard]] const Planned& plan() const { return planned_[step_]; }
  [[nodiscard]] std::string fh() const { return "fh[" + number(now().handle) + "]"; }
  [[nodiscard]] static std::string file(int number_of_file) { return "\"f" + number(number_of_file) + "\""; }
  [[nodiscard]] std::string info() const { return now().info < 0 ? "MPI_INFO_NULL" : "infos[" + number(now().info) + "]"; }
  [[nodiscard]] std::string checked(const std::string& call) const { return "ok(" + number(now().id) + ", " + call + ");"; }

  std::string type(int index) {
    for (const int inner : program_.types[static_cast<size_t>(index)].inner) static_cast<void>(type(inner));
    types_.insert(index);
    return "t[" + number(index) + "]";
  }
  std::string map_table(int index) {
    const Map& map = program_.map(index);
    std::string text = "static const long m" + number(index) + "_at[][2] = {";
    for (const Segment& segment : map.segments) text += "{" + number(segment.at) + ", " + number(segment.bytes) + "}, ";
    return text + "};\nstatic const Map m" + number(index) + " = {" + number(static_cast<i64>(map.segments.size())) + ", " +
           number(map.extent) + ", m" + number(index) + "_at};\n";
  }
  // Expected bytes as runs; the name of the table and its length.
  std::string wants(int rank, const std::vector<Want>& data) {
    if (data.empty()) return "NULL, 0";
    const std::string name = "w" + number(static_cast<i64>(step_)) + "_" + number(rank);
    std::string rows;
    i64 runs = 0;
    for (size_t i = 0; i < data.size();) {
      size_t end = i + 1;
      while (end < data.size() && data[end].key == data[i].key &&
             (data[i].key == kAnything || data[i].key == 0 || data[end].source == data[i].source + end - i)) {
        ++end;
      }
      rows += "{" + number(static_cast<i64>(end - i)) + ", " + number(data[i].key) + "u, " + number(data[i].source) + "}, ";
      ++runs;
      i = end;
    }
    tables_ += "static const Want " + name + "[] = {" + rows + "};\n";
    return name + ", " + number(runs);
  }

  std::string start() {
    std::string text;
    for (const int index : types_) text += "  " + type_call(program_, index) + "\n";
    for (size_t i = 0; i < program_.infos.size(); ++i) {
      const std::string name = "infos[" + number(static_cast<i64>(i)) + "]";
      text += "  MPI_Info_create(&" + name + ");\n";
      for (const auto& [key, value] : program_.infos[i]) text += "  MPI_Info_set(" + name + ", \"" + key + "\", \"" + value + "\");\n";
    }
    for (size_t f = 0; f < program_.files.size(); ++f) {
      const int n = static_cast<int>(f);
      text += "  if (rank == 0) initial(" + file(n) + ", " + number(program_.files[f].initial_bytes) + ", " + number(key_of_file(n)) + "u);\n";
    }
    return text + "  MPI_Barrier(MPI_COMM_WORLD);\n  (void)s, (void)o, (void)fh, (void)infos;\n";
  }

  static std::string ending() {
    return "\nint main(int argc, char **argv) {\n  int all = 0;\n  MPI_Init(&argc, &argv);\n"
           "  MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n  MPI_Comm_size(MPI_COMM_WORLD, &ranks);\n"
           "  MPI_Comm_split(MPI_COMM_WORLD, rank * 2 >= ranks, rank, &halves);\n"
           "  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &parity);\n"
           "  for (int times = argc > 1 ? atoi(argv[1]) : 1; times > 0; times--) program();\n"
           "  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);\n"
           "  if (rank == 0) printf(all ? \"FAILED\\n\" : \"ok\\n\");\n  MPI_Finalize();\n  return all;\n}\n";
  }

  std::string step() {
    if (plan().dropped) return "";
    std::string text = "\n  /* " + number(now().id) + ": " + describe(program_, now()) + " */\n";
    for (int r = 0; r < program_.ranks; ++r) {
      const i64 delay = now().parts[static_cast<size_t>(r)].delay_us;
      if (delay > 0) text += "  if (rank == " + number(r) + ") pause_us(" + number(delay) + ");\n";
    }
    switch (now().op) {
      case Op::kBarrier:
        return text + "  MPI_Barrier(MPI_COMM_WORLD);\n";
      case Op::kMeterBegin:
        return text + "  meter(0);\n";
      case Op::kMeterEnd:
        return text + "  meter(" + number(plan().asked_bytes) + ");\n";
      case Op::kComplete:
        return text + completion();
      case Op::kAccess:
        break;
      default:
        return text + managed();
    }
    for (int r = 0; r < program_.ranks; ++r) {
      if (plan().ranks[static_cast<size_t>(r)].in) text += access(r);
    }
    return text;
  }

  std::string access(int r) {
    const Part& part = now().parts[static_cast<size_t>(r)];
    const Expected& expected = plan().ranks[static_cast<size_t>(r)];
    const std::string a = "a[" + number(now().id) + "]";
    most_ = std::max(most_, static_cast<i64>(now().id));
    static_cast<void>(type(part.memory));
    std::string text = "  if (rank == " + number(r) + ") {\n    " + a + " = (Access){&m" + number(part.memory) + ", " + number(part.count) +
                       ", NULL, NULL, 0, " + wants(r, expected.data) + ", " + number(expected.least) + ", " + number(expected.most) + ", " +
                       number(now().id) + ", " + (now().write ? "1" : "0") + ", " + number(key_of(now().id, r)) + "u};\n    ";
    std::string arguments = fh();
    if (now().positioning == Positioning::kExplicit) arguments += ", " + number(part.offset);
    arguments += ", make(&" + a + "), " + number(part.count) + ", " + type(part.memory);
    if (now().synchronism == Synchronism::kBlocking) arguments += ", &s";
    if (now().synchronism == Synchronism::kNonblocking) arguments += ", &q[" + number(now().id) + "]";
    text += checked("MPI_File_" + access_name(now()) + "(" + arguments + ")");
    if (now().synchronism == Synchronism::kBlocking) text += "\n    check(&" + a + ", &s);";
    return text + "\n  }\n";
  }

  // Each rank completes what it has begun.
  std::string completion() {
    std::string text;
    for (int r = 0; r < program_.ranks; ++r) {
      std::string requests, accesses, splits;
      for (const int id : now().targets) {
        for (size_t i = 0; i < step_; ++i) {
          const Step& begun = program_.steps[i];
          if (begun.id != id || begun.op != Op::kAccess || planned_[i].dropped || !planned_[i].ranks[static_cast<size_t>(r)].in) continue;
          const std::string a = "a[" + number(id) + "]";
          if (begun.synchronism == Synchronism::kSplit) {
            std::string name = access_name(begun);
            name.replace(name.size() - 5, 5, "end");
            splits += "    " + checked("MPI_File_" + name + "(fh[" + number(begun.handle) + "], " + a + ".origin, &s)") + "\n    check(&" + a + ", &s);\n";
          } else {
            requests += "q[" + number(id) + "], ";
            accesses += "&" + a + ", ";
          }
        }
      }
      if (requests.empty() && splits.empty()) continue;
      text += "  if (rank == " + number(r) + ") {\n" + splits;
      if (!requests.empty()) {
        text += "    MPI_Request list[] = {" + requests + "};\n    Access *of[] = {" + accesses + "};\n    complete(" + number(now().id) + ", " +
                number(static_cast<i64>(now().completion)) + ", (int)(sizeof list / sizeof *list), list, of);\n";
      }
      text += "  }\n";
    }
    return text;
  }

  std::string managed() {
    if (now().op == Op::kVerify) {
      const Expected& expected = plan().ranks[0];
      return "  if (rank == 0) verify(" + file(now().file) + ", " + number(expected.least) + ", " + number(expected.most) + ", " +
             wants(0, expected.data) + ");\n";
    }
    std::string text;
    for (int r = 0; r < program_.ranks; ++r) {
      if (plan().ranks[static_cast<size_t>(r)].in) text += "  if (rank == " + number(r) + ") " + call(r) + "\n";
    }
    return text;
  }

  std::string call(int r) {
    const Part& part = now().parts[static_cast<size_t>(r)];
    const Expected& expected = plan().ranks[static_cast<size_t>(r)];
    static const char* const kComms[] = {"MPI_COMM_WORLD", "MPI_COMM_SELF", "halves", "parity"};
    static const char* const kWhence[] = {"MPI_SEEK_SET", "MPI_SEEK_CUR", "MPI_SEEK_END"};
    switch (now().op) {
      case Op::kOpen:
        return checked("MPI_File_open(" + std::string(kComms[static_cast<size_t>(now().group)]) + ", " + file(now().file) + ", " +
                       mode_call(now().mode) + ", " + info() + ", &" + fh() + ")");
      case Op::kClose:
        return checked("MPI_File_close(&" + fh() + ")");
      case Op::kSync:
        return checked("MPI_File_sync(" + fh() + ")");
      case Op::kSetView:
        return checked("MPI_File_set_view(" + fh() + ", " + number(part.displacement) + ", " + type(now().etype) + ", " +
                       type(part.filetype) + ", \"native\", " + info() + ")");
      case Op::kSetSize:
        return checked("MPI_File_set_size(" + fh() + ", " + number(now().value) + ")");
      case Op::kPreallocate:
        return checked("MPI_File_preallocate(" + fh() + ", " + number(now().value) + ")");
      case Op::kSeek:
        return checked("MPI_File_seek(" + fh() + ", " + number(part.offset) + ", " + kWhence[static_cast<size_t>(now().whence)] + ")");
      case Op::kSeekShared:
        return checked("MPI_File_seek_shared(" + fh() + ", " + number(now().value) + ", MPI_SEEK_SET)");
      case Op::kSetAtomicity:
        return checked("MPI_File_set_atomicity(" + fh() + ", " + number(now().value) + ")");
      case Op::kSetInfo:
        return checked("MPI_File_set_info(" + fh() + ", " + info() + ")");
      case Op::kGetSize:
      case Op::kGetPosition: {
        const bool size = now().op == Op::kGetSize;
        const std::string name = size ? "MPI_File_get_size" : "MPI_File_get_position";
        const std::string most = number(size ? expected.most : expected.least);
        return "{ " + checked(name + "(" + fh() + ", &o)") + (expected.least < 0 ? "" : " same(" + number(now().id) + ", \"" + name + "\", o, " + number(expected.least) + ", " + most + ");") + " }";
      }
      default:
        return ";";
    }
  }

  const Program& program_;
  const std::vector<Planned>& planned_;
  size_t step_ = 0;
  i64 most_ = 0;
  std::set<int> types_;
  std::string tables_;
};

}  // namespace

std::string c_program(const Program& program, const std::vector<Planned>& planned) { return Printer(program, planned).print(); }

}  // namespace mercutio::programs
