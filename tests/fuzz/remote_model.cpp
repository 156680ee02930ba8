#include "remote_model.h"
#include "remote/operations.h"

#include <algorithm>

#include "model/flat_type.h"
#include "model/type_spec.h"

namespace mercutio::fuzz {

using namespace remote;

const Definition& definition_of(size_t tree) {
  static const std::vector<Definition> all = [] {
    std::vector<Definition> made;
    for (const Strided& one : kTrees) {
      const TypeSpecRef block = make_contiguous(one.block, make_named(BasicType{}));
      const auto type = FlatType::lower(*make_resized(0, one.stride, block));
      FUZZ_CHECK(type.ok(), "a plain type is refused");
      std::vector<std::byte> bytes;
      (*type)->serialize(bytes);
      Definition definition{{bytes.begin(), bytes.end()}, 0};
      definition.number = std::max<u64>(1, checksum_of(definition.bytes));
      made.push_back(std::move(definition));
    }
    return made;
  }();
  return all.at(tree);
}

std::optional<size_t> tree_numbered(u64 number) {
  for (size_t i = 0; i < std::size(kTrees); ++i)
    if (definition_of(i).number == number) return i;
  return std::nullopt;
}

namespace {

Strided shape_of(const TransferRequest& request) {
  return request.tree == 0 ? Strided{1, 1} : kTrees[*tree_numbered(request.tree)];
}

bool is_small(i64 value) {
  return value >= 0 && value < kMostFileBytes;
}

template <class List>
bool contains(const List& list, const std::string& path) {
  return std::any_of(std::begin(list), std::end(list), [&](const char* known) { return path == known; });
}

}  // namespace

Expected Model::expect(const ModelSession& session, Kind kind, ConstBytes message, ConstBytes data) const {
  if (kind == Kind::kOpen) {
    const auto request = get_message<OpenRequest>(message);
    return request ? expect_open(session, *request) : Expected::kFailure;
  }
  if (kind == Kind::kRead || kind == Kind::kWrite) {
    const auto request = get_message<TransferRequest>(message);
    return request ? expect_transfer(session, kind == Kind::kRead, *request, data) : Expected::kFailure;
  }
  if (is_about_names(kind)) {
    const auto request = get_message<NameRequest>(message);
    return request ? expect_name(kind, *request) : Expected::kFailure;
  }
  const auto request = get_message<PlainRequest>(message);
  return request ? expect_plain(session, kind, *request) : Expected::kFailure;
}

Expected Model::expect_open(const ModelSession& session, const OpenRequest& request) const {
  if (contains(kRefused, request.path) || (!request.read && !request.write)) return Expected::kFailure;
  if (request.path == "seen/fixed" && (request.write || request.create)) return Expected::kFailure;
  if (names_unsure) return Expected::kEither;
  if (contains(kLinks, request.path)) return Expected::kFailure;
  if (!contains(kServed, request.path) || (request.exclusive && !request.create)) return Expected::kEither;
  if (static_cast<i64>(session.files.size()) >= kMostFiles) return Expected::kFailure;
  const bool exists = names.count(request.path) != 0;
  if (exists ? request.exclusive : !request.create) return Expected::kFailure;
  return Expected::kSuccess;
}

// Links out of the roots may have been deleted.
Expected Model::expect_name(Kind kind, const NameRequest& request) const {
  const auto refused = [&](const std::string& path) {
    const bool leads_out = contains(kOutside, path) && (!names_unsure || path.find("/out/") == std::string::npos);
    return leads_out || (!is_query(kind) && (path.rfind("data/", 0) != 0 || path.size() <= 5));
  };
  return refused(request.path) || (kind == Kind::kRename && refused(request.other)) ? Expected::kFailure : Expected::kEither;
}

Expected Model::expect_transfer(const ModelSession& session, bool reading, const TransferRequest& request, ConstBytes data) const {
  const auto open = session.files.find(request.handle);
  if (open == session.files.end()) return Expected::kFailure;
  if (request.begin < 0 || request.end < request.begin || request.displacement < 0) return Expected::kFailure;
  const i64 bytes = request.end - request.begin;
  if (bytes > kBlockBytes) return Expected::kFailure;
  if (static_cast<i64>(data.size()) != (reading ? 0 : bytes)) return Expected::kFailure;
  const auto known = tree_numbered(request.tree);
  if (request.tree != 0 && !known) return Expected::kEither;
  if (request.tree != 0 && !request.definition.empty() && request.definition != definition_of(*known).bytes) return Expected::kFailure;
  if (request.tree != 0 && request.definition.empty() && !session.trees.count(request.tree)) return Expected::kFailure;
  if (bytes == 0) return Expected::kEither;
  if (reading ? !open->second.read : !open->second.write) return Expected::kFailure;
  if (!is_small(request.displacement) || !is_small(request.end)) return Expected::kEither;
  const i64 last = request.displacement + shape_of(request).offset_of(request.end - 1);
  return reading || is_small(last) ? Expected::kSuccess : Expected::kEither;
}

Expected Model::expect_plain(const ModelSession& session, Kind kind, const PlainRequest& request) const {
  if (kind == Kind::kUnlock) return session.locks.count(request.target) ? Expected::kSuccess : Expected::kFailure;
  if (kind == Kind::kRemove) {
    if (request.path.starts_with("seen/") || contains(kRefused, request.path)) return Expected::kFailure;
    if (names_unsure) return Expected::kEither;
    return contains(kServed, request.path) ? names.count(request.path) ? Expected::kSuccess : Expected::kFailure : Expected::kEither;
  }
  const auto open = session.files.find(request.target);
  if (open == session.files.end()) return Expected::kFailure;
  const bool writable = open->second.write;
  switch (kind) {
    case Kind::kClose:
    case Kind::kSize:
    case Kind::kSync:
      return Expected::kSuccess;
    case Kind::kSetSize:
      return request.value < 0 || !writable ? Expected::kFailure : is_small(request.value) ? Expected::kSuccess : Expected::kEither;
    case Kind::kPreallocate:
      return request.value < 0 ? Expected::kFailure : Expected::kEither;
    case Kind::kChecksum:
      return !open->second.read || request.value < 0 || request.end < request.value ? Expected::kFailure
             : is_small(request.end)                                               ? Expected::kSuccess
                                                                                   : Expected::kEither;
    default:
      return Expected::kEither;
  }
}

void Model::unsure_of_all() {
  put.clear();
  const auto fixed = names.find("seen/fixed");
  const auto doubt = [&](const std::shared_ptr<ModelFile>& file) {
    if (file && (fixed == names.end() || file != fixed->second)) file->unsure = true;
  };
  for (auto& [name, file] : names) doubt(file);
  for (auto& [id, session] : sessions)
    for (auto& [handle, open] : session.files) doubt(open.file);
}

void Model::apply_name(Kind kind, const NameRequest& request, const Reply& reply) {
  if (kind == Kind::kGet) {
    const auto got = get_message<GetReply>(reply.more);
    FUZZ_CHECK(got.ok(), "what was got can't be read");
    if (const auto known = put.find(request.path); known != put.end() && !names_unsure)
      FUZZ_CHECK(got->content == known->second && got->status.bytes == static_cast<i64>(known->second.size()), "another file than was put");
  } else if (kind == Kind::kStatus) {
    FUZZ_CHECK(get_message<FileStatus>(reply.more).ok(), "a status that can't be read");
  } else if (kind == Kind::kList) {
    const auto entries = get_messages<ListEntry>(reply.more);
    FUZZ_CHECK(entries.ok(), "a list that can't be read");
    for (size_t i = 0; i < entries->size(); ++i)
      FUZZ_CHECK((*entries)[i].name > (i == 0 ? request.other : (*entries)[i - 1].name), "a list that is not sorted, or not of what was asked for");
  } else if (kind == Kind::kExtents) {
    FUZZ_CHECK(get_messages<Extent>(reply.more).ok(), "extents that can't be read");
  } else if (kind == Kind::kOwnStatus) {
    FUZZ_CHECK(get_message<FileStatus>(reply.more).ok(), "a status that can't be read");
  } else if (kind == Kind::kSpace) {
    const auto space = get_message<Space>(reply.more);
    FUZZ_CHECK(space.ok() && space->block_bytes > 0 && space->free <= space->blocks, "an impossible space");
  } else if (kind == Kind::kMakeLink) {
    unsure_of_all();
    names_unsure = true;   // a name may stand for another one from now on
  }
  if (is_query(kind)) return;
  if (!contains(kNamed, request.path) || (kind == Kind::kRename && !contains(kNamed, request.other))) return unsure_of_all(), void(names_unsure = true);
  if (kind == Kind::kPut) {
    FUZZ_CHECK(static_cast<u64>(reply.value) == checksum_of(request.content), "another checksum than of what was put");
    put[request.path] = request.content;
  } else if (kind == Kind::kRename && request.path != request.other) {
    put.erase(request.other);
    if (const auto moved = put.extract(request.path); !moved.empty()) put[request.other] = moved.mapped();
    else put.clear();   // a directory, perhaps, with what is in it
  }
}

void Model::apply(ModelSession& session, Kind kind, ConstBytes message, ConstBytes data, const Reply& reply, ConstBytes got) {
  const bool done = reply.outcome == 0;
  if (kind == Kind::kOpen) {
    if (done) apply_open(session, *get_message<OpenRequest>(message), reply);
  } else if (kind == Kind::kRead || kind == Kind::kWrite) {
    const auto request = get_message<TransferRequest>(message);
    if (!request) return;
    const auto known = tree_numbered(request->tree);
    if (known && request->definition == definition_of(*known).bytes) session.trees.insert(request->tree);
    const auto open = session.files.find(request->handle);
    if (open == session.files.end()) return;
    const std::shared_ptr<ModelFile> file = open->second.file;
    const bool understood = file && (request->tree == 0 || known) && is_small(request->displacement) && is_small(request->end);
    if (kind == Kind::kRead) {
      if (done && understood) check_read(*file, *request, got);
    } else if (done && understood) {
      FUZZ_CHECK(reply.value == request->end - request->begin, "a write moved another number of bytes");
      apply_write(*file, *request, data);
    } else if (expect_transfer(session, false, *request, data) != Expected::kFailure) {
      file ? void(file->unsure = true) : unsure_of_all();
    }
  } else if (is_about_names(kind)) {
    if (done) apply_name(kind, *get_message<NameRequest>(message), reply);
  } else if (const auto request = get_message<PlainRequest>(message); request) {
    if (done || kind == Kind::kClose) apply_plain(session, kind, *request, reply);
    if (!done && (kind == Kind::kPreallocate || kind == Kind::kSetSize) && session.files.count(request->target))
      if (const auto file = session.files.at(request->target).file) file->unsure = file->unsure || request->value >= kMostFileBytes;
  }
}

void Model::apply_open(ModelSession& session, const OpenRequest& request, const Reply& reply) {
  const auto opened = get_message<OpenReply>(reply.more);
  FUZZ_CHECK(opened.ok(), "an open without its reply");
  std::shared_ptr<ModelFile> file;
  names_unsure = names_unsure || (request.create && !contains(kServed, request.path));
  if (contains(kServed, request.path) && (!names_unsure || request.path == "seen/fixed")) {
    if (request.create && !names.count(request.path)) names[request.path] = std::make_shared<ModelFile>();
    if (const auto known = names.find(request.path); known != names.end()) file = known->second;
  }
  FUZZ_CHECK(!session.files.count(opened->handle) && !session.locks.count(opened->handle), "a handle is given out twice");
  session.files[opened->handle] = {file, request.read, request.write};
  session.handles.push_back(opened->handle);
}

void Model::apply_write(ModelFile& file, const TransferRequest& request, ConstBytes data) {
  const Strided shape = shape_of(request);
  for (size_t i = 0; i < data.size(); ++i) {
    const auto at = static_cast<size_t>(request.displacement + shape.offset_of(request.begin + static_cast<i64>(i)));
    if (at >= file.bytes.size()) file.bytes.resize(at + 1);
    file.bytes[at] = data[i];
  }
}

void Model::check_read(const ModelFile& file, const TransferRequest& request, ConstBytes got) {
  if (file.unsure) return;
  const Strided shape = shape_of(request);
  for (i64 i = 0; i < request.end - request.begin; ++i) {
    const i64 at = request.displacement + shape.offset_of(request.begin + i);
    const bool there = at < static_cast<i64>(file.bytes.size());
    FUZZ_CHECK(there == (i < static_cast<i64>(got.size())), "a read ends elsewhere than the file, at " + std::to_string(at));
    if (!there) return;
    FUZZ_CHECK(file.bytes[static_cast<size_t>(at)] == got[static_cast<size_t>(i)], "another byte is read than was written, at " + std::to_string(at));
  }
}

void Model::apply_plain(ModelSession& session, Kind kind, const PlainRequest& request, const Reply& reply) {
  if (kind == Kind::kUnlock) {
    session.locks.erase(request.target);
  } else if (kind == Kind::kRemove) {
    if (!names.erase(request.path)) names_unsure = true;
  } else if (kind == Kind::kLock) {
    session.locks.insert(static_cast<u64>(reply.value));
    session.handles.push_back(static_cast<u64>(reply.value));
  }
  const auto open = session.files.find(request.target);
  if (open == session.files.end() || kind == Kind::kUnlock || kind == Kind::kRemove) return;
  const std::shared_ptr<ModelFile> file = open->second.file;
  if (kind == Kind::kClose) session.files.erase(open);
  if (!file && (kind == Kind::kSetSize || kind == Kind::kPreallocate)) unsure_of_all();   // it may be any of them
  if (!file) return;
  const auto size = static_cast<i64>(file->bytes.size());
  if (kind == Kind::kSetSize && is_small(request.value)) file->bytes.resize(static_cast<size_t>(request.value));
  if (kind == Kind::kPreallocate && is_small(request.value)) file->bytes.resize(static_cast<size_t>(std::max(size, request.value)));
  if (file->unsure) return;
  if (kind == Kind::kSize) FUZZ_CHECK(reply.value == size, "another size, " + std::to_string(reply.value) + " for " + std::to_string(size));
  if (kind == Kind::kChecksum && is_small(request.end)) {
    const size_t begin = std::min(file->bytes.size(), static_cast<size_t>(request.value)), end = std::min(file->bytes.size(), static_cast<size_t>(request.end));
    FUZZ_CHECK(static_cast<u64>(reply.value) == checksum_of(ConstBytes(file->bytes).subspan(begin, end - begin)), "another checksum");
  }
}

}  // namespace mercutio::fuzz
