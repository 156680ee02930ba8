// What a server of remote files must answer, kept beside the real one: files as bytes, sessions as what they hold. Requests whose
// outcome the protocol leaves open (names and types that only the kernel or the type code can judge) make what they touch unsure.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fuzz.h"
#include "remote/wire.h"

namespace mercutio::fuzz {

inline constexpr i64 kMostFileBytes = 256 * KiB;   // RLIMIT_FSIZE, and a limit of the model's
inline constexpr i64 kBlockBytes = 4 * KiB;        // what is granted
inline constexpr i64 kMostFiles = 4;

struct ModelFile {
  std::vector<std::byte> bytes;
  bool unsure = false;
};

// Blocks of `block` bytes, `stride` apart: a type whose bytes are known without the type code.
struct Strided {
  i64 block, stride;
  i64 offset_of(i64 position) const { return position / block * stride + position % block; }
};
inline constexpr Strided kTrees[] = {{1, 1}, {8, 24}, {100, 100}, {3, 1000}, {512, 513}};

struct ModelSession {
  struct Open {
    std::shared_ptr<ModelFile> file;   // null: under a name the model does not know
    bool read, write;
  };
  std::map<remote::u64, Open> files;
  std::set<remote::u64> locks;
  std::map<remote::u64, remote::Buffer> replies;   // of requests that change something
  std::set<remote::u64> trees;                     // that it was told
  remote::u64 finished = 0;                        // all requests below, but the awaited ones
  std::set<remote::u64> awaited;
  std::vector<remote::u64> handles;                // all it ever gave out
  i64 made = 0;                                    // as which session of all

  bool is_finished(remote::u64 id) const { return id < finished && !awaited.count(id); }
  // Of what comes after it was finished only a close is done.
  void give_up(remote::Kind kind, ConstBytes message) {
    if (kind != remote::Kind::kClose) return;
    if (const auto request = remote::get_message<remote::PlainRequest>(message)) files.erase(request->target);
  }
  void finish(remote::u64 end, const std::set<remote::u64>& still) {
    std::set<remote::u64> open;
    for (const remote::u64 id : awaited)
      if (id >= end || still.count(id)) open.insert(id);
    for (const remote::u64 id : still)
      if (id >= finished && id < end) open.insert(id);
    awaited = std::move(open);
    finished = std::max(finished, end);
    std::erase_if(replies, [&](const auto& known) { return is_finished(known.first); });
  }
};

enum class Expected { kSuccess, kFailure, kEither };

// A definition as a client sends it, and its number.
struct Definition {
  remote::Buffer bytes;
  remote::u64 number;
};
const Definition& definition_of(size_t tree);
std::optional<size_t> tree_numbered(remote::u64 number);

class Model {
 public:
  std::map<std::string, std::shared_ptr<ModelFile>> names;   // path in the protocol: file
  std::map<std::pair<remote::u64, remote::u64>, ModelSession> sessions;

  Expected expect(const ModelSession& session, remote::Kind kind, ConstBytes message, ConstBytes data) const;
  void apply(ModelSession& session, remote::Kind kind, ConstBytes message, ConstBytes data, const remote::Reply& reply, ConstBytes got);
  void unsure_of_all();
  std::map<std::string, remote::Buffer> put;   // of kNamed: what was put there last
  bool names_unsure = false;   // something was made or deleted under a name that the model does not know

 private:
  Expected expect_open(const ModelSession& session, const remote::OpenRequest& request) const;
  Expected expect_name(remote::Kind kind, const remote::NameRequest& request) const;
  Expected expect_transfer(const ModelSession& session, bool reading, const remote::TransferRequest& request, ConstBytes data) const;
  Expected expect_plain(const ModelSession& session, remote::Kind kind, const remote::PlainRequest& request) const;
  void apply_open(ModelSession& session, const remote::OpenRequest& request, const remote::Reply& reply);
  void apply_name(remote::Kind kind, const remote::NameRequest& request, const remote::Reply& reply);
  void apply_write(ModelFile& file, const remote::TransferRequest& request, ConstBytes data);
  void check_read(const ModelFile& file, const remote::TransferRequest& request, ConstBytes got);
  void apply_plain(ModelSession& session, remote::Kind kind, const remote::PlainRequest& request, const remote::Reply& reply);
};

// Names that mean no file that is served, and one of the root that may only be read.
inline constexpr const char* kRefused[] = {"data/../outside/secret", "data/folder/../../outside/secret", "seen/../data/a", "data/", "data", "nothing/a", ""};
inline constexpr const char* kLinks[] = {"data/link", "data/folder/out/secret", "data/absolute", "data/fifo", "data/loop"};   // as long as nobody deletes them
// What requests about names make, which no open does.
inline constexpr const char* kNamed[] = {"data/n0", "data/n1", "data/n2", "data/n2/x"};
inline constexpr const char* kOutside[] = {"data/../outside/secret", "data/folder/../../outside/secret", "seen/../data/a", "nothing/a", "data/folder/out/secret", "data/folder/out/new"};
inline constexpr const char* kServed[] = {"data/a", "data/b", "data/folder/c", "data/new", "seen/fixed"};
inline constexpr const char* kLinkTargets[] = {"n0", "../data/n1", "../../outside/secret", "/", "n2/x", ""};
inline const char* known_name(size_t which) {
  if (which < 176) return kNamed[which % std::size(kNamed)];
  if (which < 208) return kOutside[which % std::size(kOutside)];
  return which < 224 ? kServed[which % std::size(kServed)] : kLinks[which % std::size(kLinks)];
}

}  // namespace mercutio::fuzz
