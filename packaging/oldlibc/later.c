/* Functions of newer C libraries that the compiler's C++ library, linked in statically, and Mercutio call; for binaries that run
   on older ones (stubs.sh). Hidden: each library has its own, and none is seen by the program. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* glibc 2.32. "Perhaps not": reference counts are atomic always. */
HIDDEN char __libc_single_threaded = 0;

/* glibc 2.36: std::random_device. */
HIDDEN uint32_t arc4random(void) {
  uint32_t number;
  ssize_t got;
  do got = getrandom(&number, sizeof number, 0);
  while (got < 0 && errno == EINTR);
  if (got != (ssize_t)sizeof number) abort();   /* no kernel that has the call does this for 4 bytes */
  return number;
}

/* glibc 2.30: waits until a time of another clock than the system's, by what is left until then. Who set the system's clock
   meanwhile waits that much longer or shorter, as with C++ libraries made for older C libraries. */
HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const struct timespec* until) {
  struct timespec then = *until, now, system;
  if (clock != CLOCK_REALTIME) {
    if (clock_gettime(clock, &now) != 0 || clock_gettime(CLOCK_REALTIME, &system) != 0) return EINVAL;
    then.tv_sec += system.tv_sec - now.tv_sec;
    then.tv_nsec += system.tv_nsec - now.tv_nsec;
    if (then.tv_nsec < 0) then.tv_sec -= 1, then.tv_nsec += 1000000000;
    if (then.tv_nsec >= 1000000000) then.tv_sec += 1, then.tv_nsec -= 1000000000;
  }
  return pthread_cond_timedwait(condition, mutex, &then);
}

/* glibc 2.32: an error's text, untranslated, and its name. Newer C libraries keep the list for programs linked to older ones. */
extern const char* const _sys_errlist[];
extern int _sys_nerr;

HIDDEN const char* strerrordesc_np(int number) { return number >= 0 && number < _sys_nerr ? _sys_errlist[number] : NULL; }

#define NAME(name) [name] = #name,
static const char* const names[] = {
  [0] = "0",
  NAME(EPERM) NAME(ENOENT) NAME(ESRCH) NAME(EINTR) NAME(EIO) NAME(ENXIO) NAME(E2BIG) NAME(ENOEXEC) NAME(EBADF)
  NAME(ECHILD) NAME(EAGAIN) NAME(ENOMEM) NAME(EACCES) NAME(EFAULT) NAME(ENOTBLK) NAME(EBUSY) NAME(EEXIST) NAME(EXDEV)
  NAME(ENODEV) NAME(ENOTDIR) NAME(EISDIR) NAME(EINVAL) NAME(ENFILE) NAME(EMFILE) NAME(ENOTTY) NAME(ETXTBSY) NAME(EFBIG)
  NAME(ENOSPC) NAME(ESPIPE) NAME(EROFS) NAME(EMLINK) NAME(EPIPE) NAME(EDOM) NAME(ERANGE) NAME(EDEADLK)
  NAME(ENAMETOOLONG) NAME(ENOLCK) NAME(ENOSYS) NAME(ENOTEMPTY) NAME(ELOOP) NAME(ENOMSG) NAME(EIDRM) NAME(ECHRNG)
  NAME(EL2NSYNC) NAME(EL3HLT) NAME(EL3RST) NAME(ELNRNG) NAME(EUNATCH) NAME(ENOCSI) NAME(EL2HLT) NAME(EBADE) NAME(EBADR)
  NAME(EXFULL) NAME(ENOANO) NAME(EBADRQC) NAME(EBADSLT) NAME(EBFONT) NAME(ENOSTR) NAME(ENODATA) NAME(ETIME) NAME(ENOSR)
  NAME(ENONET) NAME(ENOPKG) NAME(EREMOTE) NAME(ENOLINK) NAME(EADV) NAME(ESRMNT) NAME(ECOMM) NAME(EPROTO)
  NAME(EMULTIHOP) NAME(EDOTDOT) NAME(EBADMSG) NAME(EOVERFLOW) NAME(ENOTUNIQ) NAME(EBADFD) NAME(EREMCHG) NAME(ELIBACC)
  NAME(ELIBBAD) NAME(ELIBSCN) NAME(ELIBMAX) NAME(ELIBEXEC) NAME(EILSEQ) NAME(ERESTART) NAME(ESTRPIPE) NAME(EUSERS)
  NAME(ENOTSOCK) NAME(EDESTADDRREQ) NAME(EMSGSIZE) NAME(EPROTOTYPE) NAME(ENOPROTOOPT) NAME(EPROTONOSUPPORT)
  NAME(ESOCKTNOSUPPORT) NAME(ENOTSUP) NAME(EPFNOSUPPORT) NAME(EAFNOSUPPORT) NAME(EADDRINUSE) NAME(EADDRNOTAVAIL)
  NAME(ENETDOWN) NAME(ENETUNREACH) NAME(ENETRESET) NAME(ECONNABORTED) NAME(ECONNRESET) NAME(ENOBUFS) NAME(EISCONN)
  NAME(ENOTCONN) NAME(ESHUTDOWN) NAME(ETOOMANYREFS) NAME(ETIMEDOUT) NAME(ECONNREFUSED) NAME(EHOSTDOWN)
  NAME(EHOSTUNREACH) NAME(EALREADY) NAME(EINPROGRESS) NAME(ESTALE) NAME(EUCLEAN) NAME(ENOTNAM) NAME(ENAVAIL)
  NAME(EISNAM) NAME(EREMOTEIO) NAME(EDQUOT) NAME(ENOMEDIUM) NAME(EMEDIUMTYPE) NAME(ECANCELED) NAME(ENOKEY)
  NAME(EKEYEXPIRED) NAME(EKEYREVOKED) NAME(EKEYREJECTED) NAME(EOWNERDEAD) NAME(ENOTRECOVERABLE) NAME(ERFKILL)
};

HIDDEN const char* strerrorname_np(int number) {
  return number >= 0 && (size_t)number < sizeof names / sizeof *names ? names[number] : NULL;
}
