// A main for a fuzz target where there is no libFuzzer: deterministic, and every case stands for itself.
//   fuzz_NAME [--cases N] [--seed S] [--seconds T]   the corpus, then N cases; case i depends on S + i only; T ends the run
//             [--corpus DIR] [--dict FILE]           inputs to start from and words to put in
//             [--replay FILE]                        one input
//             [--shrink FILE]                        the smallest input that still fails, into FILE.small
//             [--examples DIR --cases N]             writes valid inputs, for a corpus
// A failing case prints how to run it again and leaves its input in the file `fuzz_NAME.failed`.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "mutate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

using namespace mercutio;
using namespace mercutio::fuzz;

namespace {

constexpr unsigned kSecondsForOneCase = 60;

struct Options {
  i64 cases = 4000, seconds = 1 << 30;
  std::uint64_t seed = 1;
  std::string corpus, dict, replay, shrink, examples;
};

// What a dying process says. Plain memory, as it is read in signal handlers.
struct Current {
  char again[600] = "";
  char failed_file[300] = "";
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
} current;

void say(const char* text) {
  if (write(2, text, std::strlen(text)) < 0) _exit(3);
}

void tell_case() {
  if (current.again[0] == 0) return;
  say("FAILED: ");
  say(current.again);
  const int file = open(current.failed_file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0 && write(file, current.data, current.bytes) == static_cast<ssize_t>(current.bytes)) {
    say("\n  its input: ");
    say(current.failed_file);
  }
  say("\n");
  current.again[0] = 0;
}

void on_signal(int signal) {
  say(signal == SIGALRM ? "HANG\n" : "");
  tell_case();
  std::signal(signal == SIGALRM ? SIGABRT : signal, SIG_DFL);
  raise(signal == SIGALRM ? SIGABRT : signal);
}

void catch_deaths() {
  static char apart[64 * 1024];  // a stack overflow leaves no room on the stack
  stack_t stack = {};
  stack.ss_sp = apart;
  stack.ss_size = sizeof apart;
  sigaltstack(&stack, nullptr);
  for (int signal : {SIGABRT, SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    const bool ours = signal == SIGABRT || signal == SIGALRM;
    if (__sanitizer_set_death_callback && !ours) continue;  // the sanitizer says more about it
    struct sigaction action = {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK;
    sigaction(signal, &action, nullptr);
  }
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(tell_case);
}

void run_one(const Input& input) {
  current.data = input.data();
  current.bytes = input.size();
  const Input exact(input);  // of its own, so that reading past the end is seen
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(exact.data()), exact.size());
}

Input read_input(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    std::fprintf(stderr, "can't read %s\n", path.c_str());
    std::exit(2);
  }
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  Input input(text.size());
  if (!text.empty()) std::memcpy(input.data(), text.data(), text.size());
  return input;
}

void write_input(const std::string& path, const Input& input) {
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(input.size()));
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  if (!folder.empty() && std::filesystem::is_directory(folder))
    for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

Input make_case(std::uint64_t seed, const std::vector<Input>& words, const std::vector<Input>& corpus) {
  Random random(seed);
  const i64 kind = pick(random, 0, 9);
  Input input;
  if (kind == 0) {
    input.resize(static_cast<std::size_t>(pick(random, 0, 64)));
    for (std::byte& b : input) b = static_cast<std::byte>(random());
  } else if (kind <= 3 && !corpus.empty()) {
    input = corpus[random() % corpus.size()];
  } else {
    input = example(random);
  }
  if (kind != 9) mutate(input, random, words, corpus);
  return input;
}

bool fails(const Input& input) {
  const pid_t child = fork();
  if (child == 0) {
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, 2);
    current.again[0] = 0;
    alarm(10);
    run_one(input);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status != 0;
}

int shrink(const std::string& path) {
  Input best = read_input(path);
  if (!fails(best)) {
    std::printf("%s does not fail\n", path.c_str());
    return 2;
  }
  for (std::size_t part = std::max<std::size_t>(best.size() / 2, 1); part > 0; part /= 2) {
    for (std::size_t at = 0; at < best.size();) {
      Input without = best;
      const auto from = without.begin() + static_cast<std::ptrdiff_t>(at);
      without.erase(from, from + static_cast<std::ptrdiff_t>(std::min(part, best.size() - at)));
      if (fails(without)) {
        best = std::move(without);
        continue;
      }
      Input zeroed = best;
      for (std::size_t i = at; i < std::min(at + part, best.size()); ++i) zeroed[i] = std::byte{0};
      if (zeroed != best && fails(zeroed)) best = std::move(zeroed);
      at += part;
    }
  }
  write_input(path + ".small", best);
  std::printf("%zu bytes in %s.small\n", best.size(), path.c_str());
  return 0;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    const i64 number = std::atoll(value.c_str());
    if (name == "--cases") options.cases = number;
    else if (name == "--seed") options.seed = static_cast<std::uint64_t>(number);
    else if (name == "--seconds") options.seconds = number;
    else if (name == "--corpus") options.corpus = value;
    else if (name == "--dict") options.dict = value;
    else if (name == "--replay") options.replay = value;
    else if (name == "--shrink") options.shrink = value;
    else if (name == "--examples") options.examples = value;
    else {
      std::fprintf(stderr, "unknown option %s; tests/fuzz/driver.cpp lists them\n", name.c_str());
      std::exit(2);
    }
  }
  return options;
}

int write_examples(const Options& options) {
  std::filesystem::create_directories(options.examples);
  for (i64 i = 0; i < options.cases; ++i) {
    Random random(options.seed + static_cast<std::uint64_t>(i));
    write_input(options.examples + "/example-" + std::to_string(i), example(random));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const std::string name = std::filesystem::path(argv[0]).filename().string();
  if (!options.examples.empty()) return write_examples(options);
  if (!options.shrink.empty()) return shrink(options.shrink);
  std::snprintf(current.failed_file, sizeof current.failed_file, "%s.failed", name.c_str());
  catch_deaths();
  std::vector<std::string> files = files_in(options.corpus);
  if (!options.replay.empty()) files = {options.replay};
  std::vector<Input> corpus;
  for (const std::string& file : files) {
    corpus.push_back(read_input(file));
    std::snprintf(current.again, sizeof current.again, "%s --replay %s", name.c_str(), file.c_str());
    alarm(kSecondsForOneCase);
    run_one(corpus.back());
  }
  const std::vector<Input> words = read_dictionary(options.dict);
  const auto start = std::chrono::steady_clock::now();
  const i64 cases = options.replay.empty() ? options.cases : 0;
  i64 done = 0;
  for (; done < cases && std::chrono::steady_clock::now() - start < std::chrono::seconds(options.seconds); ++done) {
    const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(done);
    std::snprintf(current.again, sizeof current.again, "%s --cases 1 --seed %llu --corpus %s --dict %s", name.c_str(),
                  static_cast<unsigned long long>(seed), options.corpus.c_str(), options.dict.c_str());
    if (done % 64 == 0) alarm(kSecondsForOneCase);
    run_one(make_case(seed, words, corpus));
  }
  alarm(0);
  current.again[0] = 0;
  std::printf("%zu inputs of the corpus and %lld cases from seed %llu: nothing found\n", files.size(), static_cast<long long>(done),
              static_cast<unsigned long long>(options.seed));
  return 0;
}
