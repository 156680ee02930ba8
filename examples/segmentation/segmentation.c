/* Gabor filters over a large image with several channels, the first step of segmenting it by texture; a plain MPI
 * program. Its I/O is that of the application with which nonblocking collective writes were introduced: the response to
 * filter i is written while the response to filter i + 1 is computed.
 *
 * A filter is a Gaussian around one frequency (scale and orientation). Responses are computed in the frequency domain,
 * over the whole image: rows are distributed over the ranks, a two-dimensional transform is one-dimensional ones (FFTW)
 * along the rows, a transposition (MPI_Alltoallv) and one-dimensional ones along the columns. The spectra stay
 * transposed. A response is the square root of the energy of all channels. One-dimensional transforms are done one by
 * one, so that the results do not depend on the number of ranks, bit for bit.
 *
 * The output is an array of filters x rows x columns of floats; a subarray view gives each rank its rows of every
 * filter.
 *
 *   segmentation IMAGE OUTPUT [--mode blocking|nonblocking|tested] [--tiles N] [--scales N] [--orientations N]
 *
 * prepare.py describes the image file. --tiles repeats it N x N times, mirrored, so that there are no seams. `tested`
 * calls MPI_Test between the channels, for MPI libraries that go on only inside calls. check.py computes the same with
 * numpy.
 */
#include <complex.h>
#include <fftw3.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kHeader = 4, kTile = 32, kBuffers = 2 };
static const int64_t kMagic = 0x30524F424147;
static const double kHighestFrequency = 0.25, kWidth = 3.0;

typedef enum { kBlocking, kNonblocking, kTested } Mode;

typedef struct {
  const char *image, *output;
  Mode mode;
  int tiles, scales, orientations;
} Options;

typedef struct { /* how the lines of one dimension are dealt to the ranks */
  int64_t total, mine, *begin;
} Split;

typedef struct {
  int ranks, me;
  int64_t channels, source_rows, source_columns;
  Split rows, columns;
  fftw_complex **spectra, *by_row, *by_column, *send, *receive; /* spectra: own columns of each channel */
  double *energy, *row_gain, *column_gain;
  fftw_plan row_forward, row_backward, column_forward, column_backward;
} Image;

typedef struct {
  double compute, calls, total;
} Times;

static void stop(const char* what) {
  fprintf(stderr, "segmentation: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Files report errors by their return codes. */
static void check(int code, const char* what) {
  char text[MPI_MAX_ERROR_STRING], line[MPI_MAX_ERROR_STRING + 128];
  int length = 0;
  if (code == MPI_SUCCESS) return;
  MPI_Error_string(code, text, &length);
  snprintf(line, sizeof line, "%s: %s", what, text);
  stop(line);
}

static void* allocate(int64_t count, size_t size) {
  void* memory = fftw_malloc((size_t)(count > 0 ? count : 1) * size);
  if (!memory) stop("not enough memory: use fewer --tiles or more ranks");
  return memory;
}

static Split split(const Image* image, int64_t total) {
  Split s = {total, 0, allocate(image->ranks + 1, sizeof(int64_t))};
  for (int r = 0; r <= image->ranks; ++r) s.begin[r] = total * r / image->ranks;
  s.mine = s.begin[image->me + 1] - s.begin[image->me];
  return s;
}

static void exchange(const Image* image, const Split* from, const Split* to) {
  int n = image->ranks, *counts = allocate(4 * n, sizeof(int));
  int *sent = counts, *sent_at = counts + n, *got = counts + 2 * n, *got_at = counts + 3 * n;
  for (int r = 0; r < n; ++r) {
    sent[r] = (int)((to->begin[r + 1] - to->begin[r]) * from->mine);
    sent_at[r] = (int)(to->begin[r] * from->mine);
    got[r] = (int)((from->begin[r + 1] - from->begin[r]) * to->mine);
    got_at[r] = (int)(from->begin[r] * to->mine);
  }
  MPI_Alltoallv(image->send, sent, sent_at, MPI_C_DOUBLE_COMPLEX, image->receive, got, got_at, MPI_C_DOUBLE_COMPLEX,
                MPI_COMM_WORLD);
  fftw_free(counts);
}

/* Own lines of `from`, each across all of `to`, become own lines of `to`, each across all of `from`. */
static void transpose(const Image* image, const Split* from, const Split* to, fftw_complex* in, fftw_complex* out) {
  for (int64_t j0 = 0; j0 < to->total; j0 += kTile) {
    int64_t j1 = j0 + kTile < to->total ? j0 + kTile : to->total;
    for (int64_t i0 = 0; i0 < from->mine; i0 += kTile) {
      int64_t i1 = i0 + kTile < from->mine ? i0 + kTile : from->mine;
      for (int64_t j = j0; j < j1; ++j) {
        for (int64_t i = i0; i < i1; ++i) image->send[j * from->mine + i] = in[i * to->total + j];
      }
    }
  }
  exchange(image, from, to);
  for (int r = 0; r < image->ranks; ++r) {
    int64_t lines = from->begin[r + 1] - from->begin[r];
    const fftw_complex* block = image->receive + from->begin[r] * to->mine;
    for (int64_t j = 0; j < to->mine; ++j) {
      memcpy(out + j * from->total + from->begin[r], block + j * lines, (size_t)lines * sizeof *out);
    }
  }
}

static void transform(fftw_plan plan, const Split* lines, int64_t length, fftw_complex* data) {
  for (int64_t i = 0; i < lines->mine; ++i) fftw_execute_dft(plan, data + i * length, data + i * length);
}

static fftw_plan plan_line(int64_t length, int sign) {
  fftw_complex* line = allocate(length, sizeof *line);
  fftw_plan plan = fftw_plan_dft_1d((int)length, line, line, sign, FFTW_ESTIMATE);
  fftw_free(line);
  if (!plan) stop("FFTW has no plan for this size");
  return plan;
}

static int64_t mirrored(int64_t at, int64_t size) {
  int64_t tile = at / size, place = at % size;
  return tile % 2 ? size - 1 - place : place;
}

/* The header: magic, channels, rows, columns. All ranks read it. */
static MPI_File open_image(Image* image, const Options* options) {
  MPI_File file;
  int64_t header[kHeader] = {0};
  check(MPI_File_open(MPI_COMM_WORLD, options->image, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), options->image);
  check(MPI_File_read_at_all(file, 0, header, kHeader, MPI_INT64_T, MPI_STATUS_IGNORE), options->image);
  if (header[0] != kMagic) stop("this is no image file: prepare.py makes one");
  image->channels = header[1], image->source_rows = header[2], image->source_columns = header[3];
  image->rows = split(image, header[2] * options->tiles);
  image->columns = split(image, header[3] * options->tiles);
  return file;
}

static void make_room(Image* image) {
  int64_t by_row = image->rows.mine * image->columns.total, by_column = image->columns.mine * image->rows.total;
  int64_t largest = by_row > by_column ? by_row : by_column;
  image->spectra = allocate(image->channels, sizeof *image->spectra);
  for (int64_t c = 0; c < image->channels; ++c) image->spectra[c] = allocate(by_column, sizeof(fftw_complex));
  image->by_row = allocate(by_row, sizeof(fftw_complex));
  image->by_column = allocate(by_column, sizeof(fftw_complex));
  image->send = allocate(largest, sizeof(fftw_complex));
  image->receive = allocate(largest, sizeof(fftw_complex));
  image->energy = allocate(by_row, sizeof(double));
  image->row_gain = allocate(image->rows.total, sizeof(double));
  image->column_gain = allocate(image->columns.total, sizeof(double));
  image->row_forward = plan_line(image->columns.total, FFTW_FORWARD);
  image->row_backward = plan_line(image->columns.total, FFTW_BACKWARD);
  image->column_forward = plan_line(image->rows.total, FFTW_FORWARD);
  image->column_backward = plan_line(image->rows.total, FFTW_BACKWARD);
}

/* Reads the channels, each rank the whole small picture, and leaves the spectra of the tiled one. */
static Image read_image(const Options* options) {
  Image image;
  memset(&image, 0, sizeof image);
  MPI_Comm_size(MPI_COMM_WORLD, &image.ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &image.me);
  MPI_File file = open_image(&image, options);
  int64_t pixels = image.source_rows * image.source_columns, wide = image.columns.total;
  float* picture = allocate(pixels, sizeof(float));
  make_room(&image);
  for (int64_t c = 0; c < image.channels; ++c) {
    MPI_Offset offset = kHeader * (MPI_Offset)sizeof(int64_t) + c * pixels * (MPI_Offset)sizeof(float);
    check(MPI_File_read_at_all(file, offset, picture, (int)pixels, MPI_FLOAT, MPI_STATUS_IGNORE), options->image);
    for (int64_t y = 0; y < image.rows.mine; ++y) {
      int64_t row = mirrored(image.rows.begin[image.me] + y, image.source_rows) * image.source_columns;
      for (int64_t x = 0; x < wide; ++x) image.by_row[y * wide + x] = picture[row + mirrored(x, image.source_columns)];
    }
    transform(image.row_forward, &image.rows, wide, image.by_row);
    transpose(&image, &image.rows, &image.columns, image.by_row, image.spectra[c]);
    transform(image.column_forward, &image.columns, image.rows.total, image.spectra[c]);
  }
  check(MPI_File_close(&file), options->image);
  fftw_free(picture);
  return image;
}

/* A Gaussian around `centre` cycles per pixel, at the frequencies of a transform. */
static void gaussian(double* gain, int64_t size, double centre, double sigma) {
  for (int64_t k = 0; k < size; ++k) {
    double distance = (double)(k <= size / 2 ? k : k - size) / (double)size - centre;
    gain[k] = exp(-distance * distance / (2 * sigma * sigma));
  }
}

static void make_filter(Image* image, const Options* options, int filter) {
  int scale = filter / options->orientations, orientation = filter % options->orientations;
  double frequency = kHighestFrequency / (double)(1 << scale), angle = M_PI * orientation / options->orientations;
  gaussian(image->column_gain, image->columns.total, frequency * cos(angle), frequency / kWidth);
  gaussian(image->row_gain, image->rows.total, frequency * sin(angle), frequency / kWidth);
}

/* Adds the energy of a channel's response. What has frequency 0, the mean, has no texture. */
static void add_channel(Image* image, int64_t channel) {
  int64_t high = image->rows.total, first = image->columns.begin[image->me],
          size = image->rows.mine * image->columns.total;
  const fftw_complex* spectrum = image->spectra[channel];
  double norm = 1.0 / ((double)high * (double)image->columns.total);
  for (int64_t x = 0; x < image->columns.mine; ++x) {
    double gain = image->column_gain[first + x] * norm;
    for (int64_t y = 0; y < high; ++y) {
      image->by_column[x * high + y] = spectrum[x * high + y] * (gain * image->row_gain[y]);
    }
  }
  if (first == 0 && image->columns.mine > 0) image->by_column[0] = 0;
  transform(image->column_backward, &image->columns, high, image->by_column);
  transpose(image, &image->columns, &image->rows, image->by_column, image->by_row);
  transform(image->row_backward, &image->rows, image->columns.total, image->by_row);
  for (int64_t i = 0; i < size; ++i) {
    double re = creal(image->by_row[i]), im = cimag(image->by_row[i]);
    image->energy[i] += re * re + im * im;
  }
}

typedef struct {
  MPI_File file;
  MPI_Datatype rows;
  MPI_Request request; /* of the response written last */
  int count;
} Output;

static void respond(Image* image, const Options* options, int filter, Output* output, float* response) {
  int done = 0;
  memset(image->energy, 0, (size_t)output->count * sizeof *image->energy);
  make_filter(image, options, filter);
  for (int64_t c = 0; c < image->channels; ++c) {
    add_channel(image, c);
    if (options->mode == kTested) check(MPI_Test(&output->request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  }
  for (int i = 0; i < output->count; ++i) response[i] = (float)sqrt(image->energy[i]);
}

static Output open_output(const Image* image, const Options* options) {
  Output output = {.request = MPI_REQUEST_NULL};
  int sizes[2] = {(int)image->rows.total, (int)image->columns.total}, mine[2] = {(int)image->rows.mine, sizes[1]};
  int starts[2] = {(int)image->rows.begin[image->me], 0};
  int mode = MPI_MODE_CREATE | MPI_MODE_WRONLY;
  output.count = mine[0] * mine[1];
  check(MPI_File_open(MPI_COMM_WORLD, options->output, mode, MPI_INFO_NULL, &output.file), options->output);
  check(MPI_File_set_size(output.file, 0), "MPI_File_set_size");
  if (output.count > 0) {
    MPI_Type_create_subarray(2, sizes, mine, starts, MPI_ORDER_C, MPI_FLOAT, &output.rows);
  } else {
    MPI_Type_contiguous(sizes[0] * sizes[1], MPI_FLOAT, &output.rows); /* more ranks than rows: never used */
  }
  MPI_Type_commit(&output.rows);
  check(MPI_File_set_view(output.file, 0, MPI_FLOAT, output.rows, "native", MPI_INFO_NULL), "MPI_File_set_view");
  return output;
}

static void write_response(Output* output, const Options* options, const float* response) {
  if (options->mode == kBlocking) {
    check(MPI_File_write_all(output->file, response, output->count, MPI_FLOAT, MPI_STATUS_IGNORE),
          "MPI_File_write_all");
    return;
  }
  check(MPI_Wait(&output->request, MPI_STATUS_IGNORE), "MPI_Wait");
  check(MPI_File_iwrite_all(output->file, response, output->count, MPI_FLOAT, &output->request), "MPI_File_iwrite_all");
}

static Times filter_image(Image* image, const Options* options) {
  Times times = {0, 0, 0};
  Output output = open_output(image, options);
  float* responses[kBuffers];
  for (int b = 0; b < kBuffers; ++b) responses[b] = allocate(output.count, sizeof(float));
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime();
  for (int filter = 0; filter < options->scales * options->orientations; ++filter) {
    double start = MPI_Wtime();
    respond(image, options, filter, &output, responses[filter % kBuffers]);
    double computed = MPI_Wtime();
    write_response(&output, options, responses[filter % kBuffers]);
    times.compute += computed - start;
    times.calls += MPI_Wtime() - computed;
  }
  double start = MPI_Wtime();
  check(MPI_Wait(&output.request, MPI_STATUS_IGNORE), "MPI_Wait");
  check(MPI_File_close(&output.file), options->output);
  times.calls += MPI_Wtime() - start;
  times.total = MPI_Wtime() - begin;
  MPI_Type_free(&output.rows);
  for (int b = 0; b < kBuffers; ++b) fftw_free(responses[b]);
  return times;
}

static void release(Image* image) {
  for (int64_t c = 0; c < image->channels; ++c) fftw_free(image->spectra[c]);
  void* memory[] = {image->spectra, image->by_row,   image->by_column,   image->send,       image->receive,
                    image->energy,  image->row_gain, image->column_gain, image->rows.begin, image->columns.begin};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; ++i) fftw_free(memory[i]);
  fftw_destroy_plan(image->row_forward), fftw_destroy_plan(image->row_backward);
  fftw_destroy_plan(image->column_forward), fftw_destroy_plan(image->column_backward);
  fftw_cleanup();
}

static int usage(void) {
  fprintf(
      stderr,
      "segmentation IMAGE OUTPUT [--mode blocking|nonblocking|tested] [--tiles N] [--scales N] [--orientations N]\n");
  return 2;
}

static const char* const kModes[] = {"blocking", "nonblocking", "tested"};

static int parse(int argc, char** argv, Options* options) {
  if (argc < 3 || argc % 2 == 0) return usage();
  options->image = argv[1], options->output = argv[2];
  for (int i = 3; i < argc; i += 2) {
    int number = atoi(argv[i + 1]), known = 1;
    if (strcmp(argv[i], "--mode") == 0) {
      for (known = 0; known < 3 && strcmp(argv[i + 1], kModes[known]) != 0;) ++known;
      options->mode = (Mode)known;
      if (known == 3) return usage();
      continue;
    }
    if (strcmp(argv[i], "--tiles") == 0)
      options->tiles = number;
    else if (strcmp(argv[i], "--scales") == 0)
      options->scales = number;
    else if (strcmp(argv[i], "--orientations") == 0)
      options->orientations = number;
    else
      known = 0;
    if (!known || number < 1) return usage();
  }
  return options->scales > 16 ? usage() : 0;
}

int main(int argc, char** argv) {
  Options options = {.mode = kNonblocking, .tiles = 1, .scales = 4, .orientations = 6};
  int code = parse(argc, argv, &options);
  if (code) return code;
  MPI_Init(&argc, &argv);
  Image image = read_image(&options);
  Times times = filter_image(&image, &options), slowest;
  MPI_Reduce(&times, &slowest, 3, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  int filters = options.scales * options.orientations;
  if (image.me == 0) {
    double bytes = (double)filters * (double)image.rows.total * (double)image.columns.total * sizeof(float);
    printf(
        "segmentation: %s, %d ranks, %d filters of %lld x %lld: %.0f bytes, compute %.3f s, calls %.3f s, total %.3f "
        "s\n",
        kModes[options.mode], image.ranks, filters, (long long)image.rows.total, (long long)image.columns.total, bytes,
        slowest.compute, slowest.calls, slowest.total);
  }
  release(&image);
  MPI_Finalize();
  return 0;
}
