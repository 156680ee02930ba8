// mercutio-mount, behind `mercutio mount` and `mercutio umount`: what a server exports as a directory of this machine, by libfuse3.
// MountTree knows the rules; here are the calls of the kernel, and the program that answers them.
#define FUSE_USE_VERSION 32
#include <fuse.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/attempt.h"
#include "base/errno_text.h"
#include "base/threads.h"
#include "common.h"
#include "mount_tree.h"
#include "remote/exports.h"
#include "remote/printable.h"

namespace mercutio::remote {
namespace {

constexpr i64 kNs = 1'000'000'000;
constexpr unsigned kLargest = 1024 * 1024;   // of a read or write
using FileRef = std::shared_ptr<MountTree::File>;

MountTree& tree() {
  return *static_cast<MountTree*>(fuse_get_context()->private_data);
}

FileRef& file_of(const fuse_file_info* info) {
  return *reinterpret_cast<FileRef*>(info->fh);
}

// Programs get a number only. Where that says little, the log has the reason; the same one as before, every ten seconds at most.
int logged_errno(const Error& error) {
  static std::mutex mutex;
  static std::string last;
  static i64 last_ns = 0;
  const int number = errno_of(error);
  if (number != EIO && number != ETIMEDOUT && number != ESTALE) return number;
  std::lock_guard guard(mutex);
  if (error.what == last && now_ns() - last_ns < 10 * kNs) return number;
  last = error.what;
  last_ns = now_ns();
  syslog(LOG_ERR, "%s", printable(error.what).c_str());
  return number;
}

// What `work` has, or the negative errno.
template <class Work>
int number(Work work) {
  const Result<i64> result = attempt([&]() -> Result<i64> { return work(); });
  if (result) return static_cast<int>(*result);
  const Result<int> told = attempt([&]() -> Result<int> { return logged_errno(result.error()); });
  return -(told ? *told : errno_of(result.error()));
}
template <class Work>
int outcome(Work work) {
  return number([&]() -> Result<i64> {
    MERCUTIO_TRY(work());
    return i64{0};
  });
}

// Numbers of files from several file systems in one.
u64 file_number(const FileStatus& status) {
  return status.inode ^ (status.device * 0x9E3779B97F4A7C15U);
}

void fill(const FileStatus& status, struct stat* out) {
  *out = {};
  const FileType kind = status.kind();
  out->st_mode = (status.permissions & 07777) | (kind == FileType::kDirectory ? S_IFDIR : kind == FileType::kLink ? S_IFLNK : kind == FileType::kFile ? S_IFREG : S_IFSOCK);
  out->st_ino = file_number(status);
  out->st_nlink = 1;   // not known: 1 tells programs not to count directories by it
  out->st_uid = ::getuid();
  out->st_gid = ::getgid();
  out->st_size = std::max<i64>(0, status.bytes);
  out->st_blocks = std::max<i64>(0, status.allocated) / 512;
  out->st_blksize = kLargest;
  out->st_mtim = time_from(status.modified_ns);
  out->st_atim = out->st_ctim = out->st_mtim;
}

int get_attributes(const char* name, struct stat* out, fuse_file_info* info) {
  return outcome([&]() -> Status {
    MERCUTIO_LET(const FileStatus status, tree().status(name ? name : "", info && info->fh ? file_of(info).get() : nullptr));
    fill(status, out);
    return ok_status();
  });
}

int read_link(const char* name, char* out, size_t bytes) {
  return outcome([&]() -> Status {
    MERCUTIO_LET(const std::string text, tree().read_link(name));
    std::snprintf(out, bytes, "%s", text.c_str());
    return ok_status();
  });
}

int read_directory(const char* name, void* buffer, fuse_fill_dir_t add) {
  return outcome([&]() -> Status {
    MERCUTIO_LET(const std::vector<ListEntry> entries, tree().list(name));
    for (const char* const own : {".", ".."}) add(buffer, own, nullptr, 0, fuse_fill_dir_flags{});
    for (const ListEntry& entry : entries) {
      struct stat status {};
      fill(entry.status, &status);
      if (add(buffer, entry.name.c_str(), &status, 0, FUSE_FILL_DIR_PLUS) != 0) return error_from_errno("readdir", ENOMEM);
    }
    return ok_status();
  });
}

int open_file(const char* name, unsigned permissions, fuse_file_info* info) {
  return outcome([&]() -> Status {
    MERCUTIO_LET(FileRef file, tree().open(name, info->flags, permissions));
    info->direct_io = MountTree::is_direct(*file);
    info->fh = reinterpret_cast<u64>(new FileRef(std::move(file)));
    return ok_status();
  });
}

int open_known(const char* name, fuse_file_info* info) {
  info->flags &= ~(O_CREAT | O_EXCL);
  return open_file(name, 0666, info);
}

int create(const char* name, mode_t permissions, fuse_file_info* info) {
  info->flags |= O_CREAT;
  return open_file(name, permissions & 0777, info);
}

int read(const char*, char* data, size_t bytes, off_t offset, fuse_file_info* info) {
  return number([&] { return tree().read(*file_of(info), reinterpret_cast<std::byte*>(data), static_cast<i64>(bytes), offset); });
}

int write(const char*, const char* data, size_t bytes, off_t offset, fuse_file_info* info) {
  return number([&]() -> Result<i64> {
    MERCUTIO_TRY(tree().write(*file_of(info), reinterpret_cast<const std::byte*>(data), static_cast<i64>(bytes), offset));
    return static_cast<i64>(bytes);
  });
}

int flush(const char*, fuse_file_info* info) {
  return outcome([&] { return tree().flush(*file_of(info)); });
}

int sync(const char*, int, fuse_file_info* info) {
  return outcome([&] { return tree().sync(*file_of(info)); });
}

// Nobody hears of an error here: close() and fsync() have told it, but for what was written by a mapping after them.
int release(const char*, fuse_file_info* info) {
  return outcome([&]() -> Status {
    const std::unique_ptr<FileRef> file(&file_of(info));
    const Status closed = tree().close(*file);
    if (!closed) syslog(LOG_ERR, "written data is lost: %s", printable(closed.error().what).c_str());
    return closed;
  });
}

int truncate(const char* name, off_t bytes, fuse_file_info* info) {
  return outcome([&] { return tree().set_size(name ? name : "", info && info->fh ? file_of(info).get() : nullptr, bytes); });
}

int preallocate(const char*, int mode, off_t offset, off_t bytes, fuse_file_info* info) {
  if (mode != 0) return -EOPNOTSUPP;
  return outcome([&] { return tree().preallocate(*file_of(info), offset + bytes); });
}

int remove(const char* name) {
  return outcome([&] { return tree().remove(name); });
}

int remove_directory(const char* name) {
  return outcome([&] { return tree().remove_directory(name); });
}

int make_directory(const char* name, mode_t permissions) {
  return outcome([&] { return tree().make_directory(name, permissions & 0777); });
}

int make_link(const char* text, const char* name) {
  return outcome([&] { return tree().make_link(name, text); });
}

int rename(const char* name, const char* other, unsigned flags) {
  constexpr unsigned kNoReplace = 1;   // RENAME_NOREPLACE; the server exchanges nothing
  if ((flags & ~kNoReplace) != 0) return -EINVAL;
  return outcome([&] { return tree().rename(name, other, flags == 0); });
}

int change_permissions(const char* name, mode_t permissions, fuse_file_info*) {
  if (!name) return -ESTALE;
  return outcome([&] { return tree().change_attributes(name, (permissions & 07777) | kExactly, kTimeStays); });
}

// All that is there belongs to who has mounted it; on the server, to who runs that.
int change_owner(const char*, uid_t user, gid_t group, fuse_file_info*) {
  const bool same = (user == static_cast<uid_t>(-1) || user == ::getuid()) && (group == static_cast<gid_t>(-1) || group == ::getgid());
  return same ? 0 : -EPERM;
}

int change_times(const char* name, const timespec times[2], fuse_file_info*) {
  if (!name) return -ESTALE;
  if (times[1].tv_nsec == UTIME_OMIT) return 0;   // the time of the last access isn't kept
  timespec modified = times[1];
  if (modified.tv_nsec == UTIME_NOW) ::clock_gettime(CLOCK_REALTIME, &modified);
  return outcome([&] { return tree().change_attributes(name, kPermissionsStay, nanoseconds(modified)); });
}

int file_system(const char* name, struct statvfs* out) {
  return outcome([&]() -> Status {
    MERCUTIO_LET(const Space space, tree().space(name));
    *out = {};
    out->f_bsize = out->f_frsize = static_cast<u64>(space.block_bytes);
    out->f_blocks = static_cast<u64>(space.blocks);
    out->f_bfree = static_cast<u64>(space.free);
    out->f_bavail = static_cast<u64>(space.available);
    out->f_files = static_cast<u64>(space.files);
    out->f_ffree = out->f_favail = static_cast<u64>(space.free_files);
    out->f_namemax = 255;
    return ok_status();
  });
}

// POSIX's answer where a file system has no such names.
int no_hard_link(const char*, const char*) {
  return -EPERM;
}
int no_device(const char*, mode_t, dev_t) {
  return -EPERM;
}

// The kernel asks each time for attributes, which the tree keeps and forgets by its rules; and it forgets a file's pages when that is
// opened. Reads of a file come in their order, which is what reading ahead goes by.
void* begin(fuse_conn_info* connection, fuse_config* config) {
  config->use_ino = 1;
  config->attr_timeout = config->entry_timeout = config->negative_timeout = 0;
  config->kernel_cache = config->auto_cache = 0;
  connection->want &= ~static_cast<unsigned>(FUSE_CAP_ASYNC_READ | FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_WRITEBACK_CACHE);
  connection->max_read = connection->max_write = connection->max_readahead = kLargest;
  return fuse_get_context()->private_data;
}

fuse_operations operations() {
  fuse_operations calls{};
  calls.init = begin;
  calls.getattr = get_attributes;
  calls.readlink = read_link;
  calls.readdir = [](const char* name, void* buffer, fuse_fill_dir_t add, off_t, fuse_file_info*, fuse_readdir_flags) { return read_directory(name, buffer, add); };
  calls.open = open_known;
  calls.create = create;
  calls.read = read;
  calls.write = write;
  calls.flush = flush;
  calls.fsync = sync;
  calls.release = release;
  calls.truncate = truncate;
  calls.fallocate = preallocate;
  calls.unlink = remove;
  calls.rmdir = remove_directory;
  calls.mkdir = make_directory;
  calls.symlink = make_link;
  calls.rename = rename;
  calls.chmod = change_permissions;
  calls.chown = change_owner;
  calls.utimens = change_times;
  calls.statfs = file_system;
  calls.link = no_hard_link;
  calls.mknod = no_device;
  return calls;
}

// A comma would end an option.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) result += (c == ',' || c == '\\' ? "\\" : "") + std::string(1, c);
  return result;
}

Status may_mount(const std::string& folder) {
  if (::access("/dev/fuse", F_OK) != 0)
    return Error{ErrorClass::kUnsupportedOperation, "this machine has no /dev/fuse: its kernel lacks FUSE ('modprobe fuse'), or a container keeps it away", ENOENT};
  if (::access("/dev/fuse", R_OK | W_OK) != 0)
    return Error{ErrorClass::kAccess, std::string("/dev/fuse: ") + errno_text(errno) + ": the administrator has to allow you to mount", errno};
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return Error{ErrorClass::kNoSuchFile, folder + ": " + errno_text(errno), errno};
  if (!S_ISDIR(status.st_mode)) return Error{ErrorClass::kBadFile, folder + ": " + errno_text(ENOTDIR), ENOTDIR};
  for (const MountedHere& one : mounted_here())
    if (one.folder == folder) return Error{ErrorClass::kFileInUse, folder + ": " + one.source + " is mounted there already; 'mercutio umount " + folder + "' ends that", EBUSY};
  return ok_status();
}

struct Mounted {
  fuse* handle = nullptr;
  bool handled = false, mounted = false;
  ~Mounted() {
    if (!handle) return;
    if (handled) fuse_remove_signal_handlers(fuse_get_session(handle));
    if (mounted) fuse_unmount(handle);
    fuse_destroy(handle);
  }
};

// The command returns when the kernel has had its first answer. If that is an error, it ends the mount. The thread ends after the mount: then
// nothing waits for an answer.
struct FirstAnswer {
  std::atomic<int> failed{0};   // errno
  std::thread thread;
  ~FirstAnswer() {
    if (thread.joinable()) thread.join();
  }
  Status await(const std::string& folder, int ready) {
    MERCUTIO_LET(thread, start_thread([this, folder, ready] {
                   struct stat status {};
                   if (::stat(folder.c_str(), &status) == 0) return leave_terminal(ready);
                   failed = errno;
                   ::kill(::getpid(), SIGTERM);   // which ends the loop of libfuse
                 }));
    return ok_status();
  }
};

Status answer_kernel(MountTree& files, const std::string& source, const std::string& folder, int ready) {
  const std::string options = "fsname=" + escaped(source) + ",subtype=mercutio,max_read=" + std::to_string(kLargest);
  const char* words[] = {"mercutio-mount", "-o", options.c_str(), nullptr};
  fuse_args arguments = FUSE_ARGS_INIT(3, const_cast<char**>(words));
  const fuse_operations calls = operations();
  FirstAnswer first;
  Mounted mount;
  mount.handle = fuse_new(&arguments, &calls, sizeof calls, &files);
  fuse_opt_free_args(&arguments);
  if (!mount.handle) return error_from_errno("fuse", ENOMEM);
  mount.mounted = fuse_mount(mount.handle, folder.c_str()) == 0;
  if (!mount.mounted) return Error{ErrorClass::kAccess, folder + " can't be mounted: fusermount3 (package fuse3) is missing, or what it said above", EPERM};
  mount.handled = fuse_set_signal_handlers(fuse_get_session(mount.handle)) == 0;
  MERCUTIO_TRY(first.await(folder, ready));
  fuse_loop_config config{};
  config.max_idle_threads = 10;
  const int ended = fuse_loop_mt(mount.handle, &config);
  const Status finished = files.finish();
  if (!finished) syslog(LOG_ERR, "written data is lost: %s", printable(finished.error().what).c_str());
  if (const int failed = first.failed; failed != 0) return error_from_errno(("mount " + folder).c_str(), failed);
  if (finished && ended < 0) return error_from_errno("fuse", -ended);
  return finished;
}

struct Source {
  std::string host, directory;
  std::string text() const { return kScheme + host + (directory.empty() ? "" : "/" + directory); }
};

// HOST, HOST:root/path or mercutio://HOST/root/path.
Source source_of(const std::string& text) {
  const size_t colon = text.find(':');
  const RemoteName name = is_remote(text) || colon == std::string::npos ? split_name(text) : RemoteName{text.substr(0, colon), text.substr(colon + 1)};
  std::string directory = name.path;
  directory.erase(0, std::min(directory.size(), directory.find_first_not_of('/')));
  while (!directory.empty() && directory.back() == '/') directory.pop_back();
  return {name.host, directory};
}

Status mount_host(const Arguments& arguments) {
  if (arguments.words().size() != 2) return Error{ErrorClass::kArg, "for example: mercutio mount far.example:data/run1 /mnt/run1"};
  const Source source = source_of(arguments.words()[0]);
  if (!is_connection_name(source.host)) return Error{ErrorClass::kArg, "'" + source.host + "' is no name of a connection, as 'mercutio connect' makes them"};
  char* const real = ::realpath(arguments.words()[1].c_str(), nullptr);
  const std::string folder = real ? real : arguments.words()[1];
  std::free(real);
  MERCUTIO_LET(const i64 kept_s, arguments.number("keep", 1, 0, kMostSeconds));
  MERCUTIO_TRY(may_mount(folder));
  MERCUTIO_TRY(load_connection(source.host));
  raise_descriptor_limit();
  if (!arguments.has("foreground")) close_inherited();
  MERCUTIO_LET(const int ready, detach(!arguments.has("foreground")));
  signal(SIGPIPE, SIG_IGN);
  openlog("mercutio-mount", LOG_PID, LOG_USER);
  MountTree files(source.host, source.directory, std::min<i64>(kept_s, 3600) * kNs);
  const Status begun = files.begin();
  if (!begun) return Error{begun.error().cls, source.text() + ": " + begun.error().what, begun.error().sys_errno};
  if (::chdir("/") != 0) return error_from_errno("chdir", errno);
  return answer_kernel(files, source.text(), folder, ready);
}

// fusermount3 does it for those who aren't root.
Status unmount_folder(const Arguments& arguments) {
  if (arguments.words().size() != 1) return Error{ErrorClass::kArg, "for example: mercutio umount /mnt/run1"};
  const std::string& folder = arguments.words()[0];
  const bool lazy = arguments.has("lazy");
  ::execlp("fusermount3", "fusermount3", lazy ? "-uz" : "-u", "--", folder.c_str(), nullptr);
  const int missing = errno;
  if (::umount2(folder.c_str(), UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)) == 0) return ok_status();
  return Error{ErrorClass::kOther, folder + ": " + errno_text(errno) + "; fusermount3 (package fuse3): " + errno_text(missing), errno};
}

const std::vector<Option> kMountOptions = {{"foreground", nullptr, "stay in the terminal; the end of the program unmounts (default: off)", 'f'},
                                           {"keep", "SECONDS", "time for which changes of names and attributes by other machines may stay unseen (default: 1)"},
                                           {"help", nullptr, "print this"}};
const std::vector<Option> kUnmountOptions = {{"lazy", nullptr, "also while programs use it: it ends after the last of them (default: off)", 'z'}, {"help", nullptr, "print this"}};
const Command kMount{"mercutio mount", "mercutio mount [-f] HOST[:ROOT/PATH] FOLDER\nMakes the files of another cluster a directory of this machine.", kMountOptions};
const Command kUnmount{"mercutio umount", "mercutio umount [-z] FOLDER\nEnds what 'mercutio mount' has begun.", kUnmountOptions};

}  // namespace
}  // namespace mercutio::remote

int main(int argc, char** argv) {
  using namespace mercutio::remote;
  if (argc > 1 && std::strcmp(argv[1], "mount") == 0) return run_command(kMount, argc - 1, argv + 1, mount_host);
  if (argc > 1 && std::strcmp(argv[1], "umount") == 0) return run_command(kUnmount, argc - 1, argv + 1, unmount_folder);
  std::fprintf(stderr, "mercutio-mount: mount or umount is wanted\n");
  return 2;
}
