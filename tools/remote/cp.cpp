// mercutio-cp, behind `mercutio cp`: copies files and directories between here and other clusters. A copy has its name when it is
// whole. Large files go in pieces, several at once (copy_file.h); small ones each in a message, many of them under way.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <set>

#include "arguments.h"
#include "copy_file.h"
#include "remote/printable.h"

namespace mercutio::remote {
namespace {

constexpr size_t kUnderWay = 512;            // small files
constexpr i64 kMostUnderWay = 16 * MiB;      // bytes of them

const std::vector<Option> kOptions = {
    {"recursive", nullptr, "copy directories with what is in them (default: off)", 'r'},
    {"resume", nullptr, "continue a copy that was interrupted: what is there already is not sent again (default: off)"},
    {"no-verify", nullptr, "compare no checksums at the end (default: off)"},
    {"parallel", "N", "number of pieces of 8 MiB under way at once, 1 to 64 (default: 4)"},
    {"quiet", nullptr, "show no progress bar; there is none where standard error is no terminal (default: off)"},
    {"help", nullptr, "print this"},
};

struct Item {
  Trees::Place source, target;
  FileStatus status;
};

// What failed is said, and the rest goes on.
class Failures {
 public:
  void add(const Error& error) {
    if (!first_) first_ = error;
    if (++count_ > 1) std::fprintf(stderr, "mercutio cp: %s\n", printable(error.what).c_str());
  }
  bool none() const { return !first_; }
  Status result() const {
    if (!first_) return ok_status();
    Error error = *first_;
    if (count_ > 1) error.what += "; " + std::to_string(count_) + " could not be copied";
    return error;
  }

 private:
  std::optional<Error> first_;
  i64 count_ = 0;
};

// Files in the order of their names, and the directories to be made for them, from the top down.
struct Plan {
  std::vector<Item> files;
  std::vector<std::vector<Item>> directories;   // by depth

  // Two files never go to one name: the first would be lost.
  void add_file(Item item, Failures& failures) {
    if (targets_.insert(item.target.path).second)
      files.push_back(std::move(item));
    else
      failures.add(Error{ErrorClass::kFileExists, item.source.name + ": another file is copied to " + item.target.name + " already", EEXIST});
  }

  void walk(const Item& top, Failures& failures) {
    std::deque<std::pair<Item, size_t>> left = {{top, 0}};
    while (!left.empty()) {
      const auto [item, depth] = left.front();
      left.pop_front();
      if (directories.size() <= depth) directories.resize(depth + 1);
      directories[depth].push_back(item);
      const auto entries = item.source.tree->list(item.source.path, 0);
      if (!entries) failures.add(named(entries.error(), item.source.name));
      if (!entries) continue;
      for (const ListEntry& entry : *entries) add({item.source.in(entry.name), item.target.in(entry.name), entry.status}, depth + 1, left, failures);
    }
  }

  void leave_out_below(const Trees::Place& directory) {
    const std::string begin = directory.in("").path;
    const auto is_below = [&](const Item& item) { return item.target.path.starts_with(begin); };
    std::erase_if(files, is_below);
    for (std::vector<Item>& level : directories) std::erase_if(level, is_below);
  }

 private:
  void add(Item item, size_t depth, std::deque<std::pair<Item, size_t>>& left, Failures& failures) {
    if (item.status.kind() == FileType::kLink) {   // what it leads to, if that is a file
      const auto led = item.source.tree->status(item.source.path);
      if (!led) return failures.add(named(led.error(), item.source.name));
      item.status = *led;
      if (led->kind() == FileType::kDirectory)
        return failures.add(Error{ErrorClass::kBadFile, item.source.name + ": a symbolic link to a directory is not followed", ELOOP});
    }
    if (item.status.kind() == FileType::kDirectory)
      left.emplace_back(std::move(item), depth);
    else if (item.status.kind() == FileType::kFile)
      add_file(std::move(item), failures);
    else
      failures.add(Error{ErrorClass::kBadFile, item.source.name + ": not a regular file", ENXIO});
  }
  std::set<std::string> targets_;   // all are in one tree
};

bool is_directory(const Trees::Place& place) {
  const auto status = place.tree->status(place.path);
  return status && status->kind() == FileType::kDirectory;
}

// Its owner fills it. Others write to it no sooner than with the sticky bit, if it gets that.
int permissions_to_fill(const FileStatus& status) {
  const std::uint32_t kept = (status.permissions & S_ISVTX) != 0 ? 0755 : 0777;
  return static_cast<int>((status.permissions & kept) | 0700);
}

// Those that were made are returned, from the top down. A link in the place of one would lead the copy out of the target: only the target that was named
// may be a link.
std::vector<std::vector<Item>> make_directories(Plan& plan, const Trees::Place& target_named, Failures& failures) {
  std::vector<std::vector<Item>> all_made;
  for (const std::vector<Item>& level : plan.directories) {
    std::vector<std::unique_ptr<Pending>> pending;
    for (const auto& [source, target, status] : level)
      pending.push_back(target.tree->begin_make_directory(target.path, permissions_to_fill(status)));
    std::vector<Item>& of_level = all_made.emplace_back();
    std::vector<std::pair<Trees::Place, Error>> others;   // what could not be made, and why
    std::vector<std::unique_ptr<Pending>> statuses;
    for (size_t i = 0; i < level.size(); ++i) {
      const auto made = pending[i]->wait();
      if (made) {
        of_level.push_back(level[i]);
      } else if (level[i].target.path != target_named.path || !is_directory(target_named)) {
        others.emplace_back(level[i].target, made.error());
        statuses.push_back(level[i].target.tree->begin_own_status(level[i].target.path));
      }
    }
    for (size_t i = 0; i < others.size(); ++i) {
      const auto there = statuses[i]->wait();
      if (there && there->status.kind() == FileType::kDirectory) continue;
      const Error is_none{ErrorClass::kFileExists, "is there already and no directory (a symbolic link is none); nothing is copied into it", ENOTDIR};
      failures.add(named(there ? is_none : others[i].second, others[i].first.name));
      plan.leave_out_below(others[i].first);
    }
  }
  return all_made;
}

// When they are filled: from the bottom up, as afterwards nobody may be allowed to write to them, and what is written to them changes their times.
// If something failed, their owner may still write to them, for another try.
void set_attributes(const std::vector<std::vector<Item>>& directories, Failures& failures) {
  const std::uint32_t at_least = failures.none() ? 0 : 0700;
  for (auto level = directories.rbegin(); level != directories.rend(); ++level) {
    std::vector<std::unique_ptr<Pending>> pending;
    for (const auto& [source, target, status] : *level) {
      Attributes attributes = attributes_of(status);
      attributes.permissions |= at_least;
      pending.push_back(target.tree->begin_set_attributes(target.path, attributes));
    }
    for (size_t i = 0; i < level->size(); ++i) {
      const auto set = pending[i]->wait();
      if (!set && set.error().cls != ErrorClass::kUnsupportedOperation) failures.add(named(set.error(), (*level)[i].target.name));
    }
  }
}

// Small files: read, then written, many at once.
class SmallCopies {
 public:
  explicit SmallCopies(Failures& failures) : failures_(failures) {}

  void add(const Item& item) {
    while (!under_way_.empty() && (under_way_.size() >= kUnderWay || bytes_ + item.status.bytes > kMostUnderWay)) finish();
    bytes_ += item.status.bytes;
    under_way_.push_back({item, item.source.tree->begin_get(item.source.path), nullptr});
    for (One& one : under_way_)
      if (one.get && one.get->done()) put(one);
  }
  void end() {
    while (!under_way_.empty()) finish();
  }
  std::vector<Item> changed;   // no longer small since they were listed, or changed while they were read: they go as large ones

 private:
  struct One {
    Item item;
    std::unique_ptr<Pending> get, put;
  };
  void put(One& one) {
    Result<GetReply> got = one.get->wait();
    one.get.reset();
    if (!got) return fail(one, got.error());
    if (static_cast<i64>(got->content.size()) != got->status.bytes) return changed.push_back(one.item);
    const Trees::Place& target = one.item.target;
    one.put = target.tree->begin_put(target.path, std::move(got->content), attributes_of(got->status));
  }
  void finish() {
    One one = std::move(under_way_.front());
    under_way_.pop_front();
    bytes_ -= one.item.status.bytes;
    if (one.get) put(one);
    for (One& other : under_way_)
      if (other.get && other.get->done()) put(other);
    if (!one.put) return;
    if (const auto done = one.put->wait(); !done) fail(one, done.error());
  }
  void fail(const One& one, Error error) {
    error.what = one.item.source.name + " to " + one.item.target.name + ": " + error.what;
    failures_.add(error);
  }
  Failures& failures_;
  std::deque<One> under_way_;
  i64 bytes_ = 0;   // of what is under way, as it was listed
};

// What has no name of its own (/, . and ..) is copied into the directory itself.
Trees::Place place_in(const Trees::Place& directory, const Trees::Place& source) {
  const std::string name = last_name(source.name);
  return name.empty() || name == "." || name == ".." ? directory : directory.in(name);
}

// Links in the way of local ones are followed, as far as the names are there.
std::string whole_path(const Trees::Place& place) {
  std::error_code failed;
  const std::filesystem::path path = place.tree->host() ? std::filesystem::path(place.path).lexically_normal() : std::filesystem::weakly_canonical(place.path, failed);
  const std::string text = failed ? place.path : path.string();
  return text.ends_with('/') ? text : text + "/";
}

bool goes_into_itself(const Item& item) {
  return item.source.tree == item.target.tree && whole_path(item.target).starts_with(whole_path(item.source));
}

Status plan_sources(Trees& trees, const std::vector<std::string>& words, const Arguments& arguments, Plan& plan, Failures& failures) {
  std::vector<Trees::Place> sources;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    MERCUTIO_LET(const std::vector<Trees::Place> found, expand(trees, words[i]));
    sources.insert(sources.end(), found.begin(), found.end());
  }
  const Trees::Place target = trees.place(words.back());
  const auto there = target.tree->status(target.path);
  const bool into = there && there->kind() == FileType::kDirectory;
  if (!there && (is_root(target) || there.error().cls == ErrorClass::kIo || there.error().cls == ErrorClass::kAccess)) return named(there.error(), words.back());
  if (!into && sources.size() > 1) return Error{ErrorClass::kArg, "several files go into a directory: " + words.back() + " is none"};
  if (!into && words.back().ends_with('/') && !arguments.has("recursive"))
    return there ? Error{ErrorClass::kNoSuchFile, words.back() + ": there is no such directory", ENOENT} : named(there.error(), words.back());
  for (const Trees::Place& source : sources) {
    const auto status = source.tree->status(source.path);
    if (!status) {
      failures.add(named(status.error(), source.name));
      continue;
    }
    const Item item{source, into ? place_in(target, source) : target, *status};
    if (status->kind() == FileType::kFile)
      plan.add_file(item, failures);
    else if (status->kind() != FileType::kDirectory)
      failures.add(Error{ErrorClass::kBadFile, source.name + ": not a regular file", ENXIO});
    else if (!arguments.has("recursive"))
      failures.add(Error{ErrorClass::kBadFile, source.name + ": a directory; -r copies it", EISDIR});
    else if (goes_into_itself(item))
      failures.add(Error{ErrorClass::kArg, source.name + ": a directory is not copied into itself, " + item.target.name, EINVAL});
    else
      plan.walk(item, failures);
  }
  return ok_status();
}

// One by itself goes as a large file does, which tells more where something is wrong.
bool goes_in_a_message(const Item& item, const Plan& plan) {
  return plan.files.size() > 1 && item.status.bytes <= kMostContent && item.target.path != item.source.path;
}

Status copy(const Arguments& arguments) {
  signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string>& words = arguments.words();
  if (words.size() < 2)
    return Error{ErrorClass::kArg, "for example: mercutio cp result.nc mercutio://far.example/data/run1/, or: mercutio cp -r mercutio://far.example/data/run1 ."};
  MERCUTIO_TRY(check_names(words));
  CopySettings settings;
  settings.resume = arguments.has("resume");
  settings.verify = !arguments.has("no-verify");
  CopyView view;
  view.shown = !arguments.has("quiet") && ::isatty(STDERR_FILENO) == 1;
  std::set<std::string> printed;   // once, however many files there are
  view.say = [&](const std::string& text) {
    if (printed.insert(text).second) std::fprintf(stderr, "mercutio cp: %s\n", printable(text).c_str());
  };
  MERCUTIO_LET(settings.parallel, arguments.number("parallel", settings.parallel, 1, 64));
  Trees trees;
  Plan plan;
  Failures failures;
  MERCUTIO_TRY(plan_sources(trees, words, arguments, plan, failures));
  const auto made = make_directories(plan, trees.place(words.back()), failures);
  SmallCopies small(failures);
  std::vector<Item> large;
  for (const Item& item : plan.files) {
    if (goes_in_a_message(item, plan))
      small.add(item);
    else
      large.push_back(item);
  }
  small.end();
  large.insert(large.end(), small.changed.begin(), small.changed.end());
  for (const Item& item : large)
    if (const Status copied = copy_file(item.source, item.target, settings, view); !copied) failures.add(copied.error());
  set_attributes(made, failures);
  return failures.result();
}

const Command kCommand{"mercutio cp", "mercutio cp [options] SOURCE... TARGET\nCopies files; either side may be mercutio://host/root/path.", kOptions};

}  // namespace
}  // namespace mercutio::remote

int main(int argc, char** argv) {
  return mercutio::remote::run_command(mercutio::remote::kCommand, argc, argv, mercutio::remote::copy);
}
