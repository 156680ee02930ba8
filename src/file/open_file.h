// OpenFile: the one implementation of File. Its methods are spread over open.cpp, life.cpp, views.cpp, pointers.cpp,
// access.cpp, nonblocking.cpp, split.cpp, atomicity.cpp, info.cpp and describe.cpp. Inside file/ only.
//
// Threads: data accesses, pointers and queries may be called by several threads at once. The program must make the collective calls
// on a file in the same order on all ranks.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/thread_annotations.h"
#include "engine/node_entry.h"
#include "engine/io/sieve_gate.h"
#include "file/dense_view.h"
#include "file/operation.h"
#include "file/writes_under_way.h"
#include "plan/adapter.h"
#include "storage/blocking_detector.h"
#include "storage/cache.h"
#include "storage/deferred.h"
#include "storage/lazy_writes.h"
#include "storage/published.h"

namespace mercutio {

// The accesses in flight. Outlives the file if a callback is late.
class InFlight {
 public:
  struct Entered {
    i64 tag, number;   // tag -1: none
    bool owns_tag;     // from the beginning
  };
  Entered enter(i64 tag);
  void leave(const Entered& one);
  void wait_all(Progress& progress, Comm& comm);
  void wait_tag(i64 tag, Progress& progress, Comm& comm);  // until no operation uses it
  bool owns_tag(const Entered& one);   // no operation that was entered before it uses its tag any more

 private:
  template <class Condition>
  void wait(Progress& progress, Comm& comm, Condition condition);
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<i64> count_{0};   // changed under the lock
  std::set<std::pair<i64, i64>> users_ MERCUTIO_GUARDED_BY(mutex_);   // of tags: a tag and a number, for each operation with a tag
  i64 first_user(i64 tag) const MERCUTIO_REQUIRES(mutex_) {
    const auto first = users_.lower_bound({tag, 0});
    return first != users_.end() && first->first == tag ? first->second : -1;
  }
  i64 next_number_ MERCUTIO_GUARDED_BY(mutex_) = 0;
};

class WireReader;

// What rank 0 tells the others of a file that some of them open later (deferral.cpp).
std::vector<std::byte> deferral_message(const std::vector<std::byte>& handle, const DeferredFacts& facts);
Status take_deferral(ConstBytes message, std::vector<std::byte>& handle, DeferredFacts& facts);

class OpenFile final : public File {
 public:
  OpenFile(std::unique_ptr<Comm> comm, const OpenCall& call, const Context& context);
  ~OpenFile() override;
  Status open(const OpenCall& call);  // once, collective

  const std::string& name() const override { return name_; }
  Amode amode() const override { return amode_; }
  Comm& comm() override { return *comm_; }
  Status close() override;
  Status set_size(i64 bytes) override;
  Status preallocate(i64 bytes) override;
  Result<i64> size() override;
  Status sync() override;
  Status flush() override { return closed_ ? ok_status() : storage_->flush(); }
  Status set_atomicity(bool atomic) override;
  bool atomicity() const override { return atomic_; }
  Status set_info(const InfoItems& info, Status argument_error) override;
  InfoItems info() const override;
  std::shared_ptr<const HintSet> hint_notes() const override;
  Status set_view(ViewCall call) override;
  ViewRef view() const override { return current_view()->view; }
  Result<i64> type_extent(const TypeSpec& type) override;
  Status seek(i64 offset, Whence whence) override;
  i64 position() override;
  Result<i64> byte_offset(i64 offset) override;
  Status seek_shared(i64 offset, Whence whence, Status argument_error) override;
  Result<i64> position_shared() override;
  i64 trace_time() const override { return context_.tracer ? now_ns() : 0; }
  void trace_setting(const char* call, i64 start_ns) override;
  Result<i64> access(AccessCall call) override;
  Result<RequestRef> start(AccessCall call, std::function<void(const Result<i64>&)> on_done) override;
  Status begin(AccessCall call) override;
  Result<i64> end(const char* name, Direction direction, Positioning positioning, const void* buffer) override;
  std::string describe(const char* operation, const Error& error) const override;

 private:
  using OperationRef = std::shared_ptr<Operation>;
  struct Split {
    RequestRef request;
    Direction direction;
    Positioning positioning;
  };

  // The etypes that a blocking access has asked for, and the number of views set before it.
  struct Taken {
    i64 first_etype = 0, etypes = 0, etype_bytes = 1, views = 0;
  };

  // What a collective access has taken before it turned out that the ranks don't move it as runs.
  struct Begun {
    std::optional<Ticket> ticket;   // first member: destroyed after the channel that refers to it
    Channel channel;
    std::optional<Taken> taken;   // by the individual pointer
    Operation* watched = nullptr;   // the access, if somebody is told of it
  };

  // Who is told of an access, null: nobody, and whether the program asked for a collective one. Which accesses it was passed over with: null, or
  // those that are told how long it took (TimedAccess).
  struct Look {
    TraceSink* sink = nullptr;
    bool together = false;
    SampledAccesses* passed_over = nullptr;
  };

  // open.cpp
  // What a rank waited in a collective call for others that came later: what the first steps of an open took longer than on the rank that came last, or the
  // first agreement of another call beyond the work of the rank that had most to do before. No clocks are compared, and no message is sent for it.
  struct Arrival {
    i64 start_ns = 0;   // of the call on this rank; 0: nobody listens
    i64 late_ns = 0;
    i64 waited_ns = 0;   // before that agreement: no work
  };
  // Calls of one kind that are so short that to record one takes as long. The first kLookedAt are recorded, then one in kLookedAt, which
  // stands for all of them, and for the rest the last one.
  class ShortCalls {
   public:
    i64 next() {   // that it stands for; 0: it is not recorded
      const i64 calls = calls_.fetch_add(1, std::memory_order_relaxed) + 1;
      if (calls <= kLookedAt) return 1;
      return calls % kLookedAt == 0 ? kLookedAt : 0;
    }
    void took(i64 ns) { ns_.store(ns, std::memory_order_relaxed); }
    std::pair<i64, i64> rest() {   // how many, and how long one takes
      const i64 calls = calls_.exchange(0, std::memory_order_relaxed);
      return {calls > kLookedAt ? calls % kLookedAt : 0, ns_.load(std::memory_order_relaxed)};
    }

   private:
    static constexpr i64 kLookedAt = 16;
    std::atomic<i64> calls_{0}, ns_{0};
  };
  struct Opening;
  Status exchange_open(const OpenCall& call, Opening& opening);
  Status take_open(WireReader& reader, i64 amode_bits, const OpenCall& call);
  OpenOptions options_to_open(bool create, bool exclusive) const;
  Status open_and_wrap(bool create, bool exclusive);
  void take_back();
  Status wrap(std::unique_ptr<Storage> opened);
  Status share_first_open(const Opening& opening);
  Status open_storage(Opening& opening);
  i64 caches() const;
  bool locks_hold(const Traits& traits) const;
  void prepare_shared_locks();
  Status check_coherence() const;
  Status check_same_file(i64 lowest, i64 highest) const;
  Result<std::unique_ptr<Storage>> open_here(bool create, bool exclusive, bool& readable);
  bool writes_lazily(const Traits& traits) const;
  CachePolicy cache_of(const Traits& traits) const;
  void allow_buffering(OpenOptions& options) const;
  bool can_gate() const;
  Status finish_open(Opening opening, Arrival& arrival);
  void number_job();

  // deferral.cpp
  bool wants_deferral(const std::vector<AskedHint>& outside, const InfoItems& info) const;
  bool is_usual_aggregator() const;
  Result<std::unique_ptr<Storage>> open_later(OpenOptions options) const;

  // Agreement. Every collective call takes one channel, in the same order on all ranks.
  // If `room` is given, the ticket is made there, and must stay until the last copy of the channel is gone.
  Channel take_channel(std::optional<Ticket>* room = nullptr) MERCUTIO_REQUIRES(mutex_);
  Channel next_channel();       // its tag may still be in use by an access that was started a whole turn of the tags ago
  Channel blocking_channel();   // waits until it is not
  bool pause(i64 looks);         // of a blocking call; false: a rank has died
  template <class T>
  T wait_for(Task<T> task);
  Status agreed(Status mine, Arrival* arrival = nullptr);
  // ok when all are ok: then lowest and highest of each value over all ranks; else the Error of the lowest failing
  // rank.
  // `action`: of rank 0, which then has them, before any rank returns.
  Status agreed_range(Status mine, std::span<i64> lowest, std::span<i64> highest, const ActionOfRankZero& action = nullptr, Arrival* arrival = nullptr);
  // ok when all are ok and all gave the same values; the Error of the lowest failing rank, or kNotSame naming `what`.
  // Where they are, rank 0 acts before any rank returns, and its Error is that of all.
  Status agreed_same(Status mine, std::initializer_list<i64> values, const char* what, const std::function<Status()>& on_rank_zero = nullptr, Arrival* arrival = nullptr);
  Status no_split(const char* what) const;
  Status run_on_rank_zero(const std::function<Status()>& action);
  // life.cpp: writes of this rank to the storage; then all ranks see them. `mine` is what became of the first on this rank.
  Status write_out();
  Status take_kept(LazyWrites::Kept& kept, Operation& together);
  Status write_kept();
  Status publish_all(Status mine, Arrival* arrival = nullptr);
  Status publish_before_read();
  Status publish(Status mine, bool last, Arrival* arrival = nullptr);
  Status resize(Status mine, i64 bytes, const std::function<Status()>& change, Arrival& arrival);

  // atomicity.cpp
  Status check_atomicity() const;
  Status begin_turns();
  Status end_turns();

  // info.cpp
  bool asks_to_adapt() const { return hints_->values.mercutio_adapt == Toggle::kEnable; }
  Adapter* adapter_for(const EngineFile& engine) const;
  std::vector<AskedHint> hints_from_outside();   // on rank 0
  InfoItems in_effect(Hints hints) const;
  void resolve_hints(HintSet& set) const;
  void report_hints();   // on rank 0
  bool speaks_of_hints() const;
  void warn_of_conflicts(InfoItems info) const;
  void report_adapting();   // at the end
  bool holds(const InfoItems& info) const;
  Status change_info(const InfoItems& info, Status argument_error, Arrival& arrival);
  Status make_hints(std::span<const std::byte> message, const InfoItems& info, std::shared_ptr<HintSet>& changed, FixedHints& fixed) const;
  static void apply_agreed_hints(HintSet& set, const InfoItems& rank_zero, const InfoItems& own, HintTime time);

  // views.cpp
  std::shared_ptr<const FileView> current_view() const;
  void wait_for_writes(const WritesUnderWay::Change& change);
  Status change_view(ViewCall call, Arrival& arrival);
  Result<std::shared_ptr<FileView>> make_view(i64 displacement, TypeSpecRef etype, TypeSpecRef filetype,
                                              const std::string& datarep);
  Result<i64> resolve_displacement(i64 displacement);

  // pointers.cpp
  Result<i64> bytes_now();   // of the file
  Result<i64> end_of_file_etypes(const FileView& view);
  Result<i64> shared_pointer();
  Result<i64> target_of_seek(const FileView& view, i64 offset, Whence whence, i64 current);

  // access.cpp
  Status check_mode(const AccessCall& call) const;  // what fails on all ranks alike
  Status admit(const AccessCall& call) const;       // the same, and the trace knows of it
  Error refused(Operation& operation) const;
  bool is_plain(const AccessCall& call) const;
  bool is_alone(const AccessCall& call) const;
  Status check_call(const AccessCall& call, Operation& operation) const;
  Look look_at(const AccessCall& call) const;
  void prepare(AccessCall& call, Look look, Operation& operation);   // takes the memory over
  EngineFile engine_file(const HintSet& hints, const FileView& view, const FixedHints& fixed_hints, bool collective);
  bool is_sieved(const FileView& view) const { return any_sieves_ && view.scattered; }   // EngineFile::sieved
  Status take_position(const AccessCall& call, Operation& operation);
  void place_together(Operation& operation);
  Status take_turn(const AccessCall& call);
  void note_own(const Operation& operation);
  Result<i64> copy_own(const Operation& operation);
  void finish_pointer(const AccessCall& call, const Operation& operation, const Result<i64>& result);
  void finish_pointer(const Taken& taken, i64 moved);
  bool may_hand_on(const AccessCall& call) const;
  i64 bytes_of_run(const AccessCall& call) const;
  i64 take_run(const AccessCall& call, i64 bytes, Taken& taken) MERCUTIO_REQUIRES(mutex_);
  Result<i64> move_piece(Direction direction, const IoPiece& piece);
  Result<i64> move_piece_atomically(Direction direction, const IoPiece& piece);
  Result<i64> access_alone(AccessCall& call, Look look);
  Result<i64> access_by_pieces(AccessCall& call, Look look, bool cautious);
  std::optional<Result<i64>> move_run_together(AccessCall& call, Begun& begun);
  Result<i64> access_with_others(AccessCall& call, Look look);
  Result<i64> access_together(AccessCall& call, Look look, Begun& begun, Operation& together);

  // nonblocking.cpp
  bool sends_messages(const Hints& hints) const;
  bool may_run_inline(const Operation& operation) const;
  OperationRef prepare_to_start(AccessCall& call);
  std::optional<Result<i64>> move_at_once(const OperationRef& operation);
  Result<RequestRef> launch(OperationRef operation, std::function<void(const Result<i64>&)> on_done);

  // tracing.cpp. All do nothing where nobody listens.
  void trace_open(const OpenCall& call, const Arrival& arrival);
  void trace_view(i64 start_ns) const;
  Result<i64> move_traced(const AccessCall& call, Look look, const IoPiece& run, i64 first_etype);
  void trace_step(const Operation& operation, StepForm form) const;
  void trace_step(StepKind kind, i64 start_ns, i64 value = 0) const;
  void trace_hints() const;
  void begin_trace(const AccessCall& call, Look look, Operation& operation) const;
  void watch_run(const AccessCall& call, const Taken& taken, Operation& operation, EngineFile& engine) const MERCUTIO_REQUIRES(mutex_);
  void trace_access(Operation& operation, const Result<i64>& result, bool waited) const;
  void trace_refused(const AccessCall& call, i64 start_ns) const;
  void trace_sketch(const Operation& operation) const;
  void trace_since(TraceKind kind, const Arrival& arrival, const char* call = nullptr) const;
  template <class Call>
  auto short_call(TraceKind kind, ShortCalls& calls, Call call) const;
  void trace_short(TraceKind kind, i64 start_ns, i64 end_ns, i64 calls) const;
  void trace_rest(i64 end_ns);   // of the short calls

  const std::string name_;
  const Amode amode_;
  const i64 world_rank_;   // as in OpenCall
  const Context context_;
  std::unique_ptr<Comm> comm_;
  bool any_sieves_ = false;  // by the hints of the open: accesses under other hints may be under way at any time
  std::optional<SieveGate> gate_;   // nothing, on all ranks: every write that may be merged locks
  std::shared_ptr<NodeArena> arena_;   // of the node, or where not all ranks share memory, of this rank; null: there is only one
  Status arena_status_ = ok_status();
  std::string library_;   // of the driver, as rank 0 has found it; empty: it is one of ours
  Resolved resolved_{};
  std::string later_path_;     // the same path for calls after the open, when the program may be in another directory
  std::vector<std::byte> handle_;   // what rank 0's storage hands on
  std::optional<DeferredFacts> facts_;   // what it says of itself; nothing: all ranks open the file at once
  bool opens_later_ = false;             // this rank
  bool made_ = false;                    // with MPI_MODE_EXCL, on rank 0
  std::shared_ptr<TraceSink> trace_;   // null: nobody listens, or not open yet; outlives the storage, which tells it things
  std::unique_ptr<Storage> storage_;
  std::unique_ptr<SharedCounter> counter_;
  Status counter_status_ = ok_status();
  bool readable_ = true;  // the storage may be read, on every rank
  Turned* turned_ = nullptr;         // of storage_, where in atomic mode locks don't do
  Published* published_ = nullptr;   // of storage_, where writes are seen when they are published
  bool core_each_ = false;      // for each rank of the node
  Storage* direct_ = nullptr;   // storage_, or what is below its buffer: for collective accesses
  LazyWrites* lazy_ = nullptr;   // storage_, where small writes are kept until the ranks write them together
  bool all_lazy_ = false;           // they are on all ranks
  bool keeps_writes_ = false;   // write-behind
  bool faults_are_errors_ = false;   // of storage_: see moves_by_system_calls()
  i64 first_mark_ = 0;          // of this open's writers
  BlockingDetector blocking_;    // as short nonblocking accesses and lists of pieces see it
  std::atomic<bool> closed_{false};   // or about to be: the storage is not to be flushed any more
  std::atomic<bool> atomic_{false};
  std::atomic<bool> dirty_{false};
  WritesUnderWay writes_;
  WritesUnderWay* counted_writes() { return context_.threads_call ? &writes_ : nullptr; }
  IndependentAccesses::Watch independent_accesses_{IndependentAccesses::of_process()};
  void note_change() const {   // of the file, by this rank alone
    if (comm_->size() == 1) IndependentAccesses::of_process().note();
  }
  bool publishes_ = false;                     // several ranks see writes after Storage::publish only; what follows is for such files
  std::atomic<i64> turns_{0};                  // collective writes so far
  PlanCache plans_;
  PatternMemory patterns_;
  LayoutKnown layout_;
  RunListCaches run_lists_;
  std::unique_ptr<Adapter> adapter_;   // null: mercutio_adapt is off
  mutable std::atomic<i64> sketches_{0};   // of collective accesses told to it
  ShortCalls sizes_, positions_;   // that ask for the size, and for the shared file pointer
  std::shared_ptr<InFlight> in_flight_ = std::make_shared<InFlight>();

  mutable std::mutex mutex_;  // guards what follows
  std::shared_ptr<const HintSet> hints_ = std::make_shared<HintSet>();
  i64 hints_edition_ = 1;   // of hints_
  FixedHints fixed_hints_;
  InfoItems last_info_;     // of this rank, which hold
  std::shared_ptr<const FileView> view_;
  DenseView dense_view_;   // of view_; read without the lock
  i64 views_ = 0;    // set so far
  i64 pointer_ = 0;  // etypes
  i64 next_channel_ MERCUTIO_GUARDED_BY(mutex_) = 0;
  std::optional<Split> split_ MERCUTIO_GUARDED_BY(mutex_);
  std::atomic<bool> in_split_{false};   // whether there is one
};

// glibc before 2.38 may not reuse the memory of an over-aligned object if the next block is in use. Memory would grow with each open.
static_assert(alignof(OpenFile) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

inline bool OpenFile::pause(i64 looks) {
  constexpr i64 kPatience = 32;
  context_.progress->progress(/*waits=*/true);   // another rank may wait for what this one has started before
  comm_->backoff(looks);
  return looks <= kPatience || !comm_->failed(/*may_call=*/true);
}

template <class Call>
auto OpenFile::short_call(TraceKind kind, ShortCalls& calls, Call call) const {
  const i64 times = trace_ ? calls.next() : 0;
  const i64 start_ns = times > 0 ? now_ns() : 0;
  auto result = call();
  if (times == 0) return result;
  const i64 end_ns = now_ns();
  calls.took(end_ns - start_ns);
  trace_short(kind, start_ns, end_ns, times);
  return result;
}

template <class T>
T OpenFile::wait_for(Task<T> task) {
  if (comm_->failed(/*may_call=*/true)) return rank_died();
  for (i64 spins = 0; !task.step();)
    if (!pause(++spins)) return rank_died();
  T result = task.take();
  if (!result && comm_->failed(/*may_call=*/true)) return rank_died();   // whatever it broke first
  return result;
}

}  // namespace mercutio
