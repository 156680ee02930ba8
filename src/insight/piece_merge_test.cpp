// What ranks recorded, brought together: messages and file are bounded at any number of ranks, sums are exact, what is kept of the calls
// stands for all ranks alike, and a rank that does not answer or has nothing holds up nobody.
#include "insight/piece_merge.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <map>
#include <numeric>

#include "insight/findings.h"
#include "insight/older_traces.h"
#include "insight/recorder.h"
#include "insight/replay.h"

namespace mercutio {
namespace {

using Bytes2 = std::vector<std::byte>;

// Messages of ranks that run one after the other, the highest first: whoever receives is later than who sends.
class Mail {
 public:
  std::map<std::pair<i64, i64>, Bytes2> waiting;
  i64 sent_by_zero = 0, received_by_zero = 0, messages_to_zero = 0, longest = 0;
};
class MailMover final : public PieceMover {
 public:
  MailMover(Mail& mail, i64 rank) : mail_(mail), rank_(rank) {}
  bool send(i64 to, Bytes2 pieces) override {
    mail_.longest = std::max(mail_.longest, static_cast<i64>(pieces.size()));
    if (rank_ == 0) mail_.sent_by_zero += static_cast<i64>(pieces.size());
    mail_.waiting[{rank_, to}] = std::move(pieces);
    return true;
  }
  bool receive(i64 from, Bytes2& pieces) override {
    const auto found = mail_.waiting.find({from, rank_});
    if (found == mail_.waiting.end()) return false;
    pieces = std::move(found->second);
    mail_.waiting.erase(found);
    if (rank_ == 0) mail_.received_by_zero += static_cast<i64>(pieces.size()), ++mail_.messages_to_zero;
    return true;
  }

 private:
  Mail& mail_;
  const i64 rank_;
};

// As of a program that writes blocks collectively with an aggregator among 64 ranks, and keeps a log in a file of its own.
struct Program {
  i64 ranks = 4, calls = 300, files = 1;
  i64 late = -1;     // waits for nobody
  i64 silent = -1;   // recorded nothing
  i64 damaged = -1;  // its events are in a file that isn't there
};
constexpr i64 kBlock = 1000, kCallNs = 1'000'000;

void wait_for_late_ranks(PhaseClock& clock, i64 ns) {
  clock.start(now_ns());
  clock.enter(Phase::kArrive);
  clock.start(now_ns() - ns);
  clock.stop();
}

Bytes2 piece_of(const Program& program, i64 rank, i64* mapped = nullptr) {
  RecorderOptions options;
  options.rank = rank, options.ranks = program.ranks;
  options.limit(limits_of(std::max<i64>(128 * KiB, 1024 * MiB / program.ranks)));
  auto recorder = std::move(*Recorder::make(options));
  std::vector<std::unique_ptr<TraceSink>> sinks;
  for (i64 file = 0; file < program.files; ++file) {
    FileFacts facts;
    facts.name = file == 0 ? "data" : "log." + std::to_string(rank) + "." + std::to_string(file);
    facts.rank = file == 0 ? rank : 0, facts.ranks = file == 0 ? program.ranks : 1, facts.nodes = (program.ranks + 63) / 64;
    sinks.push_back(recorder->file(facts));
    sinks.back()->note("hints", "cb_nodes=" + std::to_string((program.ranks + 63) / 64) + "\n");
  }
  if (rank == 0) recorder->note_run("job=4711\n");
  const i64 start = now_ns();
  for (i64 call = 0; call < program.calls; ++call) {
    TraceSink& sink = *sinks[static_cast<std::size_t>(call % program.files)];
    const i64 from = start + call * kCallNs, offset = (call * program.ranks + rank) * kBlock;
    if (rank % 64 == 0) {
      TraceEvent request{TraceKind::kStorageWrite, from, from + kCallNs / 2, 64 * kBlock, offset};
      request.span = 64 * kBlock;
      sink.record(request);
    }
    Counters counters;
    wait_for_late_ranks(counters.clock, rank == program.late ? 0 : 5 * kCallNs);
    AccessFacts facts;
    facts.direction = Direction::kWrite, facts.collective = true, facts.end_offset = offset + kBlock, facts.piece_bytes = kBlock;
    TraceEvent access{TraceKind::kAccess, from, from + kCallNs * 8 / 10, kBlock, offset, "MPI_File_write_at_all"};
    access.counters = &counters, access.access = &facts;
    sink.record(access);
  }
  recorder->finish();
  if (mapped) *mapped = std::max(*mapped, recorder->bytes());
  return recorder->snapshot_within(MergePlan(program.ranks).piece_bytes);
}

void damage(Bytes2& piece) {
  RankTrace trace = std::move(parse_trace(piece)->front());
  for (EventRecord& event : trace.events) event.file = 1000;
  piece = encoded(trace);
}

struct Merged {
  Mail mail;
  Bytes2 file;
  i64 longest_piece = 0, most_mapped = 0;
};
Merged merged(const Program& program) {
  Merged out;
  for (i64 rank = program.ranks - 1; rank >= 0; --rank) {
    MailMover mover(out.mail, rank);
    Bytes2 mine = rank == program.silent ? Bytes2() : piece_of(program, rank, &out.most_mapped);
    if (rank == program.damaged) damage(mine);
    out.longest_piece = std::max(out.longest_piece, static_cast<i64>(mine.size()));
    auto all = merge_pieces(mover, rank, program.ranks, std::move(mine));
    EXPECT_TRUE(all.ok());
    EXPECT_TRUE(rank == 0 || all->empty());
    if (rank == 0) out.file = std::move(*all);
  }
  EXPECT_TRUE(out.mail.waiting.empty());
  return out;
}

Job job_in(const Bytes2& file) {
  auto traces = parse_trace(file);
  EXPECT_TRUE(traces.ok());
  return job_of(std::move(*traces));
}

class Sizes : public ::testing::TestWithParam<i64> {};

TEST_P(Sizes, AreBoundedAtAnyNumberOfRanks) {
  Program program;
  program.ranks = GetParam(), program.calls = std::min<i64>(300, 409'600 / program.ranks);
  const Merged all = merged(program);
  i64 rounds = 0;
  while (i64{1} << rounds < program.ranks) ++rounds;
  EXPECT_EQ(all.mail.messages_to_zero, rounds) << "a binomial tree";
  EXPECT_EQ(all.mail.sent_by_zero, 0);
  EXPECT_LE(static_cast<i64>(all.file.size()), kTraceBytes);
  EXPECT_LE(all.mail.longest, kTraceBytes / 2);
  EXPECT_LE(all.mail.received_by_zero, kTraceBytes + rounds * MergePlan(program.ranks).piece_bytes * kPiecesOfBlock);
  EXPECT_LE(all.longest_piece, MergePlan(program.ranks).piece_bytes);
  EXPECT_LE(all.most_mapped, std::max<i64>(128 * KiB, std::min(1024 * MiB / program.ranks, 12 * MiB)) + 4096);
  RecordProperty("file_bytes", std::to_string(all.file.size()));
  RecordProperty("received_bytes", std::to_string(all.mail.received_by_zero));

  const Job job = job_in(all.file);
  EXPECT_EQ(job.known_ranks, program.ranks);
  EXPECT_TRUE(job.finished);
  EXPECT_EQ(job.hosts, (program.ranks + 63) / 64 > 1 && program.ranks > kMostPieces ? (program.ranks + 63) / 64 : 1);
  EXPECT_LE(static_cast<i64>(job.traces.size()), kMostPieces);
  ASSERT_EQ(job.files.size(), 1u);
  EXPECT_EQ(job.files[0].all.bytes(), program.ranks * program.calls * kBlock) << "exact";
  EXPECT_EQ(job.files[0].all.storage[1].bytes, (program.ranks + 63) / 64 * program.calls * 64 * kBlock);
  EXPECT_EQ(job.run.front().second, "4711");
  i64 in_bins = 0;
  for (const RankTrace& trace : job.traces)
    for (const TimeBin& bin : trace.bins) in_bins += bin.bytes[1];
  EXPECT_EQ(in_bins, job.files[0].all.bytes());
  std::array<i64, 2> in_map{};
  for (const MapRecord& map : job.files[0].maps)
    for (std::size_t kind = 0; kind < 2; ++kind) in_map[kind] = std::accumulate(map.bytes[kind].begin(), map.bytes[kind].end(), in_map[kind]);
  EXPECT_EQ(in_map[0], job.files[0].all.bytes());
  EXPECT_EQ(in_map[1], job.files[0].all.storage[1].bytes);
}
INSTANTIATE_TEST_SUITE_P(Ranks, Sizes, ::testing::Values(1, 4, 5, 64, 1024, 1025, 4096, 16384));

// Which ranks kept calls are of, and by how many bytes, is as it was.
TEST(PieceMerge, KeptCallsStandForAllRanksAlike) {
  Program program;
  program.ranks = 4096, program.calls = 100;
  const Job job = job_in(merged(program).file);
  std::map<i64, i64> bytes, of_part;
  i64 all = 0, rate = 1;
  for (const RankTrace& trace : job.traces) rate = std::max(rate, trace.header.calls_per_kept);
  for (const RankTrace& trace : job.traces) {
    for (const EventRecord& event : trace.events) {
      if (!kept_of(event.group, rate) || event.kind != static_cast<int>(TraceKind::kAccess)) continue;
      const i64 rank = trace.header.first_rank + event.member;
      EXPECT_EQ(event.offset / kBlock % program.ranks, rank) << "whose it is";
      bytes[rank] += event.bytes, of_part[rank / 256] += event.bytes, all += event.bytes;
    }
  }
  EXPECT_EQ(static_cast<i64>(bytes.size()), program.ranks);
  for (const auto& [part, sum] : of_part) EXPECT_NEAR(static_cast<double>(sum) / static_cast<double>(all), 1.0 / 16, 0.02 / 16) << part;
}

TEST(PieceMerge, RanksThatAreNotLikeTheOthersStayVisible) {
  Program program;
  program.ranks = 2048, program.calls = 100, program.late = 1234;
  const Job job = job_in(merged(program).file);
  for (const RankTrace& trace : job.traces) {
    if (trace.header.rank == 1234 || trace.header.rank % 64 == 0) {
      EXPECT_EQ(trace.header.members, 1) << trace.header.rank;
    }
  }
  bool named = false;
  for (const Finding& finding : all_findings(job)) named = named || finding.evidence.find("rank 1,234 ") != std::string::npos;
  EXPECT_TRUE(named) << verdict(job);
  EXPECT_FALSE(make_replay(job).ok());
}

TEST(PieceMerge, UpToTheMostPiecesEachRankIsAsItWas) {
  Program program;
  program.ranks = 200;
  const Job job = job_in(merged(program).file);
  ASSERT_EQ(job.traces.size(), 200u);
  EXPECT_TRUE(job.single_ranks());
  for (i64 rank = 0; rank < 200; ++rank) {
    const RankTrace& trace = job.traces[static_cast<std::size_t>(rank)];
    EXPECT_EQ(trace.header.rank, rank);
    EXPECT_EQ(trace.files[0].totals.bytes(), program.calls * kBlock);
    EXPECT_GE(static_cast<i64>(trace.events.size()), program.calls);
  }
}

TEST(PieceMerge, ManyFilesOfManyRanksBecomePatterns) {
  Program program;
  program.ranks = 1500, program.calls = 60, program.files = 30;
  const Merged all = merged(program);
  EXPECT_LE(static_cast<i64>(all.file.size()), kTraceBytes);
  const Job job = job_in(all.file);
  i64 bytes = 0, files = 0;
  for (const JobFile& file : job.files) bytes += file.all.bytes(), files += file.all.files;
  EXPECT_EQ(bytes, program.ranks * program.calls * kBlock);
  EXPECT_EQ(files, 1 + program.ranks * 29);
}

TEST(PieceMerge, ARankThatRecordedNothingIsMissing) {
  for (const i64 ranks : {7, 1500}) {
    Program program;
    program.ranks = ranks, program.calls = 10, program.silent = 4;
    const Job job = job_in(merged(program).file);
    EXPECT_EQ(job.known_ranks, ranks - 1);
    EXPECT_FALSE(job.finished);
    EXPECT_NE(verdict(job).find("1 rank left nothing"), std::string::npos);
  }
}

// Not those that it would be joined with.
TEST(PieceMerge, ARankWhosePieceIsDamagedIsMissing) {
  Program program;
  program.ranks = 1500, program.calls = 10, program.damaged = 5;
  const Job job = job_in(merged(program).file);
  EXPECT_EQ(job.known_ranks, program.ranks - 1);
  ASSERT_EQ(job.files.size(), 1u);
  EXPECT_EQ(job.files[0].all.bytes(), (program.ranks - 1) * program.calls * kBlock);
}

TEST(PieceMerge, ARankThatDoesNotAnswerIsAnError) {
  Mail mail;
  MailMover mover(mail, 2);
  const auto all = merge_pieces(mover, 2, 4, piece_of({}, 2));   // 3 has not sent
  ASSERT_FALSE(all.ok());
  EXPECT_NE(all.error().what.find("rank 3"), std::string::npos);
  EXPECT_TRUE(mail.waiting.empty());
}

// Times of ranks whose MPI_Init was later, and names of calls that have other numbers there.
TEST(PieceMerge, JoinedPiecesHaveOneClockAndOneListOfCalls) {
  const auto trace_with = [](i64 rank, i64 wall_ns, const std::string& call) {
    RankTrace trace;
    trace.header.rank = rank, trace.header.ranks = 2, trace.header.wall_start_ns = wall_ns, trace.header.end_ns = 5'000'000, trace.header.bin_ns = 1'000'000;
    trace.files.resize(1);
    put_text(trace.files[0].name, rank == 0 ? "a" : "b");
    trace.texts.push_back({TextKind::kCall, 0, 1, call});
    trace.events.resize(1);
    trace.events[0].start_ns = 100, trace.events[0].call = 1, trace.events[0].file = 0;
    trace.bins.resize(2);
    trace.bins[1].bytes[0] = 7;
    return trace;
  };
  RankTrace mine = trace_with(1, 1'003'000'000, "read");
  join(mine, trace_with(0, 1'000'000'000, "write"));
  auto again = parse_trace(encoded(mine));
  ASSERT_TRUE(again.ok());
  const RankTrace& both = again->front();
  EXPECT_EQ(both.header.members, 2);
  EXPECT_EQ(both.header.rank, 0);
  EXPECT_EQ(both.header.wall_start_ns, 1'000'000'000);
  EXPECT_EQ(both.header.end_ns, 5'000'000) << "the longest run, from its own start";
  ASSERT_EQ(both.events.size(), 2u);
  EXPECT_EQ(both.events[0].start_ns, 3'000'100);
  EXPECT_EQ(both.events[1].call, 2);
  EXPECT_EQ(both.events[1].file, 1);
  ASSERT_EQ(both.bins.size(), 5u);
  EXPECT_EQ(both.bins[1].bytes[0] + both.bins[4].bytes[0], 14);
}

// As a version before has written it: a shorter header, and totals of other names.
Bytes2 piece_of_version(i64 version) {
  Bytes2 piece = piece_of({}, 1);
  PieceHeader header;
  std::memcpy(static_cast<void*>(&header), piece.data(), sizeof header);
  Section& files = header.sections[kFilesSection];
  FileRecord record;
  std::memcpy(static_cast<void*>(&record), piece.data() + files.offset, sizeof record);
  if (version >= 12) {
    record.totals.close_ns = 8, record.totals.syncs = 7, record.totals.first_server = 9, record.totals.resizes = 6, record.totals.views = 5;
    record.totals.late_opening_ns = record.totals.late_sync_ns = record.totals.size_calls = record.totals.adapted_stored_bytes = 0;
    std::memcpy(piece.data() + files.offset, &record, file_record_bytes(version));
  }
  OldFileRecord old{.name = record.name, .close_ns = 8, .shortest_close_ns = 1, .syncs = 7, .first_server = 9, .classes = record.totals.classes};
  files.record_bytes = version >= 12 ? static_cast<i64>(file_record_bytes(version)) : sizeof old;
  if (version < 12) std::memcpy(piece.data() + files.offset, &old, sizeof old);
  const auto shorter = static_cast<i64>(sizeof header - header_bytes(version));
  header.version = version;
  header.piece_bytes -= shorter;
  for (Section& section : header.sections) section.offset -= shorter;
  std::memcpy(piece.data(), &header, sizeof header);
  piece.erase(piece.begin() + static_cast<std::ptrdiff_t>(header_bytes(version)), piece.begin() + sizeof header);
  return piece;
}

TEST(PieceMerge, PiecesOfTheVersionsBeforeAreRead) {
  for (const i64 version : {9, 10, 11, 12, 13, 14}) {
    auto traces = parse_trace(piece_of_version(version));
    ASSERT_TRUE(traces.ok()) << traces.error().what;
    const RankTrace& trace = traces->front();
    EXPECT_EQ(trace.header.members, 1);
    EXPECT_EQ(trace.header.first_rank, 1);
    EXPECT_EQ(trace.header.held_ns > 0, version >= 11);
    const FileTotals& totals = trace.files[0].totals;
    EXPECT_EQ(totals.bytes(), Program().calls * kBlock);
    EXPECT_EQ(totals.close_ns, 8);
    EXPECT_EQ(totals.syncs, 7);
    EXPECT_EQ(totals.first_server, 9);
    EXPECT_EQ(totals.resizes, version >= 13 ? 6 : 0);
    EXPECT_EQ(totals.views, version >= 14 ? 5 : 0);
    EXPECT_TRUE(totals.names.none());
    EXPECT_EQ(totals.setting_ns + totals.late_setting_ns + trace.header.failed_opens, 0);
    EXPECT_EQ(totals.late_opening_ns + totals.late_sync_ns + totals.size_calls + totals.adapted_stored_bytes, 0);
    EXPECT_GT(job_of(std::move(*traces)).held_seconds(0), 0);
  }
}

TEST(PieceMerge, PiecesOfVersionsThatAreNotReadAreRefused) {
  for (const i64 version : {kOldestVersion - 1, kTraceVersion + 1}) {
    Bytes2 piece = piece_of({}, 1);
    std::memcpy(piece.data() + offsetof(PieceHeader, version), &version, sizeof version);
    auto traces = parse_trace(piece);
    ASSERT_FALSE(traces.ok());
    for (const i64 named : {version, kOldestVersion, kTraceVersion})
      EXPECT_NE(traces.error().what.find(std::to_string(named)), std::string::npos) << traces.error().what;
  }
}

}  // namespace
}  // namespace mercutio
