// Trace files (src/insight/job.cpp): any bytes are an Error or a trace, about which there is a verdict of at most
// twenty lines.
#include <algorithm>

#include "fuzz.h"
#include "insight/findings.h"
#include "insight/recorder.h"
#include "insight/replay.h"
#include "model/flat_type.h"

namespace mercutio::fuzz {
namespace {

TraceEvent some_event(Random& random) {
  static constexpr TraceKind kKinds[] = {TraceKind::kAccess,       TraceKind::kOpen,   TraceKind::kStorageRead,
                                         TraceKind::kStorageWrite, TraceKind::kPlan,   TraceKind::kSync,
                                         TraceKind::kLock,         TraceKind::kBlocked};
  TraceEvent event{kKinds[pick(random, 0, 7)], now_ns()};
  event.end_ns = event.start_ns + pick(random, 0, 1'000'000'000);
  event.bytes = pick(random, 0, 1'000'000);
  event.offset = pick(random, 0, 1'000'000);
  event.detail = "a plan";
  return event;
}

// A rank that opens a file, sets a view and writes.
void add_steps(Random& random, TraceSink& sink) {
  const auto bytes = [](const std::string& text) {
    const auto* from = reinterpret_cast<const std::byte*>(text.data());
    return std::vector<std::byte>(from, from + text.size());
  };
  TraceStep step;
  step.kind = StepKind::kOpen;
  step.shape = sink.shape("open", [&](i64) { return bytes("world\nrdwr|create\ndata\ncb_nodes=1\n"); });
  sink.step(step);
  step.kind = StepKind::kView;
  step.shape = sink.shape("type", [](i64) {
    std::vector<std::byte> type;
    contiguous_bytes()->serialize(type);
    return type;
  });
  step.bytes = 1;
  sink.step(step);
  step.kind = StepKind::kAccess;
  for (i64 i = pick(random, 0, 9); i > 0; --i) {
    step.write = pick(random, 0, 1) == 1;
    step.collective = pick(random, 0, 1) == 1;
    step.offset += pick(random, 0, 100);
    step.bytes = pick(random, 0, 100);
    sink.step(step);
  }
}

}  // namespace

Input example(Random& random) {
  Input out;
  const i64 ranks = pick(random, 1, 2);
  for (i64 rank = 0; rank < ranks; ++rank) {
    RecorderOptions options{"", rank, ranks, pick(random, 2, 3), 256, 8, 16, 8, 256};
    auto recorder = Recorder::make(options);
    FUZZ_CHECK(recorder.ok(), "no memory");
    FileFacts facts;
    facts.name = pick(random, 0, 1) ? "data" : "other";
    auto sink = (*recorder)->file(facts);
    sink->note("notes", "cb_nodes=1 (info): not applied, why not\n");
    for (i64 i = pick(random, 0, 40); i > 0; --i) {
      TraceEvent event = some_event(random);
      AccessFacts access;
      Counters counters;
      access.end_offset = event.offset + event.bytes;
      event.access = &access;
      event.counters = &counters;
      sink->record(event);
    }
    add_steps(random, *sink);
    if (pick(random, 0, 1)) (*recorder)->finish();
    const Input piece = (*recorder)->snapshot({2, 8, 8, 256});
    out.insert(out.end(), piece.begin(), piece.end());
  }
  return out;
}

}  // namespace mercutio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mercutio;
  using namespace mercutio::fuzz;
  auto traces = parse_trace(ConstBytes(reinterpret_cast<const std::byte*>(data), size));
  if (!traces) return 0;
  const Job job = job_of(std::move(*traces));
  const std::string text = verdict(job);
  FUZZ_CHECK(!text.empty(), "no verdict");
  FUZZ_CHECK(pattern_hash(job).size() <= 16, "no hash");
  if (const auto replay = make_replay(job)) {
    const std::string script = script_of(*replay, std::vector<std::string>(replay->files.size(), "f"));
    FUZZ_CHECK(static_cast<i64>(std::count(script.begin(), script.end(), 'q')) >= replay->ranks, "a rank without an end");
  }
  FUZZ_CHECK(std::count(text.begin(), text.end(), '\n') <= 20, text);
  return 0;
}
