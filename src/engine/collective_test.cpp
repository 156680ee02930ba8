#include <gtest/gtest.h>

#include <numeric>

#include "comm/in_process.h"
#include "engine/engine.h"
#include "engine/progress/progress.h"
#include "engine/test_support.h"

namespace mercutio {
namespace {

using namespace mercutio::testing;

Hints random_hints(Random& random, i64 ranks) {
  static constexpr Toggle kToggles[] = {Toggle::kAutomatic, Toggle::kEnable, Toggle::kEnable, Toggle::kDisable};
  static constexpr i64 kBuffers[] = {1, 16, 64, 1000, 8 * MiB};
  Hints hints;
  hints.romio_cb_read = hints.romio_cb_write = kToggles[pick(random, 0, 3)];
  hints.romio_ds_write = pick(random, 0, 3) == 0 ? Toggle::kDisable : Toggle::kAutomatic;
  hints.cb_buffer_size = kBuffers[pick(random, 0, 4)];
  hints.cb_nodes = pick(random, 0, ranks + 1);
  hints.mercutio_exchange = pick(random, 0, 1) ? WantedExchange::kAuto : WantedExchange::kTwoLayer;
  hints.mercutio_throttle = pick(random, 0, 2);
  hints.mercutio_depth = pick(random, 0, 3);
  if (pick(random, 0, 2) == 0) hints.mercutio_domains = WantedDomains::kStripeCyclic;
  return hints;
}

// Ranks in any order on up to three nodes. Every node has at least one rank.
Topology random_topology(Random& random, i64 ranks) {
  const i64 nodes = std::min(ranks, pick(random, 1, 3));
  Topology topology;
  for (i64 node = 0; node < nodes; ++node) topology.node_names.push_back("n" + std::to_string(node));
  for (i64 rank = 0; rank < ranks; ++rank) topology.node_of_rank.push_back(rank < nodes ? rank : pick(random, 0, nodes - 1));
  std::shuffle(topology.node_of_rank.begin(), topology.node_of_rank.end(), random);
  return topology;
}

// Views that tile the file: rank r has every P-th block.
OwnedAccess tiling_access(Random& random, Direction direction, std::pair<i64, i64> rank_of, i64 block, i64 bytes) {
  const auto [rank, ranks] = rank_of;
  auto type = make_resized(0, block * ranks, make_contiguous(block, byte_type()));
  return make_access(direction, make_view(block * rank, type), 0, bytes, random_memory_type(random, bytes));
}

// Pieces of random length and unit, each owned by a random rank or by none. Returns the access of each rank.
std::vector<OwnedAccess> patchwork(Random& random, Direction direction, i64 ranks) {
  std::vector<Numbers> lengths(static_cast<size_t>(ranks)), displacements(static_cast<size_t>(ranks));
  const i64 unit = i64{1} << pick(random, 0, 4);
  i64 at = 0;
  for (i64 piece = pick(random, 1, 120); piece > 0; --piece) {
    const i64 owner = pick(random, 0, pick(random, 0, 1) ? ranks : ranks - 1), length = unit * pick(random, 1, 9);
    if (owner < ranks) {
      lengths[static_cast<size_t>(owner)].push_back(length);
      displacements[static_cast<size_t>(owner)].push_back(at);
    }
    at += length;
  }
  std::vector<OwnedAccess> all;
  for (size_t rank = 0; rank < lengths.size(); ++rank) {
    const i64 bytes = std::accumulate(lengths[rank].begin(), lengths[rank].end(), i64{0});
    const TypeSpecRef type = bytes > 0 ? make_hindexed(lengths[rank], displacements[rank], byte_type()) : byte_type();
    all.push_back(make_access(direction, make_view(unit * 3, type), 0, bytes, random_memory_type(random, bytes)));
  }
  return all;
}

class Collective : public ::testing::TestWithParam<i64> {};

TEST_P(Collective, RandomWrites) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Random shared(seed);
    SharedFile file;
    file.traits.can_lock = pick(shared, 0, 3) > 0;
    file.bytes = random_bytes(shared, pick(shared, 0, 300));
    const Hints hints = random_hints(shared, GetParam());
    const bool tiling = pick(shared, 0, 2) == 0, readable = pick(shared, 0, 3) > 0;
    const i64 block = pick(shared, 1, 20), bytes = pick(shared, 1, 200);
    WriteOracle oracle(file.bytes);
    std::vector<OwnedAccess> all;
    for (i64 rank = 0; rank < GetParam(); ++rank) {
      Random random(seed * 1000 + static_cast<std::uint64_t>(rank));
      all.push_back(tiling ? tiling_access(random, Direction::kWrite, {rank, GetParam()}, block, bytes)
                           : random_access(random, Direction::kWrite, 200));
      fill_memory(random, all.back());
      oracle.add(all.back());
    }
    const bool shares_memory = seed % 2 == 1 && !(kRacesAreReported && oracle.some_byte_twice());
    run_ranks(GetParam(), [&](Comm& comm) {
      const auto arena = arena_of(comm);
      TestStorage storage(file);
      std::atomic<bool> dirty{false};
      OwnedAccess& owned = all[static_cast<size_t>(comm.rank())];
      EngineFile engine_file{&storage, &comm, &hints, nullptr, &dirty, readable};
      auto moved = drive(comm, collective(engine_file, channel_of(comm, 5, arena), owned.access, {}));
      ASSERT_TRUE(moved.ok()) << "seed " << seed << ": " << moved.error().what;
      ASSERT_EQ(*moved, owned.access.bytes);
      ASSERT_TRUE(readable || storage.counts.reads == 0);
      ASSERT_TRUE(storage.counts.writes == 0 || dirty.load());
    }, random_topology(shared, GetParam()), shares_memory);
    ASSERT_EQ(oracle.first_wrong(file.bytes), -1) << "seed " << seed;
    ASSERT_TRUE(file.locks.empty());
  }
}

// Several operations on one file in succession, so that the memory of the node is reused.
TEST_P(Collective, AlternateWritesAndReadsOfRandomPieces) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Random shared(seed);
    SharedFile file;
    file.bytes = random_bytes(shared, pick(shared, 0, 2000));
    const Hints hints = random_hints(shared, GetParam());
    std::vector<std::vector<OwnedAccess>> steps;
    std::vector<std::vector<std::byte>> contents;   // before each step
    std::vector<std::byte> content = file.bytes;
    for (i64 step = 0; step < 4; ++step) {
      contents.push_back(content);
      const Direction direction = pick(shared, 0, 2) ? Direction::kWrite : Direction::kRead;
      steps.push_back(patchwork(shared, direction, GetParam()));
      for (OwnedAccess& owned : steps.back()) {
        if (direction == Direction::kRead) continue;
        fill_memory(shared, owned);
        for (i64 i = 0; i < owned.access.bytes; ++i) {
          const size_t offset = static_cast<size_t>(owned.file_offset(i));
          if (content.size() <= offset) content.resize(offset + 1);
          content[offset] = owned.at(i);
        }
      }
    }
    run_ranks(GetParam(), [&](Comm& comm) {
      const auto arena = arena_of(comm);
      TestStorage storage(file);
      std::atomic<bool> dirty{false};
      EngineFile engine_file{&storage, &comm, &hints, nullptr, &dirty, true};
      for (size_t step = 0; step < steps.size(); ++step) {
        OwnedAccess& owned = steps[step][static_cast<size_t>(comm.rank())];
        auto moved = drive(comm, collective(engine_file, channel_of(comm, static_cast<i64>(step), arena), owned.access, {}));
        ASSERT_TRUE(moved.ok()) << "seed " << seed << ": " << moved.error().what;
        if (owned.access.direction == Direction::kWrite) {
          ASSERT_EQ(*moved, owned.access.bytes);
        } else {
          ASSERT_TRUE(read_is_right(owned, contents[step], *moved)) << "seed " << seed << " step " << step;
        }
      }
    }, random_topology(shared, GetParam()));
    ASSERT_EQ(file.bytes, content) << "seed " << seed;
  }
}

TEST_P(Collective, RandomReadsCountExactlyToEndOfFile) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Random shared(seed);
    SharedFile file;
    file.traits.coherence = pick(shared, 0, 3) > 0 ? Coherence::kImmediate : Coherence::kAfterOpen;
    file.traits.metadata_is_remote = pick(shared, 0, 3) == 0;
    file.traits.remote_cluster = file.traits.metadata_is_remote && pick(shared, 0, 1) == 0;
    file.bytes = random_bytes(shared, pick(shared, 0, 3) == 0 ? 0 : pick(shared, 0, 800));
    file.known_size = pick(shared, 0, static_cast<i64>(file.bytes.size()));
    const Hints hints = random_hints(shared, GetParam());
    const bool tiling = pick(shared, 0, 2) == 0;
    const i64 block = pick(shared, 1, 20), bytes = pick(shared, 1, 200);
    run_ranks(GetParam(), [&](Comm& comm) {
      const auto arena = arena_of(comm);
      Random random(seed * 1000 + static_cast<std::uint64_t>(comm.rank()));
      TestStorage storage(file);
      OwnedAccess owned = tiling ? tiling_access(random, Direction::kRead, {comm.rank(), comm.size()}, block, bytes)
                                 : random_access(random, Direction::kRead, 200);
      EngineFile engine_file{&storage, &comm, &hints, nullptr, nullptr, true};
      auto moved = drive(comm, collective(engine_file, channel_of(comm, 5, arena), owned.access, {}));
      ASSERT_TRUE(moved.ok()) << "seed " << seed << ": " << moved.error().what;
      if (file.traits.coherence != Coherence::kImmediate && !file.traits.remote_cluster) {   // bytes of the buffer beyond the end of the file may be cleared there
        for (i64 i = *moved; i < owned.access.bytes; ++i) owned.at(i) = std::byte{0xEE};
      }
      ASSERT_TRUE(read_is_right(owned, file.bytes, *moved)) << "seed " << seed << " rank " << comm.rank();
    }, random_topology(shared, GetParam()), /*shared_memory=*/seed % 2 == 1);
  }
}

// A server's size is asked for only by reads beyond the known size, because each request is a message.
TEST_P(Collective, OnlyReadsBeyondTheKnownSizeAskTheServer) {
  SharedFile file;
  file.traits.metadata_is_remote = true;
  file.bytes.resize(static_cast<size_t>(100 * GetParam()));
  file.known_size = 50 * GetParam();
  Hints hints;
  hints.romio_cb_read = Toggle::kEnable;
  run_ranks(GetParam(), [&](Comm& comm) {
    const auto arena = arena_of(comm);
    TestStorage storage(file);
    EngineFile engine_file{&storage, &comm, &hints, nullptr, nullptr, true};
    const auto type = make_resized(0, 10 * comm.size(), make_contiguous(10, byte_type()));
    for (const i64 bytes : {50, 60, 120}) {
      OwnedAccess owned = make_access(Direction::kRead, make_view(10 * comm.rank(), type), 0, bytes, make_contiguous(bytes, byte_type()));
      ASSERT_EQ(drive(comm, collective(engine_file, channel_of(comm, bytes, arena), owned.access, {})).value(), std::min<i64>(bytes, 100));
      ASSERT_EQ(storage.counts.sizes, comm.rank() > 0 || bytes == 50 ? 0 : bytes == 60 ? 1 : 2);
    }
  });
}

TEST_P(Collective, DisplacementsMayChangeFromAccessToAccess) {
  SharedFile file;
  Hints hints;
  hints.romio_cb_write = Toggle::kEnable;
  run_ranks(GetParam(), [&](Comm& comm) {
    const auto arena = arena_of(comm);
    TestStorage storage(file);
    EngineFile engine_file{&storage, &comm, &hints, nullptr, nullptr, true};
    auto type = make_resized(0, 8 * comm.size(), make_contiguous(8, byte_type()));
    for (i64 step = 0; step < 3; ++step) {
      OwnedAccess owned = make_access(Direction::kWrite, make_view(step * 80 * comm.size() + 8 * comm.rank(), type), 0, 80,
                                      make_contiguous(80, byte_type()));
      std::fill(owned.buffer.begin(), owned.buffer.end(), static_cast<std::byte>(1 + comm.rank() + 10 * step));
      ASSERT_EQ(drive(comm, collective(engine_file, channel_of(comm, step, arena), owned.access, {})).value(), 80);
    }
  }, {}, /*shared_memory=*/false);
  ASSERT_EQ(static_cast<i64>(file.bytes.size()), 3 * 80 * GetParam());
  for (size_t i = 0; i < file.bytes.size(); ++i) {
    const i64 offset = static_cast<i64>(i), step = offset / (80 * GetParam()), rank = offset / 8 % GetParam();
    ASSERT_EQ(file.bytes[i], static_cast<std::byte>(1 + rank + 10 * step)) << i;
  }
}

TEST_P(Collective, NoRankMovesDataIfOneHasFailed) {
  SharedFile file;
  const Hints hints;
  run_ranks(GetParam(), [&](Comm& comm) {
    const auto arena = arena_of(comm);
    TestStorage storage(file);
    EngineFile engine_file{&storage, &comm, &hints, nullptr, nullptr, true};
    OwnedAccess owned = make_access(Direction::kWrite, make_view(0, byte_type()), 100 * comm.rank(), 100, make_contiguous(100, byte_type()));
    CollectiveOptions options;
    Access access = owned.access;
    if (comm.rank() == comm.size() - 1) {
      options.entry = Error{ErrorClass::kCount, "negative count"};
      access = Access{};
      access.direction = Direction::kWrite;
    }
    auto moved = drive(comm, collective(engine_file, channel_of(comm, 0, arena), access, options));
    ASSERT_FALSE(moved.ok());
    EXPECT_EQ(moved.error().cls, ErrorClass::kCount);
    EXPECT_NE(moved.error().what.find("negative count"), std::string::npos);
  }, {}, /*shared_memory=*/false);
  EXPECT_TRUE(file.bytes.empty());
}

TEST_P(Collective, AtomicAccessesDoNotInterleave) {
  SharedFile file;
  const Hints hints;
  run_ranks(GetParam(), [&](Comm& comm) {
    const auto arena = arena_of(comm);
    TestStorage storage(file);
    EngineFile engine_file{&storage, &comm, &hints, nullptr, nullptr, true};
    OwnedAccess owned = make_access(Direction::kWrite, make_view(0, make_resized(0, 4, make_contiguous(2, byte_type()))), 0, 1000,
                                    make_contiguous(1000, byte_type()));
    std::fill(owned.buffer.begin(), owned.buffer.end(), static_cast<std::byte>(1 + comm.rank()));
    CollectiveOptions options;
    options.atomic = true;
    ASSERT_TRUE(drive(comm, collective(engine_file, channel_of(comm, 0, arena), owned.access, options)).ok());
  }, {}, /*shared_memory=*/false);
  for (size_t i = 0; i < file.bytes.size(); i += 4) ASSERT_EQ(file.bytes[i], file.bytes[0]) << i;
}

TEST_P(Collective, LargeChunksAndContiguousMemory) {
  SharedFile file;
  Hints hints;
  hints.romio_cb_write = hints.romio_cb_read = Toggle::kEnable;
  hints.cb_buffer_size = 700000;
  const i64 block = 100000, blocks = 12;
  run_ranks(GetParam(), [&](Comm& comm) {
    const auto arena = arena_of(comm);
    TestStorage storage(file);
    EngineFile engine_file{&storage, &comm, &hints, nullptr, nullptr, true};
    auto type = make_resized(0, block * comm.size(), make_contiguous(block, byte_type()));
    Random random(static_cast<std::uint64_t>(comm.rank()));
    OwnedAccess out = make_access(Direction::kWrite, make_view(block * comm.rank(), type), 0, block * blocks, make_contiguous(block * blocks, byte_type()));
    fill_memory(random, out);
    ASSERT_EQ(drive(comm, collective(engine_file, channel_of(comm, 0, arena), out.access, {})).value(), block * blocks);
    OwnedAccess in = make_access(Direction::kRead, out.access.view, 0, block * blocks, make_contiguous(block * blocks, byte_type()));
    ASSERT_EQ(drive(comm, collective(engine_file, channel_of(comm, 0, arena), in.access, {})).value(), block * blocks);
    ASSERT_EQ(in.buffer, out.buffer);
  }, {}, /*shared_memory=*/false);
}

TEST_P(Collective, SeveralInFlightOnOneFile) {
  SharedFile file;
  Hints hints;
  hints.romio_cb_write = Toggle::kEnable;
  hints.cb_buffer_size = 100;
  run_ranks(GetParam(), [&](Comm& comm) {
    const auto arena = arena_of(comm);
    TestStorage storage(file);
    std::atomic<bool> dirty{false};
    EngineFile engine_file{&storage, &comm, &hints, nullptr, &dirty, true};
    auto progress = make_progress_thread();
    auto type = make_resized(0, 10 * comm.size(), make_contiguous(10, byte_type()));
    std::vector<OwnedAccess> owned;
    std::vector<RequestRef> requests;
    for (i64 i = 0; i < 4; ++i) {
      owned.push_back(make_access(Direction::kWrite, make_view(10 * comm.rank(), type), 200 * i, 200, make_contiguous(200, byte_type())));
      std::fill(owned.back().buffer.begin(), owned.back().buffer.end(), static_cast<std::byte>(1 + comm.rank() + 10 * i));
    }
    for (i64 i = 0; i < 4; ++i) {
      requests.push_back(progress->start({collective(engine_file, channel_of(comm, i, arena), owned[static_cast<size_t>(i)].access, {}), true, nullptr, nullptr}));
    }
    for (auto& request : requests) ASSERT_EQ(request->wait().value(), 200);
  }, {}, /*shared_memory=*/false);
  for (size_t i = 0; i < file.bytes.size(); ++i) {
    const i64 offset = static_cast<i64>(i), rank = offset / 10 % GetParam(), round = offset / (200 * GetParam());
    ASSERT_EQ(file.bytes[i], static_cast<std::byte>(1 + rank + 10 * round)) << i;
  }
}

// 128 bytes in each 64 KiB: aggregators read the requested bytes, not whole windows.
TEST_P(Collective, SparseReadsSkipHoles) {
  constexpr i64 kPiece = 128, kPitch = 64 * KiB, kPieces = 40;
  const i64 ranks = GetParam();
  for (const WantedExchange exchange : {WantedExchange::kAuto, WantedExchange::kMessages, WantedExchange::kTwoLayer}) {
    Random shared(7);
    SharedFile file;
    file.bytes = random_bytes(shared, kPieces * ranks * kPitch);
    Hints hints;
    hints.romio_cb_read = Toggle::kEnable;
    hints.mercutio_exchange = exchange;
    hints.cb_buffer_size = 300 * KiB;
    std::atomic<i64> read{0};
    const bool nodes = exchange == WantedExchange::kTwoLayer && ranks > 1;
    Topology topology{std::vector<i64>(static_cast<size_t>(ranks), 0), {"a"}};
    for (i64 rank = 0; nodes && rank < ranks; ++rank) topology.node_of_rank[static_cast<size_t>(rank)] = rank % 2;
    if (nodes) topology.node_names.push_back("b");
    run_ranks(ranks, [&](Comm& comm) {
      const auto arena = arena_of(comm);
      TestStorage storage(file);
      EngineFile engine_file{&storage, &comm, &hints, nullptr, nullptr, true};
      const ViewRef view = make_view(kPitch * comm.rank(), make_resized(0, kPitch * ranks, make_contiguous(kPiece, byte_type())));
      OwnedAccess owned = make_access(Direction::kRead, view, 0, kPiece * kPieces, make_contiguous(kPiece * kPieces, byte_type()));
      auto moved = drive(comm, collective(engine_file, channel_of(comm, 5, arena), owned.access, {}));
      ASSERT_EQ(moved.value(), kPiece * kPieces);
      ASSERT_TRUE(read_is_right(owned, file.bytes, *moved)) << word_of(exchange) << " rank " << comm.rank();
      read += storage.counts.bytes_read;
    }, topology);
    EXPECT_EQ(read, ranks * kPiece * kPieces) << word_of(exchange);
  }
}

// Streams of several nodes to one aggregator, with more windows in flight than it has memory for.
TEST(TwoLayer, ManyNodesShareOneAggregatorsMemory) {
  constexpr i64 kBlock = 4096, kBlocks = 1024, kRanks = 8;
  const Topology topology{{0, 0, 1, 1, 2, 2, 3, 3}, {"a", "b", "c", "d"}};
  SharedFile file;
  Hints hints;
  hints.romio_cb_read = hints.romio_cb_write = Toggle::kEnable;
  hints.mercutio_exchange = WantedExchange::kTwoLayer;
  hints.cb_nodes = 1;
  const auto value_at = [](i64 offset) { return static_cast<std::byte>(offset / kBlock * 7 + offset % 251); };
  run_ranks(kRanks, [&](Comm& comm) {
    const auto arena = arena_of(comm);
    TestStorage storage(file);
    std::atomic<bool> dirty{false};
    EngineFile engine_file{&storage, &comm, &hints, nullptr, &dirty, true};
    const auto type = make_resized(0, kBlock * kRanks, make_contiguous(kBlock, byte_type()));
    const ViewRef view = make_view(kBlock * comm.rank(), type);
    for (const Direction direction : {Direction::kWrite, Direction::kRead}) {
      OwnedAccess owned = make_access(direction, view, 0, kBlock * kBlocks, make_contiguous(kBlock * kBlocks, byte_type()));
      for (i64 i = 0; direction == Direction::kWrite && i < owned.access.bytes; ++i) owned.at(i) = value_at(owned.file_offset(i));
      const i64 tag = direction == Direction::kWrite ? 0 : kTagsPerOperation;
      auto moved = drive(comm, collective(engine_file, channel_of(comm, tag, arena), owned.access, {}));
      ASSERT_TRUE(moved.ok()) << moved.error().what;
      ASSERT_EQ(*moved, owned.access.bytes);
      for (i64 i = 0; i < owned.access.bytes; ++i) ASSERT_EQ(owned.at(i), value_at(owned.file_offset(i))) << i;
    }
  }, topology);
  ASSERT_EQ(static_cast<i64>(file.bytes.size()), kBlock * kBlocks * kRanks);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Collective, ::testing::Values(1, 2, 3, 4, 7));

}  // namespace
}  // namespace mercutio
