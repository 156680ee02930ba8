// Files on ranks that are threads of one process, for the tests of this folder.
#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "comm/in_process.h"
#include "file/file.h"

namespace mercutio {

inline Amode mode(std::initializer_list<bool Amode::*> flags) {
  Amode amode;
  for (auto flag : flags) amode.*flag = true;
  return amode;
}

inline const Amode kReadWrite = mode({&Amode::read_write, &Amode::create});

inline std::string unique_name() {
  static std::atomic<int> last{0};
  return "memory:file-test-" + std::to_string(++last);
}

struct Rank {
  Comm& comm;
  std::unique_ptr<Progress> progress = make_progress_thread();
  DatarepRegistry datareps;
};

// Runs `body` on `ranks` ranks; each gets what it needs to open files. The body opens once: a File owns its Comm.
inline void on_ranks(i64 ranks, const std::function<void(Rank&, std::unique_ptr<Comm>)>& body) {
  auto world = make_in_process_world(ranks);
  std::vector<std::thread> threads;
  for (auto& comm : world)
    threads.emplace_back([&body, comm = std::move(comm)]() mutable {
      Rank rank{*comm, make_progress_thread(), {}};
      body(rank, std::move(comm));
    });
  for (auto& thread : threads) thread.join();
}

inline Result<std::unique_ptr<File>> open(Rank& rank, std::unique_ptr<Comm> comm, const std::string& name, const Amode& amode,
                                   InfoItems info = {}) {
  OpenCall call;
  call.file_name = name;
  call.amode = amode;
  call.info = std::move(info);
  return open_file(std::move(comm), call, Context{rank.progress.get(), &rank.datareps, nullptr});
}

inline ErrorClass class_of(const Status& status) {
  return status ? ErrorClass::kNone : status.error().cls;
}
template <class T>
ErrorClass class_of(const Result<T>& result) {
  return result ? ErrorClass::kNone : result.error().cls;
}

inline AccessCall call_of(Direction direction, std::vector<std::byte>& data, i64 offset = 0) {
  AccessCall call;
  call.direction = direction;
  call.offset = offset;
  call.memory = Memory{data.data(), contiguous_bytes(), static_cast<i64>(data.size())};
  call.memory_spec = byte_type();
  return call;
}

}  // namespace mercutio
