// What a recorder learns of an open file where nobody has asked for a trace: short accesses cost hardly more than without. Of those of one
// kind and about one size, some are looked at, and each counts for itself and for those passed over before it (a stratified sample,
// Cochran, Sampling Techniques, 5). How many are passed over depends on how long the last one took, so that looking takes a fixed part
// of the time of all, and is drawn at random, so that it has no period in common with what the program does. Long accesses are all looked at. What
// was passed over is timed by a counter of the processor (base/ticks.h): a long one among many short ones is not a matter of luck.
#include <algorithm>
#include <memory>

#include "insight/recorder.h"

namespace mercutio {
namespace {

constexpr i64 kWorthNs = 256'000;   // of accesses: to look at one takes about a microsecond
constexpr i64 kMostPassedOver = 4095;

// xorshift (Marsaglia 2003); its seed is the same in each run.
class Dice {
 public:
  i64 up_to(i64 most) {
    state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
    return static_cast<i64>(state_ % static_cast<std::uint64_t>(most + 1));
  }

 private:
  std::uint64_t state_ = 88172645463325252;
};

class SampledSink final : public TraceSink {
 public:
  void begin(Recorder& recorder, i64 file, SampledAccesses& accesses) {
    recorder_ = &recorder;
    file_ = file;
    accesses_ = &accesses;
    accesses.sink = this;
  }
  ~SampledSink() override {
    if (sample_ && passed_over() > 0) recorder_->count_unseen(file_, *sample_, unseen());
  }
  bool keeps_steps() const override { return false; }
  bool keeps_texts() const override { return false; }
  void record(const TraceEvent& event) override {
    std::lock_guard lock(mutex_);
    if (!sample_) sample_ = std::make_unique<Recorder::Sample>();
    const bool access = event.kind == TraceKind::kAccess;
    recorder_->record_sampled(file_, *sample_, event, access ? unseen() : Recorder::Unseen{});
    if (!access) return;
    const i64 usual = std::min(kWorthNs / std::max<i64>(1, event.end_ns - event.start_ns), kMostPassedOver / 2);
    drawn_ = usual > 0 ? dice_.up_to(2 * usual) : 0;
    accesses_->left = drawn_;
  }

 private:
  i64 passed_over() const { return drawn_ - accesses_->left; }
  Recorder::Unseen unseen() { return {passed_over(), accesses_->bytes.exchange(0), accesses_->timed.exchange(0), accesses_->ticks.exchange(0)}; }

  std::mutex mutex_;   // accesses that were started may end side by side
  Recorder* recorder_ = nullptr;
  i64 file_ = 0;
  SampledAccesses* accesses_ = nullptr;
  std::unique_ptr<Recorder::Sample> sample_;   // null: none yet
  i64 drawn_ = 0;
  Dice dice_;
};

class SampledFileSink final : public TraceSink {
 public:
  SampledFileSink(Recorder& recorder, i64 file, bool first) : recorder_(recorder), file_(file), first_(first) {
    samples_ = &accesses_;
    for (std::size_t i = 0; i < accesses_.size(); ++i) sinks_[i].begin(recorder, file, accesses_[i]);
  }
  bool keeps_steps() const override { return false; }
  bool keeps_texts() const override { return false; }
  bool wants_hints() const override { return first_; }
  void record(const TraceEvent& event) override { recorder_.record(file_, event); }
  void note(std::string_view what, std::string_view text) override {
    if (what == "notes") recorder_.note(file_, TextKind::kNotes, text);
    if (what == "adapted") recorder_.note(file_, TextKind::kAdapted, text);
  }

 private:
  Recorder& recorder_;
  i64 file_;
  bool first_;
  SamplesOfAccesses accesses_;
  std::array<SampledSink, std::tuple_size_v<SamplesOfAccesses>> sinks_;
};

}  // namespace

std::unique_ptr<TraceSink> make_sampled_sink(Recorder& recorder, i64 file, bool first) {
  return std::make_unique<SampledFileSink>(recorder, file, first);
}

}  // namespace mercutio
