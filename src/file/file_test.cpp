// File semantics the random programs of tests/model don't reach: arguments, modes, agreement on errors, split misuse.
#include "file/test_support.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <thread>

#include "engine/agreement/node_arena.h"
#include "file/buffers.h"

namespace mercutio {
namespace {

TEST(File, BadAccessModesFailAlikeOnAllRanks) {
  const Amode bad[] = {Amode{}, mode({&Amode::read_only, &Amode::create}), mode({&Amode::read_only, &Amode::exclusive}),
                       mode({&Amode::read_only, &Amode::write_only}), mode({&Amode::read_write, &Amode::sequential})};
  for (const Amode& amode : bad)
    on_ranks(3, [&](Rank& rank, std::unique_ptr<Comm> comm) {
      EXPECT_EQ(class_of(open(rank, std::move(comm), "memory:never", amode)), ErrorClass::kAmode);
    });
}

// How often all ranks have agreed on something, or learned something, in their node's memory since `since`.
class Steps {
 public:
  explicit Steps(Comm& comm) : arena_(NodeArena::of(comm)), last_(next()) {}
  i64 taken() {
    const i64 now = next(), steps = now - last_ - 1;
    last_ = now;
    return steps;
  }

 private:
  i64 next() const {
    const i64 ticket = arena_->issue_ticket();
    arena_->return_ticket(ticket);
    return ticket;
  }
  const std::shared_ptr<NodeArena> arena_;
  i64 last_;
};

TEST(File, FewStepsToOpenAndClose) {
  const struct {
    Amode amode;
    i64 open_steps, close_steps;
  } cases[] = {{kReadWrite, 3, 1},
               {mode({&Amode::read_write, &Amode::create, &Amode::append, &Amode::delete_on_close}), 3, 1},
               {mode({&Amode::read_only}), 2, 1},
               {mode({&Amode::read_write, &Amode::append}), 2, 1}};
  const std::string name = unique_name();
  for (const auto& [amode, open_steps, close_steps] : cases) {
    if (!amode.create) on_ranks(3, [&](Rank& rank, std::unique_ptr<Comm> comm) { ASSERT_TRUE((*open(rank, std::move(comm), name, kReadWrite))->close()); });
    on_ranks(3, [&](Rank& rank, std::unique_ptr<Comm> comm) {
      Steps steps(*comm);
      auto file = open(rank, std::move(comm), name, amode);
      ASSERT_TRUE(file);
      EXPECT_EQ(steps.taken(), open_steps);
      EXPECT_TRUE((*file)->set_view({0, byte_type(), byte_type(), "native", {}}));
      EXPECT_EQ(steps.taken(), 1);
      if (!amode.read_only) {
        EXPECT_TRUE((*file)->set_size(100));
        EXPECT_EQ(steps.taken(), 1);
      }
      EXPECT_TRUE((*file)->close());
      EXPECT_EQ(steps.taken(), close_steps);
    });
  }
}

// The steps are those of rank 0's mode.
TEST(File, ModesThatAskForOtherStepsFailAlike) {
  const std::string name = unique_name();
  const Amode plain = mode({&Amode::read_write}), append = mode({&Amode::read_write, &Amode::append});
  on_ranks(3, [&](Rank& rank, std::unique_ptr<Comm> comm) { ASSERT_TRUE((*open(rank, std::move(comm), name, kReadWrite))->close()); });
  for (const auto& [of_first, of_others] : {std::pair(plain, append), std::pair(append, plain), std::pair(plain, kReadWrite), std::pair(kReadWrite, plain)})
    on_ranks(3, [&, of_first = of_first, of_others = of_others](Rank& rank, std::unique_ptr<Comm> comm) {
      const Amode& mine = comm->rank() == 0 ? of_first : of_others;
      EXPECT_EQ(class_of(open(rank, std::move(comm), name, mine)), ErrorClass::kNotSame);
    });
}

TEST(File, DifferingAccessModes) {
  on_ranks(3, [](Rank& rank, std::unique_ptr<Comm> comm) {
    const Amode amode = comm->rank() == 2 ? mode({&Amode::write_only, &Amode::create}) : kReadWrite;
    EXPECT_EQ(class_of(open(rank, std::move(comm), "memory:never", amode)), ErrorClass::kNotSame);
  });
}

TEST(File, NoSuchFileAndFileExistsOnEveryRank) {
  const std::string name = unique_name();
  on_ranks(3, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    EXPECT_EQ(class_of(open(rank, std::move(comm), name, mode({&Amode::read_write}))), ErrorClass::kNoSuchFile);
  });
  on_ranks(1, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    auto file = open(rank, std::move(comm), name, kReadWrite);
    ASSERT_TRUE(file);
    EXPECT_TRUE((*file)->close());
  });
  on_ranks(3, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    const Amode amode = mode({&Amode::read_write, &Amode::create, &Amode::exclusive});
    EXPECT_EQ(class_of(open(rank, std::move(comm), name, amode)), ErrorClass::kFileExists);
  });
  EXPECT_TRUE(delete_file(name, {}));
  EXPECT_EQ(class_of(delete_file(name, {})), ErrorClass::kNoSuchFile);
}

TEST(File, DeleteOnClose) {
  const std::string name = unique_name();
  on_ranks(2, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    auto file = open(rank, std::move(comm), name, mode({&Amode::read_write, &Amode::create, &Amode::delete_on_close}));
    ASSERT_TRUE(file);
    EXPECT_TRUE((*file)->close());
  });
  EXPECT_EQ(class_of(delete_file(name, {})), ErrorClass::kNoSuchFile);
}

TEST(File, DeleteOnCloseAcceptsThatTheFileIsGone) {
  const std::string name = unique_name();
  on_ranks(2, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    const bool first = comm->rank() == 0;
    auto file = open(rank, std::move(comm), name, mode({&Amode::read_write, &Amode::create, &Amode::delete_on_close}));
    ASSERT_TRUE(file);
    if (first) {
      EXPECT_TRUE(delete_file(name, {}));
    }
    EXPECT_TRUE((*file)->close());
  });
}

TEST(File, HintNotesSayWhatBecameOfEachHint) {
  const std::string name = unique_name();
  on_ranks(3, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    const i64 me = comm->rank();
    const InfoItems given[] = {{{"cb_nodes", "64"}, {"mystery", "1"}}, {{"cb_nodes", "2"}}, {}};
    auto file = std::move(*open(rank, std::move(comm), name, kReadWrite, given[me]));
    const auto value_of = [&](const std::string& key) {
      for (const auto& item : file->info())
        if (item.first == key) return item.second;
      return std::string();
    };
    const auto note_of = [&](const std::string& key, const std::string& value) {
      for (const HintNote& note : file->hint_notes()->notes)
        if (note.key == key && note.value == value) return note;
      return HintNote{};
    };
    EXPECT_EQ(value_of("cb_nodes"), "3") << "no more than ranks";
    if (me == 0) {
      EXPECT_EQ(note_of("cb_nodes", "64").status, HintStatus::kIneffective);
      EXPECT_EQ(note_of("mystery", "1").status, HintStatus::kUnknown);
    }
    if (me == 1) {
      EXPECT_EQ(note_of("cb_nodes", "2").why_not, "rank 0 decides, and gave another value");
    }
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(file->set_info(given[me]));
    EXPECT_LE(file->hint_notes()->notes.size(), 2u) << "the list doesn't grow";
    EXPECT_TRUE(file->set_info(me == 0 ? InfoItems{} : InfoItems{{"cb_buffer_size", "1MiB"}}));
    if (me > 0) {
      EXPECT_EQ(note_of("cb_buffer_size", "1MiB").why_not, "rank 0 decides, and gave none");
    }
    EXPECT_TRUE(file->set_info({{"cb_nodes", "1"}}));
    EXPECT_EQ(value_of("cb_nodes"), "1");
    Status damaged = me == 1 ? Status(Error{ErrorClass::kInfo, "no memory for the list"}) : ok_status();
    EXPECT_EQ(class_of(file->set_info({{"cb_nodes", "2"}}, std::move(damaged))), ErrorClass::kInfo);
    EXPECT_EQ(value_of("cb_nodes"), "1") << "all ranks keep the hints they had";
    EXPECT_TRUE(file->close());
  });
}

TEST(File, WhatTheModeForbids) {
  const std::string name = unique_name();
  on_ranks(2, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    const i64 place = 8 * comm->rank();
    auto file = std::move(*open(rank, std::move(comm), name, mode({&Amode::write_only, &Amode::create})));
    std::vector<std::byte> data(8);
    AccessCall read = call_of(Direction::kRead, data);
    EXPECT_EQ(class_of(file->access(read)), ErrorClass::kAccess);
    read.collective = true;
    EXPECT_EQ(class_of(file->access(read)), ErrorClass::kAccess);
    EXPECT_EQ(class_of(file->begin(read)), ErrorClass::kAccess);
    AccessCall write = call_of(Direction::kWrite, data, place);
    write.collective = true;
    EXPECT_TRUE(file->begin(write));  // a begin that failed leaves nothing behind
    EXPECT_TRUE(file->end("end", Direction::kWrite, Positioning::kExplicit, data.data()));
    EXPECT_TRUE(file->close());
  });
  on_ranks(2, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    auto file = std::move(*open(rank, std::move(comm), name, mode({&Amode::read_only, &Amode::delete_on_close})));
    std::vector<std::byte> data(8);
    EXPECT_EQ(class_of(file->access(call_of(Direction::kWrite, data))), ErrorClass::kReadOnly);
    EXPECT_EQ(class_of(file->set_size(3)), ErrorClass::kReadOnly);
    EXPECT_EQ(class_of(file->preallocate(3)), ErrorClass::kReadOnly);
    EXPECT_TRUE(file->sync());
    EXPECT_TRUE(file->close());
  });
}

// What lies beyond 2^62 is no place in a file, whoever computes it.
TEST(File, PlacesThatNoFileHas) {
  on_ranks(2, [](Rank& rank, std::unique_ptr<Comm> comm) {
    const bool here = comm->rank() == 1;
    auto opened = open(rank, std::move(comm), "memory:no-place", kReadWrite);
    ASSERT_TRUE(opened);
    File& file = **opened;
    std::vector<std::byte> data(16);
    for (const i64 offset : {i64{1} << 61, i64{1} << 62, INT64_MAX - 20, INT64_MAX}) {
      EXPECT_EQ(class_of(file.access(call_of(Direction::kWrite, data, offset))), ErrorClass::kArg) << offset;
      EXPECT_EQ(class_of(file.byte_offset(offset)), ErrorClass::kArg) << offset;
      ASSERT_TRUE(file.seek(offset, Whence::kSet));
      AccessCall by_pointer = call_of(Direction::kWrite, data);
      by_pointer.positioning = Positioning::kIndividual;
      EXPECT_EQ(class_of(file.access(by_pointer)), ErrorClass::kArg) << offset;
      EXPECT_EQ(file.position(), offset) << "the pointer stays";
      AccessCall together = call_of(Direction::kWrite, data, here ? offset : 0);
      together.collective = true;
      EXPECT_EQ(class_of(file.access(together)), ErrorClass::kArg);
      ASSERT_TRUE(file.seek_shared(offset, Whence::kSet));
      together.positioning = Positioning::kShared;
      EXPECT_EQ(class_of(file.access(together)), ErrorClass::kArg);
      EXPECT_GE(*file.position_shared(), offset);
      ASSERT_TRUE(file.seek_shared(offset, Whence::kSet));
      AccessCall shared = call_of(Direction::kWrite, data);
      shared.positioning = Positioning::kShared;
      EXPECT_EQ(class_of(file.access(shared)), ErrorClass::kArg);
      EXPECT_GE(*file.position_shared(), offset) << "the shared pointer stays";
    }
    const auto far = make_resized(0, i64{1} << 61, byte_type());
    EXPECT_TRUE(file.set_view({0, byte_type(), far, "native", {}}));
    EXPECT_EQ(class_of(file.access(call_of(Direction::kWrite, data))), ErrorClass::kArg);
    AccessCall vast = call_of(Direction::kWrite, data);
    vast.memory.type = FlatType::lower(*far).value();
    EXPECT_EQ(class_of(file.access(vast)), ErrorClass::kCount);
    // Displacement and offset are places of a file, but not their sum.
    const i64 half = (i64{1} << 61) - 64;
    const auto holed = make_resized(0, half, make_contiguous(8, byte_type()));
    EXPECT_TRUE(file.set_view({2 * half, byte_type(), holed, "native", {}}));
    EXPECT_EQ(class_of(file.access(call_of(Direction::kWrite, data))), ErrorClass::kArg);
    AccessCall both = call_of(Direction::kWrite, data);
    both.collective = true;
    EXPECT_EQ(class_of(file.access(both)), ErrorClass::kArg);
    EXPECT_TRUE(file.set_view({2 * half, byte_type(), byte_type(), "native", {}}));
    EXPECT_EQ(class_of(file.access(call_of(Direction::kWrite, data, 256))), ErrorClass::kArg);
    EXPECT_TRUE(file.close());
  });
}

TEST(File, ViewsMustMatchAndTheOldOneStays) {
  on_ranks(3, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    const i64 me = comm->rank();
    static const std::string name = unique_name();
    auto file = std::move(*open(rank, std::move(comm), name, kReadWrite));
    const TypeSpecRef pair = make_contiguous(2, byte_type());
    EXPECT_TRUE(file->set_view({7, pair, pair, "native", {}}));
    EXPECT_TRUE(file->seek(5, Whence::kSet));
    const TypeSpecRef etype = make_contiguous(me == 1 ? 4 : 2, byte_type());
    EXPECT_EQ(class_of(file->set_view({0, etype, etype, "native", {}})), ErrorClass::kNotSame);
    EXPECT_EQ(class_of(file->set_view({0, pair, pair, me == 1 ? "internal" : "native", {}})),
              ErrorClass::kNotSame);
    EXPECT_EQ(class_of(file->set_view({0, pair, pair, "nonsense", {}})), ErrorClass::kUnsupportedDatarep);
    EXPECT_EQ(class_of(file->set_view({me == 2 ? -1 : 0, pair, pair, "native", {}})), ErrorClass::kArg);
    EXPECT_EQ(class_of(file->set_view({File::kDisplacementCurrent, pair, pair, "native", {}})),
              ErrorClass::kArg);
    EXPECT_EQ(file->view()->displacement, 7);
    EXPECT_EQ(file->position(), 5);
    EXPECT_TRUE(file->close());
  });
}

TEST(File, ArgumentsThatMustBeTheSame) {
  on_ranks(3, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    const i64 me = comm->rank();
    static const std::string name = unique_name();
    auto file = std::move(*open(rank, std::move(comm), name, kReadWrite));
    EXPECT_EQ(class_of(file->set_size(me)), ErrorClass::kNotSame);
    EXPECT_EQ(class_of(file->set_size(me == 1 ? -1 : 10)), ErrorClass::kArg);
    EXPECT_EQ(class_of(file->preallocate(me)), ErrorClass::kNotSame);
    EXPECT_EQ(class_of(file->set_atomicity(me == 0)), ErrorClass::kNotSame);
    EXPECT_FALSE(file->atomicity());
    EXPECT_EQ(class_of(file->seek_shared(me, Whence::kSet)), ErrorClass::kNotSame);
    EXPECT_EQ(class_of(file->seek_shared(-1, Whence::kSet)), ErrorClass::kArg);
    EXPECT_EQ(*file->size(), 0);
    EXPECT_TRUE(file->close());
  });
}

TEST(File, OneSplitCollectiveAtATime) {
  on_ranks(3, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    static const std::string name = unique_name();
    const i64 place = 100 * comm->rank();
    auto file = std::move(*open(rank, std::move(comm), name, kReadWrite));
    std::vector<std::byte> data(100), other(100);
    AccessCall call = call_of(Direction::kWrite, data, place);
    call.collective = true;
    EXPECT_EQ(class_of(file->end("end", Direction::kWrite, Positioning::kExplicit, data.data())), ErrorClass::kOther);
    EXPECT_TRUE(file->begin(call));
    EXPECT_EQ(class_of(file->begin(call)), ErrorClass::kOther);
    EXPECT_EQ(class_of(file->access(call)), ErrorClass::kOther);
    EXPECT_EQ(class_of(file->sync()), ErrorClass::kOther);
    EXPECT_EQ(class_of(file->end("end", Direction::kRead, Positioning::kExplicit, data.data())), ErrorClass::kOther);
    auto ended = file->end("end", Direction::kWrite, Positioning::kExplicit, data.data());
    EXPECT_TRUE(ended && *ended == 100);
    EXPECT_TRUE(file->sync());
    EXPECT_TRUE(file->close());
  });
}

TEST(File, ABadArgumentOnOneRankReachesAllNonblockingToo) {
  on_ranks(3, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    const bool guilty = comm->rank() == 1;
    static const std::string name = unique_name();
    auto file = std::move(*open(rank, std::move(comm), name, kReadWrite));
    std::vector<std::byte> data(100);
    AccessCall call = call_of(Direction::kWrite, data, guilty ? -5 : 0);
    call.collective = true;
    EXPECT_EQ(class_of(file->access(call)), ErrorClass::kArg);
    auto started = file->start(call, nullptr);
    EXPECT_EQ(class_of(started), guilty ? ErrorClass::kArg : ErrorClass::kNone);
    if (started) {
      EXPECT_EQ(class_of((*started)->wait()), ErrorClass::kArg);
    }
    EXPECT_EQ(class_of(file->begin(call)), guilty ? ErrorClass::kArg : ErrorClass::kNone);
    if (!guilty) {
      EXPECT_EQ(class_of(file->end("end", Direction::kWrite, Positioning::kExplicit, data.data())), ErrorClass::kArg);
    }
    EXPECT_TRUE(file->close());
  });
}

TEST(File, HintsOfRankZeroCountAndOneSidedKeysDontHang) {
  on_ranks(3, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    const i64 me = comm->rank();
    static const std::string name = unique_name();
    auto value = [](const InfoItems& items, const std::string& key) {
      for (const auto& item : items)
        if (item.first == key) return item.second;
      return std::string();
    };
    InfoItems mine{{"cb_nodes", std::to_string(me + 1)}, {"ind_rd_buffer_size", std::to_string(1000 + me)}};
    if (me == 2) mine.emplace_back("striping_unit", "4096");
    auto file = std::move(*open(rank, std::move(comm), name, kReadWrite, mine));
    EXPECT_EQ(value(file->info(), "cb_nodes"), "1");
    EXPECT_EQ(value(file->info(), "romio_aggregator_list"), "0");
    EXPECT_EQ(value(file->info(), "ind_rd_buffer_size"), std::to_string(1000 + me));
    EXPECT_EQ(value(file->info(), "romio_visibility_immediate"), "true");
    EXPECT_TRUE(file->set_info(me == 1 ? InfoItems{{"cb_nodes", "2"}} : InfoItems{}));
    EXPECT_EQ(value(file->info(), "cb_nodes"), "1");
    EXPECT_TRUE(file->close());
  });
}

TEST(File, EndOfFileInAViewWithHoles) {
  on_ranks(1, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    auto file = std::move(*open(rank, std::move(comm), unique_name(), kReadWrite));
    EXPECT_TRUE(file->set_size(40));
    const TypeSpecRef word = make_contiguous(2, byte_type());
    EXPECT_TRUE(file->set_view({0, word, make_resized(0, 4, word), "native", {}}));
    EXPECT_TRUE(file->seek(0, Whence::kEnd));
    EXPECT_EQ(file->position(), 10);
    EXPECT_EQ(*file->byte_offset(10), 40);
    EXPECT_EQ(class_of(file->byte_offset(-1)), ErrorClass::kArg);
    EXPECT_EQ(class_of(file->seek(-11, Whence::kEnd)), ErrorClass::kArg);
    std::vector<std::byte> odd(3);
    EXPECT_EQ(class_of(file->access(call_of(Direction::kRead, odd))), ErrorClass::kIo);
    EXPECT_TRUE(file->close());
  });
}

// Each of these accesses is one run of the file.
TEST(File, RunsOfAViewMoveThePointer) {
  on_ranks(1, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    auto file = std::move(*open(rank, std::move(comm), unique_name(), kReadWrite));
    const TypeSpecRef word = make_contiguous(2, byte_type());
    ASSERT_TRUE(file->set_view({1, word, make_resized(0, 4, word), "native", {}}));
    std::vector<std::byte> data(2);
    AccessCall next = call_of(Direction::kWrite, data);
    next.positioning = Positioning::kIndividual;
    for (const int value : {1, 2, 3}) {
      data.assign(2, std::byte(value));
      EXPECT_EQ(*file->access(next), 2);
    }
    EXPECT_EQ(file->position(), 3);
    ASSERT_TRUE(file->set_size(10));   // in the middle of the third word
    next.direction = Direction::kRead;
    ASSERT_TRUE(file->seek(1, Whence::kSet));
    for (const i64 moved : {2, 1, 0}) EXPECT_EQ(*file->access(next), moved);
    EXPECT_EQ(file->position(), 3);
    EXPECT_EQ(data[0], std::byte{3});
    ASSERT_TRUE(file->set_view({0, byte_type(), byte_type(), "native", {}}));
    EXPECT_EQ(file->position(), 0);
    std::vector<std::byte> all(12);
    EXPECT_EQ(*file->access(call_of(Direction::kRead, all)), 10);
    const int bytes[] = {0, 1, 1, 0, 0, 2, 2, 0, 0, 3, 0, 0};
    for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], std::byte(bytes[i])) << i;
    EXPECT_TRUE(file->close());
  });
}

// Only whole elements can be converted. The file ends in the second of two.
TEST(File, APartOfAnElementThatIsNotDeliveredIsReadAgain) {
  on_ranks(1, [](Rank& rank, std::unique_ptr<Comm> comm) {
    auto file = std::move(*open(rank, std::move(comm), unique_name(), kReadWrite));
    const TypeSpecRef number = make_named({Basic::kSigned, 4, 4});
    EXPECT_TRUE(file->set_size(6));
    std::vector<std::byte> data(8);
    AccessCall next = call_of(Direction::kRead, data);
    next.positioning = Positioning::kIndividual;
    next.memory_spec = number;
    next.memory = Memory{data.data(), *FlatType::of(*number), 2};
    ASSERT_TRUE(file->set_view({0, number, number, "external32", {}}));
    EXPECT_EQ(*file->access(next), 4);
    EXPECT_EQ(file->position(), 1);
    ASSERT_TRUE(file->set_view({0, number, number, "native", {}}));
    EXPECT_EQ(*file->access(next), 6);
    EXPECT_EQ(file->position(), 2);
    EXPECT_TRUE(file->close());
  });
}

// The system call finds it, and nothing was moved.
TEST(File, MemoryOutOfReachLeavesThePointer) {
  on_ranks(1, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    Buffers buffers;
    OpenCall call;
    call.file_name = std::filesystem::temp_directory_path() / ("mercutio-file-test-" + std::to_string(::getpid()));
    call.amode = mode({&Amode::read_write, &Amode::create, &Amode::delete_on_close});
    Context context{rank.progress.get(), &rank.datareps, nullptr};
    context.buffers = &buffers;
    auto file = std::move(*open_file(std::move(comm), call, context));
    void* const closed = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::vector<std::byte> data(8, std::byte{7});
    AccessCall next = call_of(Direction::kWrite, data);
    next.positioning = Positioning::kIndividual;
    EXPECT_EQ(*file->access(next), 8);
    ASSERT_TRUE(file->seek(0, Whence::kSet));
    for (const Direction direction : {Direction::kWrite, Direction::kRead}) {
      AccessCall bad = next;
      bad.direction = direction;
      bad.memory.base = static_cast<std::byte*>(closed);
      EXPECT_EQ(class_of(file->access(bad)), ErrorClass::kBuffer);
      EXPECT_EQ(file->position(), 0);
    }
    next.direction = Direction::kRead;
    EXPECT_EQ(*file->access(next), 8);
    EXPECT_EQ(data[7], std::byte{7});
    EXPECT_TRUE(file->close());
    ::munmap(closed, 4096);
  });
}

TEST(File, ErrorsAreOneLineWithEverything) {
  on_ranks(1, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    const std::string name = unique_name();
    auto file = std::move(*open(rank, std::move(comm), name, kReadWrite));
    const std::string line = file->describe("MPI_File_write_at", error_from_errno("pwrite", ENOSPC, 123, 4096));
    for (const std::string& part : {std::string("MPI_File_write_at: file '") + name + "'", std::string("offset 123"),
                                    std::string("4096 bytes"), std::string("rank 0 on host"), std::string("ENOSPC")})
      EXPECT_NE(line.find(part), std::string::npos) << part << " in " << line;
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_TRUE(file->close());
  });
}

}  // namespace
}  // namespace mercutio
