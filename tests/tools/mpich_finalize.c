// Preload of the tests for MPICH before 4.2 over UCX between nodes. Its MPI_Finalize disconnects, waits for that, and then
// waits in a barrier of the launcher without serving UCX, while other ranks may still need an answer from this one to
// disconnect: both wait for ever (MPICH's pull request 6596 took the barrier out). From the first disconnection on, a thread
// here serves UCX whenever the rank itself doesn't. Used for the host's own I/O and for ours alike.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

void *ucp_disconnect_nb(void *endpoint);
unsigned ucp_worker_progress(void *worker);
void ucp_worker_destroy(void *worker);

static pthread_mutex_t in_ucx = PTHREAD_MUTEX_INITIALIZER;
static pthread_t server;
static void *served;   // the worker that made progress last
static atomic_int state;   // 0: not yet, 1: the thread runs, 2: it has to end

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

static unsigned progress(void *worker) {
  static unsigned (*real)(void *);
  if (!real) real = (unsigned (*)(void *))next("ucp_worker_progress");
  return real(worker);
}

static void *serve(void *unused) {
  const struct timespec pause = {0, 1000000};
  while (atomic_load(&state) == 1) {
    pthread_mutex_lock(&in_ucx);
    progress(served);
    pthread_mutex_unlock(&in_ucx);
    nanosleep(&pause, NULL);
  }
  return unused;
}

unsigned ucp_worker_progress(void *worker) {
  served = worker;
  if (atomic_load(&state) == 0) return progress(worker);
  pthread_mutex_lock(&in_ucx);
  unsigned progressed = progress(worker);
  pthread_mutex_unlock(&in_ucx);
  return progressed;
}

void *ucp_disconnect_nb(void *endpoint) {
  static void *(*real)(void *);
  if (!real) real = (void *(*)(void *))next("ucp_disconnect_nb");
  pthread_mutex_lock(&in_ucx);
  void *request = real(endpoint);
  pthread_mutex_unlock(&in_ucx);
  int first = 0;
  if (served && atomic_compare_exchange_strong(&state, &first, 1) && pthread_create(&server, NULL, serve, NULL) != 0)
    atomic_store(&state, 2);
  return request;
}

void ucp_worker_destroy(void *worker) {
  void (*real)(void *) = (void (*)(void *))next("ucp_worker_destroy");
  if (atomic_exchange(&state, 2) == 1) pthread_join(server, NULL);
  real(worker);
}
