// What is read of traces and pieces in one place: those of the job that is meant, and all that can be read of it.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "insight/job.h"
#include "insight/test_support.h"

namespace mercutio {
namespace {

// Empty, and removed afterwards.
class ReadTrace : public ::testing::Test {
 protected:
  ReadTrace() { EXPECT_NE(::mkdtemp(folder.data()), nullptr); }
  ~ReadTrace() override { std::filesystem::remove_all(folder); }
  std::string folder = ::testing::TempDir() + "read-trace-test-XXXXXX";
};

void write_to(const std::string& path, ConstBytes bytes) {
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

// As a node that crashes may leave them.
TEST_F(ReadTrace, OfPiecesThatAreDamagedTheOthersAreRead) {
  std::vector<std::vector<std::byte>> pieces;
  RecorderOptions options;
  options.ranks = 4;
  for (options.rank = 0; options.rank < 4; ++options.rank) pieces.push_back(make(options)->snapshot({}));
  write_to(folder + "/empty.piece", {});
  write_to(folder + "/a.piece", pieces[0]);
  write_to(folder + "/b.piece", ConstBytes(pieces[1]).first(pieces[1].size() / 2));
  std::vector<std::byte> node = pieces[2];   // two ranks, the second one is damaged
  node.insert(node.end(), pieces[3].begin(), pieces[3].end());
  std::fill_n(node.begin() + static_cast<std::ptrdiff_t>(pieces[2].size() + offsetof(PieceHeader, bin_ns)), sizeof(PieceHeader::bin_ns), std::byte{0xff});
  write_to(folder + "/c.piece", node);
  std::vector<std::string> notes;
  auto traces = read_trace(folder, &notes);
  ASSERT_TRUE(traces.ok()) << traces.error().what;
  ASSERT_EQ(traces->size(), 2u);
  EXPECT_EQ((*traces)[0].header.rank, 0);
  EXPECT_EQ((*traces)[1].header.rank, 2);
  EXPECT_EQ(notes.size(), 2u);
  std::filesystem::remove(folder + "/a.piece");
  std::filesystem::remove(folder + "/c.piece");
  EXPECT_FALSE(read_trace(folder).ok());
  std::filesystem::remove_all(folder);
}

// Two jobs with as many ranks at the same time. The second one's last rank has not opened anything yet.
TEST_F(ReadTrace, PiecesOfJobsAreToldApart) {
  RecorderOptions options;
  options.ranks = 4;
  std::vector<std::unique_ptr<Recorder>> running;
  for (options.rank = 0; options.rank < 4; ++options.rank) {
    for (const i64 job : {100, 200}) {   // in turns: neither is the newer one as a whole
      const bool first = (job == 100) == (options.rank % 2 == 0);
      options.piece_path = folder + (first ? "/a.piece" : "/b.piece");
      running.push_back(make(options));
      EXPECT_LT(*running.back()->job(), 0);
      if (job == 100 || options.rank < 3) *running.back()->job() = job;
      (void)running.back()->file(facts_of(std::to_string(job)));
    }
  }
  auto traces = read_trace(folder);
  ASSERT_TRUE(traces.ok() && traces->size() == 4);
  for (const RankTrace& one : *traces) EXPECT_EQ(text_in(one.files.at(0).name), "200") << one.header.rank;
  EXPECT_EQ(make()->job(), nullptr);
  std::filesystem::remove_all(folder);
}

// The clock of one node was set later.
TEST_F(ReadTrace, OfATraceAllRanksAreRead) {
  std::vector<std::byte> all;
  for (const i64 rank : {2, 0, 1}) {
    RecorderOptions options;
    options.rank = rank, options.ranks = 3;
    std::vector<std::byte> piece = make(options)->snapshot({});
    i64 start = 0;
    std::byte* const place = piece.data() + offsetof(PieceHeader, wall_start_ns);
    std::memcpy(&start, place, sizeof start);
    start -= rank * 3'600'000'000'000;
    std::memcpy(place, &start, sizeof start);
    all.insert(all.end(), piece.begin(), piece.end());
  }
  write_to(folder + "/app.mtrace", all);
  auto traces = read_trace(folder + "/app.mtrace");
  ASSERT_TRUE(traces.ok() && traces->size() == 3);
  for (i64 rank = 0; rank < 3; ++rank) EXPECT_EQ((*traces)[static_cast<std::size_t>(rank)].header.rank, rank);
  std::filesystem::remove_all(folder);
}

TEST_F(ReadTrace, TracesOfTwoJobsInAFileAreNotOne) {
  std::vector<std::byte> all = make()->snapshot({});
  const std::vector<std::byte> other = make()->snapshot({});
  write_to(folder + "/app.mtrace", all);
  EXPECT_TRUE(read_trace(folder + "/app.mtrace").ok());
  all.insert(all.end(), other.begin(), other.end());
  write_to(folder + "/app.mtrace", all);
  auto traces = read_trace(folder + "/app.mtrace");
  ASSERT_FALSE(traces.ok());
  EXPECT_NE(traces.error().what.find("more than one trace"), std::string::npos);
  std::filesystem::remove_all(folder);
}

// A job is killed, or still runs, whose trace has the name of an earlier one's.
TEST_F(ReadTrace, TheNewerOfATraceAndPiecesIsRead) {
  const std::string trace = folder + "/app.mtrace";
  std::filesystem::create_directory(trace + ".pieces");
  const auto job = [&](const std::string& file, bool ends) {
    auto recorder = make();
    (void)recorder->file(facts_of(file));
    write_to(ends ? trace : trace + ".pieces/node.piece", recorder->snapshot({}));
  };
  const auto found = [&](std::size_t notes_expected) {
    std::vector<std::string> notes;
    auto traces = read_trace(trace, &notes);
    EXPECT_TRUE(traces.ok() && traces->size() == 1);
    EXPECT_EQ(notes.size(), notes_expected);
    return std::string(text_in(traces->front().files.at(0).name));
  };
  job("first", false);
  EXPECT_EQ(found(0), "first");
  job("second", true);
  EXPECT_EQ(found(0), "second");
  job("third", false);
  EXPECT_EQ(found(1), "third");
  write_to(trace + ".pieces/node.piece", {});
  EXPECT_EQ(found(0), "second");
  std::vector<std::byte> damaged = make()->snapshot({});
  damaged.resize(damaged.size() / 2);
  write_to(trace + ".pieces/node.piece", damaged);
  EXPECT_EQ(found(1), "second") << "a note says that something is there, and can't be read";
  std::filesystem::remove_all(folder);
}

TEST_F(ReadTrace, DamagedPiecesAreErrors) {
  auto recorder = make();
  recorder->file(facts_of("data"))->record({TraceKind::kOpen, now_ns(), now_ns()});
  const std::vector<std::byte> piece = recorder->snapshot({});
  for (std::size_t cut = 1; cut < piece.size(); cut += 97)
    EXPECT_FALSE(parse_trace(ConstBytes(piece).first(cut)).ok()) << cut;
  for (std::size_t at = 0; at < sizeof(PieceHeader); at += 8) {
    std::vector<std::byte> changed = piece;
    for (std::size_t i = at; i < at + 8; ++i) changed[i] = std::byte{0x7f};
    (void)parse_trace(changed);  // an Error or not, but nothing else
  }
}

}  // namespace
}  // namespace mercutio
