#include "mount_tree.h"

#include <cerrno>
#include <utility>

#include "base/trace.h"
#include "remote/driver_root.h"

namespace mercutio::remote {
namespace {

constexpr size_t kMostKnown = 100'000;   // names whose attributes are kept

FileStatus made_up_directory() {
  FileStatus status;
  status.type = static_cast<std::uint32_t>(FileType::kDirectory);
  status.permissions = 0755;
  status.inode = 1;
  return status;
}

bool is_below(const std::string& name, const std::string& directory) {
  return name.size() > directory.size() && name.starts_with(directory) && name[directory.size()] == '/';
}

}  // namespace

// Of one file of the kernel. Another machine may have given the name to another file since some of its opens.
struct MountTree::Node {   // the tree's mutex guards name and files
  std::string name;             // empty: it has none any more
  std::set<std::shared_ptr<File>> files;
  std::atomic<i64> writes{0};   // by all of them
};

class MountTree::File {
 public:
  std::unique_ptr<Storage> storage;
  std::shared_ptr<Node> node;
  bool writable = false, direct = false;
  std::optional<FileIdentity> identity;   // unknown of old servers
  std::atomic<bool> dirty{false};
  std::atomic<bool> changed{false};   // since it was closed or synchronised
  std::string path;                   // when it was opened
  std::atomic<i64> seen{0};   // writes that its own cache takes into account
  FileStatus status;          // when it was opened, as far as it was known then

  // What was written is at the server. An error is kept until it can be told.
  void finish() {
    std::lock_guard guard(mutex_);
    if (!dirty.exchange(false)) return;
    const Status done = storage->flush();
    if (!done && !error_) error_ = done.error();
  }
  Status told() {
    std::lock_guard guard(mutex_);
    if (error_) return *std::exchange(error_, std::nullopt);
    return ok_status();
  }

 private:
  std::mutex mutex_;
  std::optional<Error> error_ MERCUTIO_GUARDED_BY(mutex_);
};

MountTree::MountTree(const std::string& host, std::string directory, i64 kept_ns) : host_(host), directory_(std::move(directory)), kept_ns_(kept_ns) {}

MountTree::~MountTree() {
  std::lock_guard guard(mutex_);
  if (held_) held_->file_closed();
}

std::string MountTree::at(const std::string& name) const {
  if (directory_.empty()) return name.substr(1);
  return name == "/" ? directory_ : directory_ + name;
}

Status MountTree::begin() {
  MERCUTIO_TRY(hold_session());
  MERCUTIO_LET(const FileStatus status, this->status("/", nullptr));
  if (status.kind() != FileType::kDirectory) return error_from_errno("mount", ENOTDIR);
  return ok_status();
}

// As an open file does, it keeps the server from ending, and from being ended by 'mercutio disconnect'.
Status MountTree::hold_session() {
  MERCUTIO_LET(auto session, host_.session());
  std::lock_guard guard(mutex_);
  if (session == held_) return ok_status();
  if (held_) held_->file_closed();
  held_ = std::move(session);
  held_->file_opened();
  known_.clear();
  return ok_status();
}

void MountTree::keep(const std::string& name, const FileStatus& status) {
  if (known_.size() >= kMostKnown) known_.clear();
  known_[name] = {status, now_ns() + kept_ns_};
}

void MountTree::forget(const std::string& name) {
  std::lock_guard guard(mutex_);
  forget_locked(name);
}

void MountTree::forget_locked(const std::string& name) {
  ++changes_;
  known_.erase(name);
  const size_t slash = name.rfind('/');
  known_.erase(slash == 0 ? "/" : name.substr(0, slash));   // its directory's time
}

i64 MountTree::changes_now() {
  std::lock_guard guard(mutex_);
  return changes_;
}

std::vector<std::shared_ptr<MountTree::Node>> MountTree::nodes_in(const std::string& directory) {
  const std::string begin = directory == "/" ? directory : directory + "/";
  std::vector<std::shared_ptr<Node>> found;
  std::lock_guard guard(mutex_);
  for (auto at = nodes_.lower_bound(begin); at != nodes_.end() && at->first.starts_with(begin); ++at)
    if (at->first.find('/', begin.size()) == std::string::npos) found.push_back(at->second);
  return found;
}

std::shared_ptr<MountTree::Node> MountTree::node_of(const std::string& name) {
  std::lock_guard guard(mutex_);
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : found->second;
}

void MountTree::flush_opens(const Node& node, const File* but) {
  std::vector<std::shared_ptr<File>> files;   // nobody else waits meanwhile
  {
    std::lock_guard guard(mutex_);
    for (const auto& file : node.files)
      if (file.get() != but && file->dirty) files.push_back(file);
  }
  for (const auto& file : files) file->finish();
}

// What is written from here on may be missing in what the server says: that is not kept.
Result<FileStatus> MountTree::status(const std::string& name, File* file) {
  const i64 changes = changes_now();
  const std::shared_ptr<Node> node = file ? file->node : node_of(name);
  if (node) flush_opens(*node, nullptr);
  if (name.empty()) return status_of(*file);
  const Result<FileStatus> named = status_of(name, changes);
  const bool gone = !named && named.error().sys_errno == ENOENT;
  const bool other = file && file->identity && (named ? named->identity() != *file->identity : gone);
  return other ? status_of(*file) : named;
}

// Of an open file whose name is gone, or stands for another one.
Result<FileStatus> MountTree::status_of(const File& file) {
  FileStatus status = file.status;
  MERCUTIO_LET(status.bytes, file.storage->size());
  return status;
}

Result<FileStatus> MountTree::status_of(const std::string& name, i64 changes) {
  if (name == "/" && directory_.empty()) {
    MERCUTIO_TRY(host_.list(""));
    return made_up_directory();
  }
  {
    std::lock_guard guard(mutex_);
    const auto known = known_.find(name);
    if (known != known_.end() && known->second.until_ns > now_ns()) return known->second.status;
  }
  MERCUTIO_TRY(hold_session());
  MERCUTIO_LET(const FileStatus status, host_.own_status(at(name)));
  std::lock_guard guard(mutex_);
  if (changes == changes_) keep(name, status);
  return status;
}

// The kernel may take sizes from a list.
Result<std::vector<ListEntry>> MountTree::list(const std::string& name) {
  const i64 changes = changes_now();
  for (const auto& node : nodes_in(name)) flush_opens(*node, nullptr);
  MERCUTIO_TRY(hold_session());
  MERCUTIO_LET(auto entries, host_.list(at(name), linked()));
  std::lock_guard guard(mutex_);
  for (const ListEntry& entry : entries) {
    const std::string full = (name == "/" ? "" : name) + "/" + entry.name;
    if (changes == changes_ && nodes_.count(full) == 0) keep(full, entry.status);
  }
  return entries;
}

Result<std::string> MountTree::read_link(const std::string& name) {
  MERCUTIO_TRY(hold_session());
  return host_.read_link(at(name));
}

Result<Space> MountTree::space(const std::string& name) {
  MERCUTIO_TRY(hold_session());
  if (directory_.empty() && name == "/") return Space{4096, 0, 0, 0, 0, 0};   // several file systems
  return host_.space(at(name));
}

Result<std::shared_ptr<MountTree::File>> MountTree::open(const std::string& name, int flags, unsigned permissions) {
  OpenOptions options;
  const int access = flags & O_ACCMODE;
  const bool empties = (flags & O_TRUNC) != 0;
  options.write = access != O_RDONLY || empties;
  options.read = access != O_WRONLY;
  options.create = (flags & O_CREAT) != 0;
  options.exclusive = (flags & O_EXCL) != 0;
  options.permissions = static_cast<int>(permissions);
  options.keeps_writes = options.reads_ahead = true;
  MERCUTIO_TRY(hold_session());
  if (const auto node = node_of(name)) flush_opens(*node, nullptr);
  auto file = std::make_shared<File>();
  MERCUTIO_LET(file->storage, host_.open(at(name), options, &file->identity));
  file->writable = options.write;
  file->path = at(name);
  file->status.type = static_cast<std::uint32_t>(FileType::kFile);
  file->status.permissions = permissions & 0777;
  add(file, name);
  const bool was_there = !options.create;   // the kernel has looked for it
  if (empties && (was_there || file->storage->known_size() > 0)) {   // also an empty one has another time then
    const Status emptied = set_size(name, file.get(), 0);
    if (!emptied) return (void)close(file), emptied.error();
  }
  return file;
}

// All opens of a name share the pages that the kernel keeps. Those are of one file of the server: an open that finds another one goes past
// them, until the last open of the former has ended. What the others read ahead is older than this open, and they pass it to the kernel.
void MountTree::add(const std::shared_ptr<File>& file, const std::string& name) {
  std::lock_guard guard(mutex_);
  if (const auto known = known_.find(name); known != known_.end() && known->second.status.identity() == file->identity) file->status = known->second.status;
  std::shared_ptr<Node>& node = nodes_[name];
  if (!node) node = std::make_shared<Node>();
  node->name = name;
  file->node = node;
  for (const auto& other : node->files) file->direct = file->direct || (!other->direct && other->identity != file->identity);
  node->files.insert(file);
  file->seen = ++node->writes;
  forget_locked(name);
}

bool MountTree::is_direct(const File& file) {
  return file.direct;
}

Result<i64> MountTree::read(File& file, std::byte* data, i64 bytes, i64 offset) {
  const i64 writes = file.node->writes;
  if (writes != file.seen) {   // others here have written since
    flush_opens(*file.node, nullptr);
    if (const Status calm = file.storage->flush(); !calm) return calm.error();
    file.seen = writes;
  }
  const IoPiece piece{offset, data, bytes};
  return file.storage->read(std::span(&piece, 1));
}

Result<i64> MountTree::write(File& file, const std::byte* data, i64 bytes, i64 offset) {
  flush_opens(*file.node, &file);   // two opens may write to one place
  const IoPiece piece{offset, const_cast<std::byte*>(data), bytes};
  const Result<i64> written = file.storage->write(std::span(&piece, 1));
  file.dirty = file.changed = true;
  const i64 before = file.node->writes.fetch_add(1);
  i64 expected = before;
  (void)file.seen.compare_exchange_strong(expected, before + 1);   // its own cache knows of it, and of those before
  std::lock_guard guard(mutex_);
  ++changes_;
  known_.erase(file.node->name);
  return written;
}

Status MountTree::flush(File& file) {
  if (!file.writable) return ok_status();
  file.finish();
  MERCUTIO_TRY(file.told());
  if (!file.changed) return ok_status();
  MERCUTIO_LET(const bool of_driver, is_of_driver(file.path));
  return of_driver ? sync(file) : ok_status();
}

// The roots are asked once.
Result<bool> MountTree::is_of_driver(const std::string& path) {
  const std::string root = path.substr(0, path.find('/'));
  {
    std::lock_guard guard(mutex_);
    if (const auto known = driver_roots_.find(root); known != driver_roots_.end()) return known->second;
  }
  MERCUTIO_LET(const FileStatus status, host_.status(root));
  std::lock_guard guard(mutex_);
  return driver_roots_[root] = status.device == kDriverDevice;
}

Status MountTree::sync(File& file) {
  flush_opens(*file.node, nullptr);
  file.changed = false;
  const Status synced = file.storage->sync();
  if (!synced) file.changed = true;   // the next close must not say that it is published
  const Status told = file.told();
  return told ? synced : told;
}

Status MountTree::close(const std::shared_ptr<File>& file) {
  file->finish();
  {
    std::lock_guard guard(mutex_);
    Node& node = *file->node;
    node.files.erase(file);
    if (node.files.empty() && !node.name.empty()) nodes_.erase(std::string(node.name));
  }
  return file->told();
}

// As in truncate(2), a name's file keeps its time where it has that size already; in ftruncate(2) it does not. The open has just
// asked for the size.
Status MountTree::set_size(const std::string& name, File* file, i64 bytes) {
  std::shared_ptr<File> own;
  if (!file || !file->writable) {
    MERCUTIO_LET(own, open(name, O_WRONLY, 0));
    if (own->storage->known_size() == bytes) return close(own);
    file = own.get();
  }
  flush_opens(*file->node, nullptr);
  Status done = file->storage->set_size(bytes);
  ++file->node->writes;
  file->changed = true;
  if (!name.empty()) forget(name);
  if (own) {
    if (done) done = flush(*own);
    const Status closed = close(own);
    if (done) done = closed;
  }
  return done;
}

Status MountTree::preallocate(File& file, i64 bytes) {
  flush_opens(*file.node, nullptr);
  const Status done = file.storage->preallocate(bytes);
  ++file.node->writes;
  std::lock_guard guard(mutex_);
  ++changes_;
  known_.clear();
  return done;
}

Status MountTree::change(Kind kind, const std::string& name, NameRequest request) {
  MERCUTIO_TRY(hold_session());
  request.path = at(name);
  const Result<Reply> reply = host_.call(kind, request);
  forget(name);
  return reply ? ok_status() : Status(reply.error());
}

Status MountTree::remove(const std::string& name) {
  MERCUTIO_TRY(hold_session());
  const Status removed = host_.remove(at(name), linked());
  forget(name);
  if (!removed) return removed;
  std::lock_guard guard(mutex_);
  lose_name(name);
  return ok_status();
}

Status MountTree::remove_directory(const std::string& name) {
  return change(Kind::kRemoveDirectory, name, {.position = linked()});
}

Status MountTree::make_directory(const std::string& name, unsigned permissions) {
  NameRequest request;
  request.permissions = permissions;
  return change(Kind::kMakeDirectory, name, request);
}

Status MountTree::make_link(const std::string& name, const std::string& text) {
  NameRequest request;
  request.other = text;
  return change(Kind::kMakeLink, name, request);
}

Status MountTree::rename(const std::string& name, const std::string& other, bool replace) {
  NameRequest request;
  request.other = at(other);
  request.replace = replace;
  MERCUTIO_TRY(change(Kind::kRename, name, request));
  renamed(name, other);
  return ok_status();
}

// Its opens keep it.
void MountTree::lose_name(const std::string& name) {
  const auto node = nodes_.find(name);
  if (node == nodes_.end()) return;
  node->second->name.clear();
  nodes_.erase(node);
}

// Open files go with their names, and what had the new one has none any more.
void MountTree::renamed(const std::string& name, const std::string& other) {
  std::lock_guard guard(mutex_);
  ++changes_;
  known_.clear();
  if (name == other) return;
  lose_name(other);
  std::vector<std::pair<std::string, std::shared_ptr<Node>>> moved;
  std::erase_if(nodes_, [&](const auto& entry) {
    if (entry.first != name && !is_below(entry.first, name)) return false;
    moved.emplace_back(other + entry.first.substr(name.size()), entry.second);
    return true;
  });
  for (auto& [to, node] : moved) {
    node->name = to;
    nodes_[to] = std::move(node);
  }
}

// What was written before has the time that is set, not that at which it arrives.
Status MountTree::change_attributes(const std::string& name, std::uint32_t permissions, i64 modified_ns) {
  if (const auto node = node_of(name)) flush_opens(*node, nullptr);
  NameRequest request;
  request.permissions = permissions;
  request.modified_ns = modified_ns;
  return change(Kind::kSetAttributes, name, request);
}

Status MountTree::finish() {
  std::vector<std::shared_ptr<File>> files;
  {
    std::lock_guard guard(mutex_);
    for (const auto& [name, node] : nodes_) files.insert(files.end(), node->files.begin(), node->files.end());
  }
  Status first = ok_status();
  for (const auto& file : files) {
    const Status flushed = flush(*file);
    if (first && !flushed) first = flushed;
  }
  return first;
}

}  // namespace mercutio::remote
