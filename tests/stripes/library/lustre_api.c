// A stand-in for Lustre's library, by its manual pages: checks the order and the arguments of the calls as the real one does, makes an ordinary file
// and remembers what it was asked for.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kComponents = 8, kTextBytes = 4096 };

typedef struct {
  uint64_t count, size, pattern, begin, end;
  int has_extent;
  char servers[64], pool[16];
} Component;
typedef struct llapi_layout {
  int components;
  Component component[kComponents];
} Layout;

static char asked[kTextBytes];
static int refused;   // the errno of the next creation, after the file was made

const char *lustre_api_asked(void) { return asked; }
void lustre_api_refuse(int cause) { refused = cause; }

static int wrong(void) { return errno = EINVAL, -1; }
static Component *current(Layout *layout) { return &layout->component[layout->components - 1]; }

Layout *llapi_layout_alloc(void) {
  Layout *layout = calloc(1, sizeof *layout);
  layout->components = 1;
  return layout;
}
void llapi_layout_free(Layout *layout) { free(layout); }
int llapi_layout_stripe_count_set(Layout *layout, uint64_t count) { return count > 2000 ? wrong() : (current(layout)->count = count, 0); }
int llapi_layout_stripe_size_set(Layout *layout, uint64_t size) { return size == 0 || size % 65536 ? wrong() : (current(layout)->size = size, 0); }
int llapi_layout_pattern_set(Layout *layout, uint64_t pattern) {
  return pattern != 0 && pattern != 2 && pattern != 4 ? wrong() : (current(layout)->pattern = pattern, 0);
}
int llapi_layout_pool_name_set(Layout *layout, const char *name) {
  return strlen(name) > 15 ? wrong() : (strcpy(current(layout)->pool, name), 0);
}
int llapi_layout_ost_index_set(Layout *layout, int stripe, uint64_t server) {
  char *servers = current(layout)->servers;
  if (stripe < 0 || server > 65535) return wrong();
  return snprintf(servers + strlen(servers), 64 - strlen(servers), " %d:%d", stripe, (int)server), 0;
}
int llapi_layout_comp_extent_set(Layout *layout, uint64_t begin, uint64_t end) {
  uint64_t before = layout->components > 1 ? current(layout)[-1].end : 0;
  if (begin >= end || begin != before) return wrong();
  current(layout)->begin = begin, current(layout)->end = end, current(layout)->has_extent = 1;
  return 0;
}
int llapi_layout_comp_add(Layout *layout) {
  if (!current(layout)->has_extent || current(layout)->end == UINT64_MAX || layout->components == kComponents) return wrong();
  return ++layout->components, 0;
}

int llapi_layout_file_create(char *path, int flags, int mode, const Layout *layout) {
  int fd = open(path, flags | O_CREAT | O_EXCL, mode);
  if (fd < 0) return -1;
  if (refused) return errno = refused, refused = 0, -1;
  asked[0] = 0;
  for (int i = 0; i < layout->components; ++i) {
    const Component *c = &layout->component[i];
    size_t at = strlen(asked);
    snprintf(asked + at, kTextBytes - at, "[%llu,%lld) %llu*%llu pattern %llu pool '%s' servers%s;", (unsigned long long)c->begin, (long long)c->end,
             (unsigned long long)c->count, (unsigned long long)c->size, (unsigned long long)c->pattern, c->pool, c->servers);
  }
  return fd;
}
