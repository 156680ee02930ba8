// Trace files (src/insight/job.cpp): any bytes are an Error or a trace, about which there is a verdict of at most
// twenty lines.
#include <algorithm>

#include "fuzz.h"
#include "insight/findings.h"
#include "insight/recorder.h"

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

}  // namespace

Input example(Random& random) {
  Input out;
  const i64 ranks = pick(random, 1, 2);
  for (i64 rank = 0; rank < ranks; ++rank) {
    RecorderOptions options{"", rank, ranks, pick(random, 2, 3), 256, 8, 16};
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
    if (pick(random, 0, 1)) (*recorder)->finish();
    const Input piece = (*recorder)->snapshot({2, 8});
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
  FUZZ_CHECK(std::count(text.begin(), text.end(), '\n') <= 20, text);
  return 0;
}
