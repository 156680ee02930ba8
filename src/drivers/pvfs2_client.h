/* libpvfs2.so.2 in this process: what of it is used, its errors, and whose turn it is. */
#ifndef MERCUTIO_DRIVERS_PVFS2_CLIENT_H
#define MERCUTIO_DRIVERS_PVFS2_CLIENT_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

/* As in OrangeFS 2.9 and 2.10 where pointers and longs have 64 bits. Results of calls are 0, or negative codes. */
typedef struct { uint64_t handle; int32_t fs, pad; } Ref;
typedef struct { uint32_t uid, group_count; uint32_t *groups; char *issuer; uint64_t timeout; uint64_t signature[2], certificate[2]; } Credential;
typedef struct {
  uint32_t owner, group, perms;
  uint64_t atime, mtime, ctime;
  int64_t size;
  char *link_target;
  int32_t servers, of_folders[3];
  uint32_t copies;
  char *dist_name, *dist_params;
  int64_t entries;
  int32_t type;
  uint64_t flags;
  uint32_t mask;
  int64_t block;   /* bytes of a strip on each server */
} Attributes;
typedef struct { Ref ref; char *error_path; uint64_t room[5]; } Found;   /* by lookup and create */
_Static_assert(sizeof(void *) != 8 || (sizeof(Ref) == 16 && sizeof(Credential) == 64 && sizeof(Attributes) == 136), "layout");

/* Of `mask`, `type`, sys_set_info and sys_io. */
enum { UID = 1, GID = 2, PERM = 4, TIMES = 0x38, TYPE = 64, SIZE = 1 << 20, SERVERS = 1 << 25, BLOCK = 1 << 28 };
enum { FILE_TYPE = 1, FOLDER_TYPE = 4, MOST_SERVERS = 1024 };
enum { NAME_CACHE = 1, ATTRIBUTE_CACHE = 2 };
enum Way { READING = 1, WRITING = 2 };

#define PVFS2_CALLS(CALL)                                                                                      \
  CALL(int32_t, util_init_defaults, (void))                                                                    \
  CALL(int32_t, util_resolve, (const char *, int32_t *, char *, int))                                          \
  CALL(int32_t, util_gen_credential_defaults, (Credential *))                                                  \
  CALL(int32_t, util_refresh_credential, (Credential *))                                                       \
  CALL(int32_t, get_errno_mapping, (int32_t))                                                                  \
  CALL(int, strerror_r, (int, char *, int))                                                                    \
  CALL(int32_t, sys_set_info, (int, unsigned))                                                                 \
  CALL(int32_t, sys_lookup, (int32_t, char *, const Credential *, Found *, int32_t, void *))                   \
  CALL(int32_t, sys_create, (char *, Ref, Attributes, const Credential *, void *, Found *, void *, void *))    \
  CALL(int32_t, sys_getattr, (Ref, uint32_t, const Credential *, Attributes *, void *))                        \
  CALL(int32_t, sys_io, (Ref, void *, int64_t, void *, void *, const Credential *, int64_t *, int, void *))    \
  CALL(int32_t, sys_truncate, (Ref, int64_t, const Credential *, void *))                                      \
  CALL(int32_t, sys_flush, (Ref, const Credential *, void *))                                                  \
  CALL(int32_t, sys_remove, (char *, Ref, const Credential *, void *))                                         \
  CALL(void *, sys_dist_lookup, (const char *))                                                                \
  CALL(int32_t, sys_dist_setparam, (void *, const char *, void *))                                             \
  CALL(int32_t, sys_dist_free, (void *))                                                                       \
  CALL(int32_t, Request_contiguous, (int32_t, void *, void **))                                                \
  CALL(int32_t, Request_hvector, (int32_t, int32_t, int64_t, void *, void **))                                 \
  CALL(int32_t, Request_hindexed, (int32_t, int32_t *, int64_t *, void *, void **))                            \
  CALL(int32_t, Request_free, (void **))

#define PVFS2_POINTER(type, name, arguments) type(*name) arguments;
typedef struct {
  PVFS2_CALLS(PVFS2_POINTER)
  void **byte;   /* the type of a byte; set when the library is started */
} Pvfs2Library;
extern Pvfs2Library pvfs;
int pvfs2_load(void);   /* 0 or ENOSYS */

/* More about the thread's last error. */
enum { WHY_BYTES = 512 };
extern _Thread_local char pvfs2_why[WHY_BYTES];

int pvfs2_error(int32_t code);   /* errno; 0 for what is no error */

/* A call of the library is made between enter, which returns an errno value or 0, and leave, which returns its argument: one at a time in a
 * process, and the library is started, and the credential valid. */
int pvfs2_enter(void);
int pvfs2_leave(int error);
const Credential *pvfs2_credential(void);
/* Whether a call with that result is to be made again, with a new credential. */
bool pvfs2_renew(int error);

/* The errno value of a call that needs the credential. */
#define ASK(call)                      \
  ({                                   \
    int asked;                         \
    do asked = pvfs2_error(pvfs.call); \
    while (pvfs2_renew(asked));        \
    asked;                             \
  })

#endif
