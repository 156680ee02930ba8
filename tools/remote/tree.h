// The files of this machine and those of a server behind the same calls, for cp, ls and the other commands on names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "remote/host.h"
#include "storage/storage.h"

namespace mercutio::remote {

// How a file that has been copied is to look.
struct Attributes {
  std::uint32_t permissions = 0644;
  i64 modified_ns = kTimeStays;
};
// Those of a copy. What is not known stays as it is.
Attributes attributes_of(const FileStatus& status);
bool has_time(const FileStatus& status);   // not all storage drivers tell it

// A small file under way, a status, or a change of a name. wait() is called once.
class Pending {
 public:
  virtual ~Pending() = default;
  virtual bool done() = 0;
  virtual Result<GetReply> wait() = 0;   // of a change: nothing of use
};

class Tree {
 public:
  virtual ~Tree() = default;
  virtual Result<FileStatus> status(const std::string& path) = 0;
  // `linked`: a server follows symbolic links in the first so many bytes of the path only; 0: in all of it.
  virtual Result<std::vector<ListEntry>> list(const std::string& path, i64 linked) = 0;
  virtual Result<std::unique_ptr<Storage>> open(const std::string& path, const OpenOptions& options) = 0;
  // The file that a copy is made in, for this copy alone. With `resume` what is there of an earlier one is kept, else it goes away.
  virtual Result<std::unique_ptr<Storage>> open_part(const std::string& part, bool resume) = 0;
  // What is no hole of `file`, which was opened as `path` after that had the status `known`. All of it where that can't be told.
  virtual Result<std::vector<Extent>> extents(const Storage& file, const std::string& path, const FileStatus& known) = 0;
  virtual Status remove_directory(const std::string& path, i64 linked) = 0;
  virtual Status rename(const std::string& path, const std::string& other, bool replace) = 0;
  // `part`, which is open as `file`, gets these attributes and the name `target`; ESTALE: `part` is another file by now.
  virtual Status publish(Storage& file, const std::string& part, const std::string& target, const Attributes& attributes) = 0;
  virtual RemoteHost* host() { return nullptr; }   // null: the files of this machine
  virtual std::unique_ptr<Pending> begin_get(const std::string& path) = 0;
  virtual std::unique_ptr<Pending> begin_own_status(const std::string& path) = 0;   // of the name itself, which may be a symbolic link; no content
  virtual std::unique_ptr<Pending> begin_put(const std::string& path, Buffer content, const Attributes& attributes) = 0;
  virtual std::unique_ptr<Pending> begin_make_directory(const std::string& path, int permissions) = 0;
  virtual std::unique_ptr<Pending> begin_set_attributes(const std::string& path, const Attributes& attributes) = 0;
  virtual std::unique_ptr<Pending> begin_remove(const std::string& path, i64 linked) = 0;
};

// The trees that names of a command line lie in.
class Trees {
 public:
  Trees();
  ~Trees();
  struct Place {
    Tree* tree = nullptr;
    std::string path;      // in it
    std::string name;      // as people know it
    Place in(const std::string& entry) const;
  };
  Place place(const std::string& name);

 private:
  std::unique_ptr<Tree> local_;
  std::map<std::string, std::unique_ptr<Tree>> hosts_;
};

// A name with *, ? or [...]: what has that name, else what fits, sorted; an Error if nothing does. Others are themselves.
Result<std::vector<Trees::Place>> expand(Trees& trees, const std::string& name);

// kArg: one that is not remote, but looks as if it were meant to be.
Status check_names(const std::vector<std::string>& names);

Error named(Error error, const std::string& name);
bool is_root(const Trees::Place& place);   // the name of a host or of one of its roots; what lies in a root is none
std::string last_name(const std::string& path);
bool same_file(const FileStatus& one, const FileStatus& other);

}  // namespace mercutio::remote
