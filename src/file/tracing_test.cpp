// What a sink is told of an access does not depend on the way that the access takes through the library.
#include <gtest/gtest.h>

#include "file/test_support.h"

namespace mercutio {
namespace {

struct Told {
  TraceKind kind;
  i64 bytes, offset, end_offset, piece_bytes, pieces, span, storage_ns;
  bool write, collective, waited, failed;
  std::string name;
  bool operator==(const Told&) const = default;
};

// One that keeps steps is told of an access on the long way only.
class Listener final : public Tracer {
 public:
  explicit Listener(bool keeps_steps) : keeps_steps_(keeps_steps) {}
  std::unique_ptr<TraceSink> file(const FileFacts&) override { return std::make_unique<Forward>(*this); }
  void record(const TraceEvent& event) {
    if (event.kind != TraceKind::kAccess && event.kind != TraceKind::kStorageRead && event.kind != TraceKind::kStorageWrite) return;
    EXPECT_LE(event.start_ns, event.end_ns);
    const AccessFacts facts = event.access ? *event.access : AccessFacts();
    const i64 stored = event.counters ? event.counters->clock.spent()[static_cast<size_t>(Phase::kStorage)] : 0;
    told.push_back({event.kind, event.bytes, event.offset, facts.end_offset, facts.piece_bytes, event.pieces, event.span, stored > 0 ? 1 : 0,
                    facts.direction == Direction::kWrite, facts.collective, facts.waited, facts.failed, std::string(event.detail)});
  }
  std::vector<Told> told;

 private:
  struct Forward final : TraceSink {
    explicit Forward(Listener& owner) : owner(owner) {}
    bool keeps_steps() const override { return owner.keeps_steps_; }
    void record(const TraceEvent& event) override { owner.record(event); }
    Listener& owner;
  };
  const bool keeps_steps_;
};

std::vector<Told> told_of(bool long_way) {
  Listener listener(long_way);
  on_ranks(1, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    OpenCall call;
    call.file_name = unique_name();
    call.amode = kReadWrite;
    auto file = *open_file(std::move(comm), call, Context{rank.progress.get(), &rank.datareps, &listener});
    std::vector<std::byte> data(1000, std::byte{1});
    auto access = [&](Direction direction, Positioning positioning, bool collective, i64 offset) {
      AccessCall one = call_of(direction, data, offset);
      one.name = "an access";
      one.positioning = positioning;
      one.collective = collective;
      (void)file->access(std::move(one));
    };
    access(Direction::kWrite, Positioning::kExplicit, false, 100);
    access(Direction::kWrite, Positioning::kIndividual, false, 0);
    access(Direction::kWrite, Positioning::kExplicit, true, 3000);
    access(Direction::kRead, Positioning::kExplicit, false, 3500);   // ends with the file
    access(Direction::kRead, Positioning::kIndividual, true, 0);
    EXPECT_TRUE(file->close().ok());
  });
  return listener.told;
}

TEST(Tracing, BothWaysTellTheSame) {
  const std::vector<Told> short_way = told_of(false), long_way = told_of(true);
  EXPECT_EQ(short_way.size(), 10u);
  EXPECT_TRUE(short_way == long_way);
}

}  // namespace
}  // namespace mercutio
