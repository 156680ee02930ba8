#include "driver_checks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "storage/names.h"

namespace mercutio::tool {
namespace {

// What the checks make beside or below their own name.
constexpr const char* kNames[] = {"", "-other", "/one", "/two", "/three", "/folder"};

bool unsupported(const Status& status) {
  return !status && status.error().cls == ErrorClass::kUnsupportedOperation;
}
bool fails_with(const Status& status, ErrorClass cls) {
  return !status && status.error().cls == cls;
}

Result<std::unique_ptr<Storage>> make(const Resolved& at, const std::string& path, int permissions = 0666) {
  OpenOptions options;
  options.write = options.create = options.exclusive = true;
  options.permissions = permissions;
  return at.driver->open(path, options);
}

// A file of that size.
bool make_file(ContractRun& run, const Resolved& at, const std::string& path, i64 bytes) {
  const Status made = attempt([&]() -> Status {
    MERCUTIO_LET(const auto storage, make(at, path));
    std::vector<std::byte> data(static_cast<size_t>(bytes), std::byte{7});
    const IoPiece all{0, data.data(), bytes};
    if (bytes > 0) MERCUTIO_TRY(storage->write({&all, 1}));
    MERCUTIO_TRY(storage->sync());
    return storage->close();
  });
  return run.expect(made, "make a file in a folder");
}
i64 bytes_of_file(const Resolved& at, const std::string& path) {
  const auto opened = at.driver->open(path, {});
  const Result<i64> size = opened ? (*opened)->size() : Result<i64>(opened.error());
  return size ? *size : -1;
}

// Makes the folder of a check; null where the driver has no function for that.
Names* folder_for(ContractRun& run, const Resolved& at) {
  auto* const names = dynamic_cast<Names*>(at.driver);
  const Status made = names ? names->make_folder(at.path) : ok_status();
  if (names && !unsupported(made)) return run.expect(made, "make a folder") ? names : nullptr;
  run.skip("the driver has no folders");
  return nullptr;
}

void check_list(ContractRun& run, Names& names, const std::string& folder) {
  std::vector<NamedFile> found;
  const auto collect = [&](NamedFile file) { return found.push_back(std::move(file)), true; };
  const Status listed = names.list(folder, collect);
  if (unsupported(listed) || !run.expect(listed, "list a folder")) return;
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  const auto same = [](const auto& a, const auto& b) { return a.name == b.name && a.bytes == b.bytes && a.is_folder == b.is_folder; };
  found.erase(std::unique(found.begin(), found.end(), same), found.end());   // a list that was interrupted begins again
  std::string all;
  for (const NamedFile& file : found) all += (all.empty() ? "" : " ") + file.name + (file.is_folder ? "/" : ":" + std::to_string(file.bytes));
  run.expect(all == "folder/ one:5 two:7", "list gives the names, without . and .., and what they are: got '" + all + "', want 'folder/ one:5 two:7'");
  int taken = 0;
  run.expect(names.list(folder, [&](const NamedFile&) { return ++taken, false; }), "list the first name only");
  run.equals(taken, 1, "names that list gives to who wants one");
  found.clear();
  run.expect(names.list(folder + "/folder", collect), "list an empty folder");
  run.expect(found.empty(), "there is nothing in an empty folder");
  run.expect(!names.list(folder + "/absent", collect).ok(), "a folder that is not there can't be listed");
  run.expect(!names.list(folder + "/one", collect).ok(), "a file can't be listed");
}

void check_look(ContractRun& run, Names& names, const std::string& folder) {
  const auto file = names.look(folder + "/one"), below = names.look(folder + "/folder"), absent = names.look(folder + "/absent");
  if (!file && file.error().cls == ErrorClass::kUnsupportedOperation) return;
  if (!run.expect(file.ok() && below.ok(), "look at a file and a folder")) return;
  run.expect(!file->is_folder && below->is_folder, "look tells files from folders");
  run.equals(file->bytes, 5, "bytes of a file, as look gives them");
  run.expect(!absent && absent.error().cls == ErrorClass::kNoSuchFile, "look says where there is nothing (ENOENT)");
}

// As a rank of a collective open; null: it can't be opened.
std::unique_ptr<Storage> open_as(ContractRun& run, const Resolved& at, const std::string& path, const WriterGroup& group, std::span<const std::byte> handle) {
  OpenOptions options;
  options.write = true;
  options.create = options.exclusive = group.rank == 0;
  options.group = group;
  options.handle = handle;
  auto opened = at.driver->open(path, options);
  if (!opened) run.expect(opened.error(), "open as rank " + std::to_string(group.rank) + " of " + std::to_string(group.size));
  return opened ? std::move(*opened) : nullptr;
}

}  // namespace

void check_errors(ContractRun& run, const Resolved& at) {
  OpenOptions options;
  const auto missing = at.driver->open(at.path, options);
  run.expect(!missing && missing.error().cls == ErrorClass::kNoSuchFile, "a file that is not there can't be opened (ENOENT)");
  options.write = options.create = options.exclusive = true;
  const auto made = at.driver->open(at.path, options);
  if (!run.expect(made ? ok_status() : Status(made.error()), "make a file")) return;
  run.expect((*made)->close(), "close");
  const auto again = at.driver->open(at.path, options);
  run.expect(!again && again.error().cls == ErrorClass::kFileExists, "one that is there can't be made with MPI_MODE_EXCL (EEXIST)");
  const Status removed = at.driver->remove(at.path);
  if (unsupported(removed)) return;
  run.expect(removed, "delete it");
  run.expect(!at.driver->open(at.path, {}).ok(), "a file that was deleted can't be opened");
  run.expect(!at.driver->remove(at.path).ok(), "a file that was deleted can't be deleted");
}

// As open(2) makes another file in the same folder. Other storage may have no permissions, or no place where they are seen.
void check_permissions(ContractRun& run, const Resolved& at) {
  const std::string beside = at.path + "-other";
  const mode_t before = ::umask(027);
  for (const int permissions : {0666, 0600}) {
    struct stat made{}, wanted{};
    const auto storage = make(at, at.path, permissions);
    if (!run.expect(storage ? ok_status() : Status(storage.error()), "make a file")) break;
    run.expect((*storage)->close(), "close");
    if (::stat(at.path.c_str(), &made) != 0) {
      run.skip("this machine shows no file at " + at.path);
      break;
    }
    const int control = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions);
    if (control >= 0) {
      (void)::fstat(control, &wanted);
      (void)::close(control);
      (void)::unlink(beside.c_str());
      run.equals(made.st_mode & 0777, wanted.st_mode & 0777, "permissions of a new file (as decimal numbers)");
    }
    if (!at.driver->remove(at.path).ok()) break;
  }
  (void)::umask(before);
}

// Ranks compare the numbers when they open a file, and decide by the other traits what all of them do.
void check_numbers(ContractRun& run, const Resolved& at) {
  const WriterGroup group{draw_first_mark(2), 0, 2};
  const auto first = open_as(run, at, at.path, group, {});
  if (!first) return;
  if (first->traits().coherence == Coherence::kAfterPublish) {
    run.expect(first->sync(), "sync");
    run.expect(first->publish(/*keep=*/true, /*last=*/false), "publish");
  }
  const auto handle = first->shared_handle();
  if (!run.expect(handle ? ok_status() : Status(handle.error()), "a handle for the other ranks")) return;
  const auto second = open_as(run, at, at.path, WriterGroup{group.first_mark, 1, 2}, *handle);
  const auto other = open_as(run, at, at.path + "-other", WriterGroup{}, {});
  if (!second || !other) return;
  const Traits &one = first->traits(), &two = second->traits();
  run.equals(two.file_number, one.file_number, "file_number of one file on two ranks");
  run.expect(one.coherence == two.coherence && one.can_lock == two.can_lock, "both ranks are told the same of `seen` and `locks`");
  run.expect(one.file_number == 0 || other->traits().file_number != one.file_number, "different files have different numbers: both have " + std::to_string(one.file_number));
}

// Mercutio's own drivers have bytes far away that it locks for itself.
void check_endless_locks(ContractRun& run, const Resolved& at) {
  const auto first = run.open(), second = run.open(false);
  if (!first || !second) return;
  if (!first->traits().can_lock || !dynamic_cast<Names*>(at.driver)) return run.skip("no such locks on " + first->traits().file_system);
  auto held = first->lock(200, INT64_MAX, true);
  if (!run.expect(held ? ok_status() : Status(held.error()), "a lock without an end")) return;
  for (const i64 place : {i64{200}, 64 * MiB, i64{1} << 40, i64{1} << 62}) {
    const auto taken = second->try_lock(place, place + 10, true);
    run.expect(taken.ok() && !*taken, "a lock without an end holds at " + std::to_string(place));
  }
  const auto before = second->try_lock(100, 200, true);
  run.expect(before.ok() && *before, "the range before it can be locked");
}

void check_names(ContractRun& run, const Resolved& at) {
  Names* const names = folder_for(run, at);
  if (!names) return;
  if (!make_file(run, at, at.path + "/one", 5) || !make_file(run, at, at.path + "/two", 7)) return;
  if (!run.expect(names->make_folder(at.path + "/folder"), "make a folder in a folder")) return;
  run.expect(fails_with(names->make_folder(at.path + "/folder"), ErrorClass::kFileExists), "a folder that is there can't be made (EEXIST)");
  check_list(run, *names, at.path);
  check_look(run, *names, at.path);
  run.expect(!at.driver->remove(at.path + "/folder").ok(), "a folder can't be deleted as a file");
  const Status removed = names->remove_folder(at.path);
  if (unsupported(removed)) return;
  run.expect(!removed.ok(), "a folder with files can't be deleted");
  run.equals(bytes_of_file(at, at.path + "/one"), 5, "bytes of a file in a folder that can't be deleted");
  run.expect(names->remove_folder(at.path + "/folder"), "delete an empty folder");
  run.expect(!names->remove_folder(at.path + "/one").ok(), "a file can't be deleted as a folder");
}

void check_renames(ContractRun& run, const Resolved& at) {
  Names* const names = folder_for(run, at);
  if (!names) return;
  if (!names->can_rename()) return run.skip("the driver has no function for that");
  const std::string one = at.path + "/one", two = at.path + "/two";
  if (!make_file(run, at, one, 5) || !make_file(run, at, two, 7)) return;
  run.expect(fails_with(names->rename(one, two, /*replace=*/false), ErrorClass::kFileExists), "a name that is taken isn't given to another file where that is asked (EEXIST)");
  run.equals(bytes_of_file(at, one), 5, "bytes of the file that kept its name");
  run.equals(bytes_of_file(at, two), 7, "bytes of the file that was not replaced");
  run.expect(names->rename(one, two, /*replace=*/true), "replace a file");
  run.equals(bytes_of_file(at, two), 5, "bytes of the file under its new name");
  run.equals(bytes_of_file(at, one), -1, "bytes under the old name");
  run.expect(names->rename(two, one, /*replace=*/false), "give a free name");
  run.equals(bytes_of_file(at, one), 5, "bytes of the file under a free name");
  run.expect(fails_with(names->rename(two, at.path + "/three", true), ErrorClass::kNoSuchFile), "a file that is not there can't be renamed (ENOENT)");
}

bool remove_made(const Resolved& at) {
  auto* const names = dynamic_cast<Names*>(at.driver);
  bool gone = true;
  for (auto name = std::rbegin(kNames); name != std::rend(kNames); ++name) {
    const std::string path = at.path + *name;
    Status removed = attempt([&] { return at.driver->remove(path); });
    const bool folder = !removed && names && attempt([&] { return names->remove_folder(path); }).ok();
    if (removed || folder) continue;
    gone = gone && !attempt([&] { return at.driver->open(path, {}); }).ok() && !(names && attempt([&] { return names->look(path); }).ok());
  }
  return gone;
}

}  // namespace mercutio::tool
