/* Transport of heat, a dye and the water's age on a real ocean mesh; a plain MPI program. It is the pattern of
 * CE-QUAL-ICM, a water quality model: cells without any structure, distributed irregularly over the ranks, with ghost
 * cells spread through every local array. Each month the resident cells of all arrays are appended to one file in
 * global order.
 *
 * The file view must not go backwards, so the map from resident cells to places in the file is sorted, and the map into
 * memory gets the same permutation: the memory type then jumps to and fro, which MPI allows. Both types are made once.
 *
 * Every cell adds up its links in the mesh's order, so the results do not depend on the number of ranks, bit for bit.
 *
 *   ocean MESH OUTPUT [MONTHS [STEPS]]       prepare.py describes the mesh file
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kFields = 3, kTemperature = 0, kDye = 1, kAge = 2, kHeader = 6 };
static const int64_t kMagic = 0x314E4145434F;
static const double kRestoringMonths = 30.0;
static const double kNotRead = -12345.0;

typedef struct {
  int64_t cells, links, fields_offset, stable_steps;
  int64_t *first, *neighbour, *curve;
  double *flow, *mixing, *volume, *target, *fresh;
} Mesh;

typedef struct { /* what one rank exchanges with another */
  int rank;
  int64_t send_count, receive_count;
  int64_t *send, *receive; /* places in the local arrays, both in the order of global numbers */
  double *send_buffer, *receive_buffer;
} Partner;

typedef struct {
  int ranks, me;
  int64_t local, residents;   /* cells in memory, and those among them that this rank computes */
  int64_t* resident;          /* places of the residents in memory */
  int64_t *first, *neighbour; /* the links of the k-th resident, neighbours as places in memory */
  double *flow, *mixing, *volume, *target, *fresh, *release;
  double *field[kFields], *next[kFields];
  int partners;
  Partner* partner;
  MPI_Datatype memory_type, file_type;
} Domain;

static void fail(const char* what) {
  fprintf(stderr, "ocean: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check(int error, const char* what) {
  if (error == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING], line[MPI_MAX_ERROR_STRING + 100];
  int length = 0;
  MPI_Error_string(error, text, &length);
  snprintf(line, sizeof line, "%s: %s", what, text);
  fail(line);
}

static void* allocate(int64_t count, size_t size) {
  void* memory = calloc(count > 0 ? (size_t)count : 1, size);
  if (!memory) fail("out of memory");
  return memory;
}

/* ---- the mesh: rank 0 reads its tables, everybody gets them ---- */

static void* table(FILE* file, int64_t count, int me) {
  char* words = allocate(count, 8);
  if (me == 0 && fread(words, 8, (size_t)count, file) != (size_t)count) fail("the mesh file is too short");
  for (int64_t done = 0; done < count; done += 1 << 24) {
    int64_t part = count - done < 1 << 24 ? count - done : 1 << 24;
    MPI_Bcast(words + 8 * done, (int)(8 * part), MPI_BYTE, 0, MPI_COMM_WORLD);
  }
  return words;
}

static void read_mesh(const char* path, int me, Mesh* mesh) {
  FILE* file = me == 0 ? fopen(path, "rb") : NULL;
  if (me == 0 && !file) fail("cannot open the mesh file");
  int64_t* header = table(file, kHeader, me);
  if (header[0] != kMagic || header[3] != kFields) fail("this is not an ocean mesh file");
  mesh->cells = header[1];
  mesh->links = header[2];
  mesh->fields_offset = header[4];
  mesh->stable_steps = header[5];
  free(header);
  mesh->first = table(file, mesh->cells + 1, me);
  mesh->neighbour = table(file, mesh->links, me);
  mesh->curve = table(file, mesh->cells, me);
  mesh->flow = table(file, mesh->links, me);
  mesh->mixing = table(file, mesh->links, me);
  mesh->volume = table(file, mesh->cells, me);
  mesh->target = table(file, mesh->cells, me);
  mesh->fresh = table(file, mesh->cells, me);
  if (file) fclose(file);
}

static void free_mesh(Mesh* mesh) {
  void* tables[] = {mesh->first,  mesh->neighbour, mesh->curve,  mesh->flow,
                    mesh->mixing, mesh->volume,    mesh->target, mesh->fresh};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) free(tables[i]);
}

/* ---- who computes what ---- */

static uint64_t scramble(uint64_t x) { /* any fixed mixing of bits does */
  x = (x ^ (x >> 31)) * 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9u;
  return x ^ (x >> 32);
}

/* Cuts the curve in pieces of 40 to 199 cells and deals them out without any order: compact pieces, scattered ranks. */
static int* assign_owners(const Mesh* mesh, int ranks) {
  int* owner = allocate(mesh->cells, sizeof *owner);
  int64_t place = 0;
  for (uint64_t piece = 1; place < mesh->cells; piece++) {
    int64_t end = place + 40 + (int64_t)(scramble(piece) % 160);
    int rank = (int)(scramble(piece + 1000003) % (uint64_t)ranks);
    for (; place < end && place < mesh->cells; place++) owner[mesh->curve[place]] = rank;
  }
  return owner;
}

static int touches(const Mesh* mesh, const int* owner, int64_t cell, int rank) {
  for (int64_t l = mesh->first[cell]; l < mesh->first[cell + 1]; l++)
    if (owner[mesh->neighbour[l]] == rank) return 1;
  return 0;
}

/* Memory holds residents and ghosts along the curve, so the ghosts are spread among the residents. */
static int64_t* place_cells(const Mesh* mesh, const int* owner, Domain* domain) {
  int64_t* place = allocate(mesh->cells, sizeof *place);
  for (int64_t k = 0; k < mesh->cells; k++) {
    int64_t cell = mesh->curve[k];
    int here = owner[cell] == domain->me;
    place[cell] = here || touches(mesh, owner, cell, domain->me) ? domain->local++ : -1;
    domain->residents += here;
  }
  return place;
}

static void make_links(const Mesh* mesh, const int* owner, const int64_t* place, Domain* domain) {
  int64_t links = 0, k = 0;
  for (int64_t c = 0; c < mesh->cells; c++)
    if (owner[c] == domain->me) links += mesh->first[c + 1] - mesh->first[c];
  domain->resident = allocate(domain->residents, sizeof(int64_t));
  domain->first = allocate(domain->residents + 1, sizeof(int64_t));
  domain->neighbour = allocate(links, sizeof(int64_t));
  domain->flow = allocate(links, sizeof(double));
  domain->mixing = allocate(links, sizeof(double));
  domain->volume = allocate(domain->residents, sizeof(double));
  domain->target = allocate(domain->residents, sizeof(double));
  domain->fresh = allocate(domain->residents, sizeof(double));
  domain->release = allocate(domain->residents, sizeof(double));
  links = 0;
  for (int64_t c = 0; c < mesh->cells; c++) {
    if (owner[c] != domain->me) continue;
    domain->resident[k] = place[c];
    domain->volume[k] = mesh->volume[c];
    domain->target[k] = mesh->target[c];
    domain->fresh[k] = mesh->fresh[c];
    for (int64_t l = mesh->first[c]; l < mesh->first[c + 1]; l++, links++) {
      domain->neighbour[links] = place[mesh->neighbour[l]];
      domain->flow[links] = mesh->flow[l];
      domain->mixing[links] = mesh->mixing[l];
    }
    domain->first[++k] = links;
  }
}

/* Both sides list the cells on their common border by global number, so no map has to be sent. */
static void make_partners(const Mesh* mesh, const int* owner, const int64_t* place, Domain* domain) {
  domain->partner = allocate(domain->ranks, sizeof(Partner));
  for (int rank = 0; rank < domain->ranks; rank++) {
    Partner p = {rank, 0, 0, NULL, NULL, NULL, NULL};
    if (rank == domain->me) continue;
    p.send = allocate(domain->local, sizeof(int64_t));
    p.receive = allocate(domain->local, sizeof(int64_t));
    for (int64_t c = 0; c < mesh->cells; c++) {
      if (owner[c] == domain->me && touches(mesh, owner, c, rank)) p.send[p.send_count++] = place[c];
      if (owner[c] == rank && place[c] >= 0) p.receive[p.receive_count++] = place[c];
    }
    p.send_buffer = allocate(kFields * p.send_count, sizeof(double));
    p.receive_buffer = allocate(kFields * p.receive_count, sizeof(double));
    domain->partner[domain->partners++] = p;
  }
}

/* ---- the two types that carry all input and output ---- */

typedef struct {
  int in_file, in_memory;
} Entry;

static int by_file(const void* a, const void* b) {
  const Entry *left = a, *right = b;
  return (left->in_file > right->in_file) - (left->in_file < right->in_file);
}

static void make_types(const Mesh* mesh, const int* owner, const int64_t* place, Domain* domain) {
  Entry* entry = allocate(domain->residents, sizeof *entry);
  int* map = allocate(domain->residents, sizeof *map);
  int count = 0;
  for (int64_t k = 0; k < mesh->cells; k++) { /* residents in memory's order, as a model has them */
    int64_t cell = mesh->curve[k];
    if (owner[cell] == domain->me) entry[count++] = (Entry){(int)cell, (int)place[cell]};
  }
  qsort(entry, (size_t)count, sizeof *entry, by_file); /* sorts the file's map and permutes memory's alike */
  for (int i = 0; i < count; i++) map[i] = entry[i].in_file;
  MPI_Datatype blocks;
  MPI_Type_create_indexed_block(count, 1, map, MPI_DOUBLE, &blocks);
  /* One array a tile. The view is never used beyond its first tile; the extent says what the file is made of. */
  MPI_Type_create_resized(blocks, 0, (MPI_Aint)(mesh->cells * (int64_t)sizeof(double)), &domain->file_type);
  MPI_Type_free(&blocks);
  MPI_Type_commit(&domain->file_type);
  for (int i = 0; i < count; i++) map[i] = entry[i].in_memory;
  MPI_Type_create_indexed_block(count, 1, map, MPI_DOUBLE, &domain->memory_type);
  MPI_Type_commit(&domain->memory_type);
  free(map);
  free(entry);
}

static void make_domain(const Mesh* mesh, Domain* domain) {
  int* owner = assign_owners(mesh, domain->ranks);
  int64_t* place = place_cells(mesh, owner, domain);
  make_links(mesh, owner, place, domain);
  make_partners(mesh, owner, place, domain);
  make_types(mesh, owner, place, domain);
  for (int f = 0; f < kFields; f++) {
    domain->field[f] = allocate(domain->local, sizeof(double));
    domain->next[f] = allocate(domain->local, sizeof(double));
  }
  free(place);
  free(owner);
}

static void free_domain(Domain* domain) {
  void* tables[] = {domain->resident, domain->first,  domain->neighbour, domain->flow,   domain->mixing,
                    domain->volume,   domain->target, domain->fresh,     domain->release};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) free(tables[i]);
  for (int f = 0; f < kFields; f++) {
    free(domain->field[f]);
    free(domain->next[f]);
  }
  for (int p = 0; p < domain->partners; p++) {
    void* lists[] = {domain->partner[p].send, domain->partner[p].receive, domain->partner[p].send_buffer,
                     domain->partner[p].receive_buffer};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]);
  }
  free(domain->partner);
  MPI_Type_free(&domain->memory_type);
  MPI_Type_free(&domain->file_type);
}

/* ---- input and output ---- */

static void check_count(const MPI_Status* status, const Domain* domain, const char* what) {
  int moved = 0;
  MPI_Get_elements(status, MPI_DOUBLE, &moved);
  if (moved != domain->residents) fail(what);
}

static void set_view(MPI_File file, MPI_Offset disp, const Domain* domain) {
  check(MPI_File_set_view(file, disp, MPI_DOUBLE, domain->file_type, "native", MPI_INFO_NULL), "MPI_File_set_view");
}

static void read_field(MPI_File file, MPI_Offset disp, double* field, const Domain* domain) {
  MPI_Status status;
  set_view(file, disp, domain);
  check(MPI_File_read_all(file, field, 1, domain->memory_type, &status), "MPI_File_read_all");
  check_count(&status, domain, "a read moved fewer cells than asked for");
}

static void read_initial_fields(const char* path, const Mesh* mesh, Domain* domain) {
  MPI_File file;
  check(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), path);
  for (int f = 0; f < kFields; f++)
    read_field(file, mesh->fields_offset + f * mesh->cells * (MPI_Offset)sizeof(double), domain->field[f], domain);
  check(MPI_File_close(&file), "MPI_File_close");
  for (int64_t k = 0; k < domain->residents; k++) domain->release[k] = domain->field[kDye][domain->resident[k]];
}

static void append_month(MPI_File file, MPI_Offset* disp, const Mesh* mesh, const Domain* domain) {
  for (int f = 0; f < kFields; f++) {
    MPI_Status status;
    set_view(file, *disp, domain);
    check(MPI_File_write_all(file, domain->field[f], 1, domain->memory_type, &status), "MPI_File_write_all");
    check_count(&status, domain, "a write moved fewer cells than asked for");
    *disp += mesh->cells * (MPI_Offset)sizeof(double);
  }
}

/* Opens the finished file again (closing it made every rank's writes visible) and reads the last array back: each
 * resident cell must be what memory holds, each ghost must not be touched. */
static void verify(const char* path, MPI_Offset end, const Mesh* mesh, const Domain* domain) {
  double *back = allocate(domain->local, sizeof *back), *expected = allocate(domain->local, sizeof *expected);
  for (int64_t i = 0; i < domain->local; i++) back[i] = expected[i] = kNotRead;
  for (int64_t k = 0; k < domain->residents; k++)
    expected[domain->resident[k]] = domain->field[kFields - 1][domain->resident[k]];
  MPI_File file;
  MPI_Offset size = -1;
  check(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), path);
  check(MPI_File_get_size(file, &size), "MPI_File_get_size");
  if (size != end) fail("the file has not the size of what was written");
  read_field(file, end - mesh->cells * (MPI_Offset)sizeof(double), back, domain);
  check(MPI_File_close(&file), "MPI_File_close");
  if (memcmp(back, expected, (size_t)domain->local * sizeof *back) != 0) fail("what was read back differs from memory");
  free(expected);
  free(back);
}

/* ---- the model ---- */

static void exchange_ghosts(Domain* domain) {
  MPI_Request* request = allocate(2 * domain->partners, sizeof *request);
  int requests = 0;
  for (int i = 0; i < domain->partners; i++) {
    Partner* p = &domain->partner[i];
    MPI_Irecv(p->receive_buffer, (int)(kFields * p->receive_count), MPI_DOUBLE, p->rank, 0, MPI_COMM_WORLD,
              &request[requests++]);
  }
  for (int i = 0; i < domain->partners; i++) {
    Partner* p = &domain->partner[i];
    for (int f = 0; f < kFields; f++)
      for (int64_t k = 0; k < p->send_count; k++) p->send_buffer[f * p->send_count + k] = domain->field[f][p->send[k]];
    MPI_Isend(p->send_buffer, (int)(kFields * p->send_count), MPI_DOUBLE, p->rank, 0, MPI_COMM_WORLD,
              &request[requests++]);
  }
  MPI_Waitall(requests, request, MPI_STATUSES_IGNORE);
  for (int i = 0; i < domain->partners; i++) {
    Partner* p = &domain->partner[i];
    for (int f = 0; f < kFields; f++)
      for (int64_t k = 0; k < p->receive_count; k++)
        domain->field[f][p->receive[k]] = p->receive_buffer[f * p->receive_count + k];
  }
  free(request);
}

/* Upwind advection and diffusion, each link's exchange seen from the resident cell's side. */
static void advance(Domain* domain, double months) {
  exchange_ghosts(domain);
  for (int f = 0; f < kFields; f++) {
    const double* old = domain->field[f];
    for (int64_t k = 0; k < domain->residents; k++) {
      const int64_t here = domain->resident[k];
      double gain = 0.0;
      for (int64_t l = domain->first[k]; l < domain->first[k + 1]; l++) {
        const double there = old[domain->neighbour[l]], flow = domain->flow[l];
        gain += domain->mixing[l] * (there - old[here]) - flow * (flow > 0 ? old[here] : there);
      }
      domain->next[f][here] = old[here] + gain * months / domain->volume[k];
    }
  }
  for (int64_t k = 0; k < domain->residents; k++) {
    const int64_t i = domain->resident[k];
    domain->next[kTemperature][i] += (domain->target[k] - domain->field[kTemperature][i]) * months / kRestoringMonths;
    if (domain->release[k] >= 0.5) domain->next[kDye][i] = domain->release[k];
    domain->next[kAge][i] = domain->fresh[k] > 0 ? 0.0 : domain->next[kAge][i] + months / 12.0;
  }
  for (int f = 0; f < kFields; f++) {
    double* swap = domain->field[f];
    domain->field[f] = domain->next[f];
    domain->next[f] = swap;
  }
}

/* ---- the program ---- */

static void describe(const Mesh* mesh, const Domain* domain) {
  double mine = (double)(domain->local - domain->residents) / (double)(domain->local > 0 ? domain->local : 1);
  double share[2] = {mine, -mine}, most[2];
  MPI_Reduce(share, most, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (domain->me == 0)
    printf("ocean: %lld cells on %d ranks, ghosts are %.0f to %.0f %% of a rank's cells\n", (long long)mesh->cells,
           domain->ranks, -100.0 * most[1], 100.0 * most[0]);
}

static void report(MPI_Offset bytes, double total, double output, int me) {
  double mine[2] = {total, output}, slowest[2];
  MPI_Reduce(mine, slowest, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (me == 0)
    printf("ocean: verified; bytes %lld total %.2f s output %.2f s\n", (long long)bytes, slowest[0], slowest[1]);
}

/* Returns the seconds this rank spent in output, and the file's size in *end. */
static double simulate(const char* path, const Mesh* mesh, Domain* domain, const int months[2], MPI_Offset* end) {
  MPI_File file;
  double output = -MPI_Wtime();
  check(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), path);
  check(MPI_File_set_size(file, 0), "MPI_File_set_size");
  output += MPI_Wtime();
  *end = 0;
  for (int month = 0; month < months[0]; month++) {
    for (int step = 0; step < months[1]; step++) advance(domain, 1.0 / months[1]);
    output -= MPI_Wtime();
    append_month(file, end, mesh, domain);
    output += MPI_Wtime();
  }
  output -= MPI_Wtime();
  check(MPI_File_close(&file), "MPI_File_close");
  output += MPI_Wtime();
  if (*end > 0) verify(path, *end, mesh, domain);
  return output;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 3) fail("usage: ocean MESH OUTPUT [MONTHS [STEPS]]");
  Mesh mesh;
  Domain domain;
  memset(&domain, 0, sizeof domain);
  MPI_Comm_size(MPI_COMM_WORLD, &domain.ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &domain.me);
  read_mesh(argv[1], domain.me, &mesh);
  const int months[2] = {argc > 3 ? atoi(argv[3]) : 120, argc > 4 ? atoi(argv[4]) : (int)mesh.stable_steps};
  if (months[0] < 0 || months[1] < mesh.stable_steps) fail("too few steps a month for these currents, or no months");
  make_domain(&mesh, &domain);
  describe(&mesh, &domain);
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  MPI_Offset bytes = 0;
  read_initial_fields(argv[1], &mesh, &domain);
  double output = simulate(argv[2], &mesh, &domain, months, &bytes);
  report(bytes, MPI_Wtime() - start, output, domain.me);
  free_domain(&domain);
  free_mesh(&mesh);
  MPI_Finalize();
  return 0;
}
