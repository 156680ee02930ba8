// mercutio-files, behind `mercutio ls`, `stat`, `mkdir`, `rm` and `mv`: what one does with names of another cluster.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <deque>
#include <set>

#include "arguments.h"
#include "remote/exports.h"
#include "remote/printable.h"
#include "tree.h"

namespace mercutio::remote {
namespace {

constexpr size_t kUnderWay = 512;   // removals of files

std::string permissions_text(const FileStatus& status) {
  std::string text = status.kind() == FileType::kDirectory ? "d" : status.kind() == FileType::kLink ? "l" : status.kind() == FileType::kFile ? "-" : "?";
  for (int shift = 6; shift >= 0; shift -= 3)
    for (int bit = 2; bit >= 0; --bit) text += (status.permissions >> (shift + bit)) & 1U ? "xwr"[bit] : '-';
  return text;
}

std::string time_text(i64 ns) {
  char text[32] = "";
  const time_t seconds = time_from(ns).tv_sec;
  struct tm parts {};
  strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", localtime_r(&seconds, &parts));
  return text;
}

std::string shown_name(const ListEntry& entry) {
  return printable(entry.name) + (entry.status.kind() == FileType::kDirectory ? "/" : "");
}

void print_entry(const ListEntry& entry, bool lengthy) {
  if (!lengthy)
    std::printf("%s\n", shown_name(entry).c_str());
  else
    std::printf("%s %15lld %s %s\n", permissions_text(entry.status).c_str(), static_cast<long long>(entry.status.bytes), time_text(entry.status.modified_ns).c_str(),
                shown_name(entry).c_str());
}

Result<std::vector<Trees::Place>> places_of(Trees& trees, const Arguments& arguments, size_t least) {
  if (arguments.words().size() < least) return Error{ErrorClass::kArg, "a name is wanted, for example mercutio://far.example/data/run1"};
  std::vector<Trees::Place> places;
  for (const std::string& word : arguments.words()) {
    MERCUTIO_LET(const std::vector<Trees::Place> found, expand(trees, word));
    places.insert(places.end(), found.begin(), found.end());
  }
  return places;
}

Status list_one(const Trees::Place& place, bool lengthy) {
  if (!place.path.empty()) {
    const auto status = place.tree->status(place.path);
    if (!status) return named(status.error(), place.name);
    if (status->kind() != FileType::kDirectory) return print_entry({last_name(place.name), *status}, lengthy), ok_status();
  }
  const auto entries = place.tree->list(place.path, 0);
  if (!entries) return named(entries.error(), place.name);
  for (const ListEntry& entry : *entries)
    if (entry.name[0] != '.') print_entry(entry, lengthy);
  return ok_status();
}

Status list(const Arguments& arguments) {
  Trees trees;
  MERCUTIO_LET(const auto places, places_of(trees, arguments, 1));
  return each_of("mercutio ls", places, [&](const Trees::Place& place) {
    if (places.size() > 1) std::printf("%s:\n", printable(place.name).c_str());
    return list_one(place, arguments.has("long"));
  });
}

Status show_status(const Arguments& arguments) {
  Trees trees;
  MERCUTIO_LET(const auto places, places_of(trees, arguments, 1));
  return each_of("mercutio stat", places, [](const Trees::Place& place) -> Status {
    const auto status = place.tree->status(place.path);
    if (!status) return named(status.error(), place.name);
    std::printf("%s\n  %s  %lld bytes, %lld allocated  changed %s\n", printable(place.name).c_str(), permissions_text(*status).c_str(),
                static_cast<long long>(status->bytes), static_cast<long long>(status->allocated), time_text(status->modified_ns).c_str());
    return ok_status();
  });
}

Status make_directory(const Trees::Place& place, bool parents) {
  const auto is_there = [&] {
    const auto there = place.tree->status(place.path);
    return there && there->kind() == FileType::kDirectory;
  };
  if (parents && is_there()) return ok_status();
  auto made = place.tree->begin_make_directory(place.path, 0777)->wait();
  const size_t slash = place.path.find_last_of('/');
  if (!made && parents && made.error().sys_errno == ENOENT && slash != std::string::npos && slash > 0) {
    const size_t cut = place.path.size() - slash;
    MERCUTIO_TRY(make_directory({place.tree, place.path.substr(0, slash), place.name.substr(0, place.name.size() - cut)}, true));
    made = place.tree->begin_make_directory(place.path, 0777)->wait();
  }
  if (made || (parents && is_there())) return ok_status();   // another program may have made it meanwhile
  return named(made.error(), place.name);
}

Status make_directories(const Arguments& arguments) {
  Trees trees;
  if (arguments.words().empty()) return Error{ErrorClass::kArg, "a name is wanted, for example mercutio://far.example/data/run1"};
  return each_of("mercutio mkdir", arguments.words(), [&](const std::string& word) {
    Trees::Place place = trees.place(word);
    while (place.path.size() > 1 && place.path.back() == '/') place.path.pop_back(), place.name.pop_back();
    return make_directory(place, arguments.has("parents"));
  });
}

Status outcome(Pending& pending, const std::string& name) {
  const auto done = pending.wait();
  return done ? ok_status() : Status(named(done.error(), name));
}

// What is removed. Symbolic links are followed in the part of the path that was named only: another program may replace a directory by one.
struct Removal {
  i64 linked = 0;
  bool recursive = false;
};
Status remove(const Trees::Place& place, const FileStatus& status, const Removal& removal);

// Files go many at once, so that they do not wait for a round trip each. Ends at the first error.
Status remove_entries(const Trees::Place& directory, const std::vector<ListEntry>& entries, const Removal& removal) {
  std::deque<std::pair<std::string, std::unique_ptr<Pending>>> under_way;
  Status result = ok_status();
  const auto finish = [&](size_t most) {
    for (; under_way.size() > most; under_way.pop_front())
      if (const Status removed = outcome(*under_way.front().second, under_way.front().first); result) result = removed;
  };
  for (const ListEntry& entry : entries) {
    if (!result) break;
    const Trees::Place place = directory.in(entry.name);
    if (entry.status.kind() == FileType::kDirectory)
      result = remove(place, entry.status, removal);
    else
      under_way.emplace_back(place.name, place.tree->begin_remove(place.path, removal.linked));
    finish(kUnderWay - 1);
  }
  finish(0);
  return result;
}

// A link is removed, not what it leads to.
Status remove(const Trees::Place& place, const FileStatus& status, const Removal& removal) {
  if (status.kind() != FileType::kDirectory) return outcome(*place.tree->begin_remove(place.path, removal.linked), place.name);
  if (!removal.recursive) return Error{ErrorClass::kBadFile, place.name + ": a directory; -r removes it with all that is in it", EISDIR};
  const auto entries = place.tree->list(place.path, removal.linked);
  if (!entries) return named(entries.error(), place.name);
  MERCUTIO_TRY(remove_entries(place, *entries, removal));
  const Status removed = place.tree->remove_directory(place.path, removal.linked);
  return removed ? removed : Status(named(removed.error(), place.name));
}

Status remove_all(const Arguments& arguments) {
  Trees trees;
  MERCUTIO_LET(const auto places, places_of(trees, arguments, 1));
  return each_of("mercutio rm", places, [&](const Trees::Place& place) -> Status {
    const std::string last = last_name(place.name);
    if (is_root(place) || last == "." || last == "..")
      return Error{ErrorClass::kArg, place.name + ": a root, . or .. is not removed; name what is in it"};
    const std::string path = place.path.substr(0, place.path.find_last_not_of('/') + 1);
    const Removal removal{static_cast<i64>(path.rfind('/') + 1), arguments.has("recursive")};
    const auto known = place.tree->begin_own_status(path)->wait();
    return known ? remove(place, known->status, removal) : Status(named(known.error(), place.name));
  });
}

Status move(const Arguments& arguments) {
  Trees trees;
  if (arguments.words().size() < 2) return Error{ErrorClass::kArg, "for example: mercutio mv mercutio://far.example/data/a mercutio://far.example/data/b"};
  const Trees::Place target = trees.place(arguments.words().back());
  const auto status = target.tree->status(target.path);
  const bool into = status && status->kind() == FileType::kDirectory;
  std::vector<Trees::Place> sources;
  for (size_t i = 0; i + 1 < arguments.words().size(); ++i) {
    MERCUTIO_LET(const std::vector<Trees::Place> found, expand(trees, arguments.words()[i]));
    sources.insert(sources.end(), found.begin(), found.end());
  }
  if (!into && sources.size() > 1) return Error{ErrorClass::kArg, "several files go into a directory: " + arguments.words().back() + " is none"};
  std::set<std::string> names;   // of two that meet the first would be lost
  for (const Trees::Place& source : sources)
    if (!names.insert(last_name(source.name)).second)
      return Error{ErrorClass::kArg, "two of the names end in " + last_name(source.name) + ", and one would replace the other in " + target.name + ": nothing was moved"};
  return each_of("mercutio mv", sources, [&](const Trees::Place& source) -> Status {
    const Trees::Place place = into ? target.in(last_name(source.name)) : target;
    if (source.tree != place.tree) return Error{ErrorClass::kArg, source.name + ": mv stays on one server; use cp, then rm"};
    const Status moved = source.tree->rename(source.path, place.path, !arguments.has("no-clobber"));
    if (!moved) return named(moved.error(), source.name + " to " + place.name);
    return ok_status();
  });
}

const std::vector<Option> kListOptions = {{"long", nullptr, "with permissions, size and time", 'l'}, {"help", nullptr, "print this"}};
const std::vector<Option> kStatOptions = {{"help", nullptr, "print this"}};
const std::vector<Option> kMakeOptions = {{"parents", nullptr, "make the directories above, too; one that is there already is fine", 'p'}, {"help", nullptr, "print this"}};
const std::vector<Option> kRemoveOptions = {{"recursive", nullptr, "directories with all that is in them", 'r'}, {"help", nullptr, "print this"}};
const std::vector<Option> kMoveOptions = {{"no-clobber", nullptr, "fail where the new name is taken", 'n'}, {"help", nullptr, "print this"}};

struct Known {
  const char* word;
  Command command;
  Status (*body)(const Arguments&);
};
const Known kKnown[] = {
    {"ls", {"mercutio ls", "mercutio ls [-l] NAME...\nLists directories of another cluster, mercutio://host or mercutio://host/root/path.", kListOptions}, list},
    {"stat", {"mercutio stat", "mercutio stat NAME...\nSays what a file of another cluster is.", kStatOptions}, show_status},
    {"mkdir", {"mercutio mkdir", "mercutio mkdir [-p] NAME...\nMakes directories on another cluster.", kMakeOptions}, make_directories},
    {"rm", {"mercutio rm", "mercutio rm [-r] NAME...\nRemoves files of another cluster.", kRemoveOptions}, remove_all},
    {"mv", {"mercutio mv", "mercutio mv [-n] NAME... NAME\nRenames files of another cluster, or moves them into a directory there.", kMoveOptions}, move},
};

}  // namespace
}  // namespace mercutio::remote

int main(int argc, char** argv) {
  using namespace mercutio::remote;
  signal(SIGPIPE, SIG_IGN);
  for (const Known& known : kKnown)
    if (argc > 1 && std::strcmp(argv[1], known.word) == 0)
      return run_command(known.command, argc - 1, argv + 1, [&](const Arguments& arguments) -> mercutio::Status {
        MERCUTIO_TRY(check_names(arguments.words()));
        return known.body(arguments);
      });
  std::fprintf(stderr, "mercutio-files: ls, stat, mkdir, rm or mv is wanted\n");
  return 2;
}
