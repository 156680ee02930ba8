// What a mount does with the files of a server, by names below the mounted directory. Rules: what one machine has closed another one
// sees that opens the file afterwards; attributes are kept for a moment; programs on this machine see each other's writes at once.
#pragma once

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <set>

#include "remote/host.h"

namespace mercutio::remote {

class MountTree {
 public:
  class File;
  MountTree(const std::string& host, std::string directory, i64 kept_ns);
  ~MountTree();

  Status begin();   // the server answers, and it is a directory
  // Of what is mounted, or of an open file, which may have no name any more.
  Result<FileStatus> status(const std::string& name, File* file);
  Result<std::vector<ListEntry>> list(const std::string& name);
  Result<std::string> read_link(const std::string& name);
  Result<Space> space(const std::string& name);

  Result<std::shared_ptr<File>> open(const std::string& name, int flags, unsigned permissions);   // those of open(2)
  static bool is_direct(const File& file);   // the kernel may not keep what it reads, as it has pages of another file under this name
  Result<i64> read(File& file, std::byte* data, i64 bytes, i64 offset);
  Result<i64> write(File& file, const std::byte* data, i64 bytes, i64 offset);
  // What was written is at the server, or the first error since the last time. Of a driver's file, which may be published by that alone, also
  // on its storage.
  Status flush(File& file);
  Status sync(File& file);
  Status close(const std::shared_ptr<File>& file);
  Status set_size(const std::string& name, File* file, i64 bytes);
  Status preallocate(File& file, i64 bytes);

  Status remove(const std::string& name);
  Status remove_directory(const std::string& name);
  Status make_directory(const std::string& name, unsigned permissions);
  Status make_link(const std::string& name, const std::string& text);
  Status rename(const std::string& name, const std::string& other, bool replace);
  Status change_attributes(const std::string& name, std::uint32_t permissions, i64 modified_ns);
  Status finish();   // all that is open is flushed; the first error

 private:
  struct Node;       // what the opens of one file have in common
  struct Known {
    FileStatus status;
    i64 until_ns = 0;
  };
  std::string at(const std::string& name) const;
  i64 linked() const { return std::max<i64>(1, static_cast<i64>(directory_.size())); }   // below that, the kernel follows links
  Result<bool> is_of_driver(const std::string& path);
  Status hold_session();
  Status change(Kind kind, const std::string& name, NameRequest request);
  void flush_opens(const Node& node, const File* but);   // writes of its other opens are at the server
  Result<FileStatus> status_of(const std::string& name, i64 changes);
  static Result<FileStatus> status_of(const File& file);
  void add(const std::shared_ptr<File>& file, const std::string& name);
  std::shared_ptr<Node> node_of(const std::string& name);
  std::vector<std::shared_ptr<Node>> nodes_in(const std::string& directory);   // of what is open there
  i64 changes_now();
  void keep(const std::string& name, const FileStatus& status) MERCUTIO_REQUIRES(mutex_);
  void forget(const std::string& name);
  void forget_locked(const std::string& name) MERCUTIO_REQUIRES(mutex_);
  void lose_name(const std::string& name) MERCUTIO_REQUIRES(mutex_);
  void renamed(const std::string& name, const std::string& other);

  RemoteHost host_;
  const std::string directory_;   // of the server; empty: all roots
  const i64 kept_ns_;
  std::mutex mutex_;
  std::shared_ptr<Session> held_ MERCUTIO_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<Node>> nodes_ MERCUTIO_GUARDED_BY(mutex_);
  std::map<std::string, Known> known_ MERCUTIO_GUARDED_BY(mutex_);
  std::map<std::string, bool> driver_roots_ MERCUTIO_GUARDED_BY(mutex_);
  i64 changes_ MERCUTIO_GUARDED_BY(mutex_) = 0;   // of names and files by this mount
};

}  // namespace mercutio::remote
