// Errors from errno: which MPI error class it is, what it is called, and what the user can do about it.
#include "base/result.h"

#include <cerrno>
#include <stdexcept>

#include "base/errno_text.h"

namespace mercutio {
namespace {

struct ErrnoEntry {
  int number;
  const char* name;
  ErrorClass cls;
  const char* advice;  // what to do; empty where the text of errno says it all
};

#define ERRNO(number) number, #number
constexpr ErrnoEntry kErrnos[] = {
    {ERRNO(ENOENT), ErrorClass::kNoSuchFile, "check the path"},
    {ERRNO(ENXIO), ErrorClass::kNoSuchFile, "the device or the other end of the pipe is not there"},
    {ERRNO(ENODEV), ErrorClass::kNoSuchFile, "the device is not there"},
    {ERRNO(EEXIST), ErrorClass::kFileExists, "the name is taken: remove it, or choose another one"},
    {ERRNO(EACCES), ErrorClass::kAccess, "check the permissions of the file and of the directories above it"},
    {ERRNO(EPERM), ErrorClass::kAccess, "check the permissions, the owner and the attributes of the file"},
    {ERRNO(EROFS), ErrorClass::kReadOnly, "the file system is mounted read-only: write elsewhere"},
    {ERRNO(ENOSPC), ErrorClass::kNoSpace, "the file system is full: free space or write elsewhere"},
    {ERRNO(EDQUOT), ErrorClass::kQuota, "the quota is used up: remove files or ask for more"},
    {ERRNO(EFBIG), ErrorClass::kNoSpace, "larger than the file system or 'ulimit -f' allows"},
    {ERRNO(ENAMETOOLONG), ErrorClass::kBadFile, "the path is too long"},
    {ERRNO(ENOTDIR), ErrorClass::kBadFile, "a part of the path is not a directory"},
    {ERRNO(EISDIR), ErrorClass::kBadFile, "the path is a directory"},
    {ERRNO(ELOOP), ErrorClass::kBadFile, "too many symbolic links in the path"},
    {ERRNO(EBADF), ErrorClass::kFile, "the file is not open for this access"},
    {ERRNO(ESTALE), ErrorClass::kIo, "the file was removed or replaced on its server: open it again"},
    {ERRNO(ETXTBSY), ErrorClass::kFileInUse, "the file is a program that is running"},
    {ERRNO(EBUSY), ErrorClass::kFileInUse, "the file is in use"},
    {ERRNO(ENOMEM), ErrorClass::kNoMem, "out of memory: use smaller buffers or fewer ranks a node, or raise 'ulimit -v'"},
    {ERRNO(EMFILE), ErrorClass::kOther, "too many open files in this process: raise 'ulimit -n' or close files"},
    {ERRNO(ENFILE), ErrorClass::kOther, "too many open files on this node"},
    {ERRNO(ENOLCK), ErrorClass::kIo, "no locks left, or the file system has no lock service: mount it with locking"},
    {ERRNO(ENOSYS), ErrorClass::kUnsupportedOperation, "the file system or kernel does not support this"},
    {ERRNO(EOPNOTSUPP), ErrorClass::kUnsupportedOperation, "the file system does not support this"},
    {ERRNO(EINVAL), ErrorClass::kArg, "the file system refuses this argument"},
    {ERRNO(EFAULT), ErrorClass::kBuffer, "the buffer does not lie in valid memory"},
    {ERRNO(EIO), ErrorClass::kIo, "the storage failed: see the system log"},
    {ERRNO(ETIMEDOUT), ErrorClass::kIo, "the storage does not answer"},
    {ERRNO(EHOSTDOWN), ErrorClass::kIo, "the storage server is down"},
    {ERRNO(EHOSTUNREACH), ErrorClass::kIo, "the storage server cannot be reached"},
    {ERRNO(ECONNREFUSED), ErrorClass::kIo, "the storage server refuses connections: is it running?"},
    {ERRNO(ECONNRESET), ErrorClass::kIo, "the storage server closed the connection"},
    {ERRNO(ENOTCONN), ErrorClass::kIo, "the connection to the storage server is lost"},
#define PLAIN(number) {number, #number, ErrorClass::kIo, ""}   // its text says it all
    PLAIN(EAGAIN), PLAIN(EDEADLK), PLAIN(EINTR), PLAIN(ENOTEMPTY), PLAIN(EXDEV), PLAIN(EMLINK), PLAIN(ESPIPE),
    PLAIN(EPIPE), PLAIN(E2BIG), PLAIN(ENOTTY), PLAIN(ENOTBLK), PLAIN(ENOEXEC), PLAIN(ECHILD), PLAIN(ESRCH),
    PLAIN(EDOM), PLAIN(ERANGE), PLAIN(EOVERFLOW), PLAIN(EILSEQ), PLAIN(EPROTO), PLAIN(EBADMSG), PLAIN(EMSGSIZE),
    PLAIN(ENODATA), PLAIN(ENOMSG), PLAIN(EIDRM), PLAIN(ETIME), PLAIN(ENOSR), PLAIN(ENOSTR), PLAIN(ENOLINK),
    PLAIN(ECOMM), PLAIN(EMULTIHOP), PLAIN(EREMOTE), PLAIN(EREMOTEIO), PLAIN(ENONET), PLAIN(ENETDOWN),
    PLAIN(ENETUNREACH), PLAIN(ENETRESET), PLAIN(ENOBUFS), PLAIN(ECONNABORTED), PLAIN(EISCONN), PLAIN(ENOTSOCK),
    PLAIN(EDESTADDRREQ), PLAIN(ESHUTDOWN), PLAIN(EALREADY), PLAIN(EINPROGRESS), PLAIN(ECANCELED), PLAIN(EADDRINUSE),
    PLAIN(EADDRNOTAVAIL), PLAIN(EAFNOSUPPORT), PLAIN(EPFNOSUPPORT), PLAIN(ESOCKTNOSUPPORT), PLAIN(EPROTOTYPE),
    PLAIN(EPROTONOSUPPORT), PLAIN(ENOPROTOOPT), PLAIN(ETOOMANYREFS), PLAIN(EUCLEAN), PLAIN(EUSERS), PLAIN(ERESTART),
    PLAIN(ENOTUNIQ), PLAIN(EBADFD), PLAIN(EREMCHG), PLAIN(ESTRPIPE), PLAIN(ENOMEDIUM), PLAIN(EMEDIUMTYPE),
    PLAIN(ENOKEY), PLAIN(EKEYEXPIRED), PLAIN(EKEYREVOKED), PLAIN(EKEYREJECTED), PLAIN(EOWNERDEAD),
    PLAIN(ENOTRECOVERABLE), PLAIN(EHWPOISON), PLAIN(ERFKILL), PLAIN(ECHRNG), PLAIN(EL2HLT), PLAIN(EL2NSYNC), PLAIN(EL3HLT),
    PLAIN(EL3RST), PLAIN(ELNRNG), PLAIN(EUNATCH), PLAIN(ENOCSI), PLAIN(EBADE), PLAIN(EBADR), PLAIN(EBADRQC),
    PLAIN(EBADSLT), PLAIN(EBFONT), PLAIN(EXFULL), PLAIN(ENOANO), PLAIN(ENOPKG), PLAIN(EADV), PLAIN(ESRMNT),
    PLAIN(EDOTDOT), PLAIN(ELIBACC), PLAIN(ELIBBAD), PLAIN(ELIBSCN), PLAIN(ELIBMAX), PLAIN(ELIBEXEC), PLAIN(ENOTNAM),
    PLAIN(ENAVAIL), PLAIN(EISNAM),
#undef PLAIN
};
#undef ERRNO

const ErrnoEntry* find_errno(int number) {
  for (const ErrnoEntry& entry : kErrnos)
    if (entry.number == number) return &entry;
  return nullptr;
}

}  // namespace

void wrong_result() { throw std::logic_error("an Error was taken for a value, or a value for an Error"); }

ErrorClass class_from_errno(int sys_errno) {
  if (sys_errno == 0) return ErrorClass::kNone;
  const ErrnoEntry* entry = find_errno(sys_errno);
  return entry ? entry->cls : ErrorClass::kIo;
}

Error error_from_errno(const char* call, int sys_errno, i64 offset, i64 bytes) {
  const ErrnoEntry* const known = find_errno(sys_errno);
  Error error;
  error.cls = class_from_errno(sys_errno);
  if (error.cls == ErrorClass::kNone) error.cls = ErrorClass::kIo;  // a failure without a reason is still one
  error.what = std::string(call) + ": " + errno_text(sys_errno) + " (" + (known ? known->name : "errno " + std::to_string(sys_errno)) + ")";
  if (known && *known->advice) error.what += std::string("; ") + known->advice;
  error.sys_errno = sys_errno;
  error.offset = offset;
  error.bytes = bytes;
  return error;
}

const char* error_class_name(ErrorClass cls) {
  switch (cls) {
    case ErrorClass::kNone:
      return "MPI_SUCCESS";
    case ErrorClass::kFile:
      return "MPI_ERR_FILE";
    case ErrorClass::kNotSame:
      return "MPI_ERR_NOT_SAME";
    case ErrorClass::kAmode:
      return "MPI_ERR_AMODE";
    case ErrorClass::kUnsupportedDatarep:
      return "MPI_ERR_UNSUPPORTED_DATAREP";
    case ErrorClass::kUnsupportedOperation:
      return "MPI_ERR_UNSUPPORTED_OPERATION";
    case ErrorClass::kNoSuchFile:
      return "MPI_ERR_NO_SUCH_FILE";
    case ErrorClass::kFileExists:
      return "MPI_ERR_FILE_EXISTS";
    case ErrorClass::kBadFile:
      return "MPI_ERR_BAD_FILE";
    case ErrorClass::kAccess:
      return "MPI_ERR_ACCESS";
    case ErrorClass::kNoSpace:
      return "MPI_ERR_NO_SPACE";
    case ErrorClass::kQuota:
      return "MPI_ERR_QUOTA";
    case ErrorClass::kReadOnly:
      return "MPI_ERR_READ_ONLY";
    case ErrorClass::kFileInUse:
      return "MPI_ERR_FILE_IN_USE";
    case ErrorClass::kDupDatarep:
      return "MPI_ERR_DUP_DATAREP";
    case ErrorClass::kConversion:
      return "MPI_ERR_CONVERSION";
    case ErrorClass::kIo:
      return "MPI_ERR_IO";
    case ErrorClass::kArg:
      return "MPI_ERR_ARG";
    case ErrorClass::kBuffer:
      return "MPI_ERR_BUFFER";
    case ErrorClass::kCount:
      return "MPI_ERR_COUNT";
    case ErrorClass::kType:
      return "MPI_ERR_TYPE";
    case ErrorClass::kComm:
      return "MPI_ERR_COMM";
    case ErrorClass::kRequest:
      return "MPI_ERR_REQUEST";
    case ErrorClass::kInfo:
      return "MPI_ERR_INFO";
    case ErrorClass::kInfoValue:
      return "MPI_ERR_INFO_VALUE";
    case ErrorClass::kTruncate:
      return "MPI_ERR_TRUNCATE";
    case ErrorClass::kNoMem:
      return "MPI_ERR_NO_MEM";
    case ErrorClass::kIntern:
      return "MPI_ERR_INTERN";
    case ErrorClass::kProcFailed: return "MPI_ERR_PROC_FAILED";
    case ErrorClass::kOther: return "MPI_ERR_OTHER";
  }
  return "MPI_ERR_UNKNOWN";
}

}  // namespace mercutio
