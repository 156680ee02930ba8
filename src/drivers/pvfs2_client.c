#define _GNU_SOURCE
#include "pvfs2_client.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "load.h"

Pvfs2Library pvfs;
_Thread_local char pvfs2_why[WHY_BYTES];

static bool is_connection(int error) {
  return error == ECONNREFUSED || error == ECONNRESET || error == ETIMEDOUT || error == EHOSTUNREACH || error == EHOSTDOWN || error == ENETUNREACH;
}

/* Codes have numbers of their own, and some stand for no errno. */
int pvfs2_error(int32_t code) {
  static const int kOthers[] = {EIO, EIO, ENODEV, EIO, EHOSTUNREACH, EIO, EHOSTUNREACH, EIO, EINVAL, EACCES};
  enum { NO_ERRNO = 1 << 29, NUMBER = 0x7f };
  if (code >= 0) return 0;
  const bool other = -code & NO_ERRNO;
  const size_t number = (size_t)(-code & NUMBER);
  int error = other ? number < sizeof kOthers / sizeof *kOthers ? kOthers[number] : EIO : pvfs.get_errno_mapping(-code);
  if (error <= 0 || error > 4095 || error == EINTR) error = EIO;   /* EINTR: what is done isn't known, so it isn't asked again */
  if (is_connection(error))
    snprintf(pvfs2_why, WHY_BYTES, "a server of the file system can't be reached: `pvfs2-ping -m MOUNT_POINT` shows which");
  else if (other)
    pvfs.strerror_r(code, pvfs2_why, WHY_BYTES);
  return error;
}

/* The library is started once in a process, and what came of that stays. */
static struct {
  pthread_mutex_t mutex;
  pid_t process;   /* that has started it; 0: none */
  int error;
  char why[WHY_BYTES];
  Credential credential;
  bool is_good;   /* the credential has been taken by a server */
} client = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static int start(void) {
  int error = pvfs2_error(pvfs.util_init_defaults());
  if (error) {
    if (error == ENOENT) error = ENODEV;   /* that says nothing of the file */
    snprintf(pvfs2_why, WHY_BYTES, "no file system of PVFS2 can be reached: see that PVFS2TAB_FILE or /etc/fstab names it, and that its servers run (%s)",
             strerror(error));
    return error;
  }
  error = pvfs2_error(pvfs.sys_set_info(NAME_CACHE, 0));
  if (!error) error = pvfs2_error(pvfs.sys_set_info(ATTRIBUTE_CACHE, 0));
  if (error) return snprintf(pvfs2_why, WHY_BYTES, "the caches of libpvfs2 can't be switched off"), error;
  error = pvfs2_error(pvfs.util_gen_credential_defaults(&client.credential));   /* which is zeros before */
  if (error && !pvfs2_why[0]) snprintf(pvfs2_why, WHY_BYTES, "libpvfs2 makes no credential for this user");
  return error;
}

int pvfs2_enter(void) {
  int error = 0;
  pvfs2_why[0] = 0;
  pthread_mutex_lock(&client.mutex);
  if (client.process == 0) {
    client.process = getpid();
    error = client.error = start();
    strcpy(client.why, pvfs2_why);
  } else if (client.process != getpid()) {   /* the library's threads aren't here */
    error = ENOTRECOVERABLE;
    snprintf(pvfs2_why, WHY_BYTES, "the process was forked after its parent had used PVFS2");
  } else if (client.error) {
    error = client.error;
    strcpy(pvfs2_why, client.why);
  } else {   /* nothing, or shortly before the end of this one a new one */
    error = pvfs2_error(pvfs.util_refresh_credential(&client.credential));
  }
  return error ? pvfs2_leave(error) : 0;
}

int pvfs2_leave(int error) {
  pthread_mutex_unlock(&client.mutex);
  return error;
}

const Credential *pvfs2_credential(void) { return &client.credential; }

/* A server whose clock is ahead refuses a credential that this node takes for valid. */
bool pvfs2_renew(int error) {
  const bool was_good = client.is_good;
  client.is_good = error != EACCES && error != EPERM;
  if (client.is_good || !was_good) return false;
  client.credential.timeout = 3600;   /* in 1970 */
  if (pvfs.util_refresh_credential(&client.credential) < 0) return false;
  pvfs2_why[0] = 0;
  return true;
}

#define SYMBOL(type, name, arguments) {"PVFS_" #name, (void **)&pvfs.name},
static const Symbol kSymbols[] = {PVFS2_CALLS(SYMBOL){"PVFS_BYTE", (void **)&pvfs.byte}};
static const Library kLibrary = {"libpvfs2.so.2", "libpvfs2.so.2 of OrangeFS 2.9 or newer", kSymbols, sizeof kSymbols / sizeof *kSymbols};

static const char *too_narrow(void *library) {
  (void)library;
  return sizeof(void *) == 8 && sizeof(long) == 8 ? NULL : "its structures are known for 64 bits only";
}

int pvfs2_load(void) { return load_library(&kLibrary, too_narrow, pvfs2_why); }
