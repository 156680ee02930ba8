// A client of a fault schedule: random operations on a file of its own and on one that all share, each compared with what a
// file may hold by then.
#pragma once

#include "schedule_model.h"
#include "schedule_world.h"

namespace mercutio::remote {

// Over all schedules.
struct Totals {
  std::atomic<i64> operations{0}, errors{0}, confirmed{0}, late{0}, sessions{0}, reconnects{0}, longest_ns{0};
};

// What all clients of a schedule have in common.
struct Shared {
  World& world;
  Totals& totals;
  std::atomic<i64> counted{0}, tried_to_count{0};   // under the lock of the file "counter"
  std::atomic<i64> slowest_ns{0};
  std::mutex mutex;
  std::string wrong;                                // the first thing that was
  void fail(const std::string& text);
  bool failed();
};

class Client {
 public:
  Client(Shared& shared, int number, std::uint64_t seed);
  void work(const std::atomic<bool>& over);
  void check();                       // when it is calm: opens, syncs, closes, reads all back
  i64 waits_since_ns() const { return since_ns_; }
  const char* waits_for() const { return doing_; }

  static constexpr i64 kOwnBytes = 512 * KiB, kSharedBytes = 192 * KiB;

 private:
  struct File {
    std::string name;
    FileModel model;
    std::unique_ptr<Storage> storage = nullptr;
    bool keeps = false;
    std::vector<int> pending = {};    // tags of writes whose outcome hasn't been told
    i64 late_kills = -1;
    std::vector<Range> again = {};    // where something may come late: to be written next, as programs do that begin anew
  };
  template <class Call>
  auto timed(const char* name, Call call);
  bool have_session();
  void is_welcome();
  bool open(File& file);
  void drop(File& file);
  void one_operation();
  std::vector<IoPiece> some_pieces(const FileModel& model);
  std::vector<IoPiece> pieces_in(File& file, std::vector<std::byte>& memory);
  void write(File& file);
  void read(File& file);
  void size(File& file);
  void truncate(File& file);
  void flush(File& file, bool sync);
  void close(File& file);
  void once();
  void remove(const std::string& name);
  void count();
  Result<i64> increment(Storage& counter, i64& before);
  void told(File& file, const Status& outcome);
  void fail(File& file, int tag, const Error& error);
  void look_for_kills(File& file);
  void check(File& file);
  void wrong(const std::string& text);
  void note(const std::string& text);
  template <class Outcome>
  void note(const std::string& text, const Outcome& outcome) {
    note(text + (outcome.ok() ? " ok" : ": " + outcome.error().what));
  }

  Shared& shared_;
  World& world_;
  const int number_;
  Dice dice_;
  std::shared_ptr<Session> session_;
  bool welcomed_ = false;           // the server has answered in this session
  bool all_is_calm_ = false;
  File own_, common_;
  int names_ = 0;
  std::atomic<i64> since_ns_{0};
  std::atomic<const char*> doing_{""};
};

}  // namespace mercutio::remote
