// fork, exec and a pipe; no shell is ever involved.
#include "process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace mercutio::tool {
namespace {

std::vector<char*> argument_vector(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

constexpr int kStops[] = {SIGINT, SIGTERM, SIGHUP};
constexpr std::chrono::seconds kGrace{5};   // for launchers, which end their ranks

volatile sig_atomic_t stops = 0, last_stop = 0;
int holds = 0;
bool goes_on = false;
struct sigaction before_hold[std::size(kStops)];

void on_stop(int signal) {
  last_stop = signal;
  stops = stops + 1;
}

bool has_ended(pid_t child) {
  siginfo_t about{};
  return waitid(P_PID, static_cast<id_t>(child), &about, WEXITED | WNOHANG | WNOWAIT) != 0 || about.si_pid == child;
}

// Ends a child with its group. It is left to be waited for, so that the group's number stays its own.
void end_group(pid_t child) {
  kill(-child, SIGTERM);
  const auto deadline = std::chrono::steady_clock::now() + kGrace;
  while (!has_ended(child) && std::chrono::steady_clock::now() < deadline) usleep(10000);
  kill(-child, SIGKILL);
}

// fork() of a child that leads a group of its own and has the default actions of signals. None is lost until it has both.
pid_t fork_group() {
  sigset_t stopping, before;
  sigemptyset(&stopping);
  for (const int signal : kStops) sigaddset(&stopping, signal);
  sigprocmask(SIG_BLOCK, &stopping, &before);
  const pid_t child = fork();
  if (child >= 0) setpgid(child, child);   // in both, whichever comes first
  for (std::size_t i = 0; child == 0 && i < std::size(kStops); ++i) {
    if (before_hold[i].sa_handler != SIG_IGN) signal(kStops[i], SIG_DFL);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return child;
}

// Both ends are behind the standard descriptors, which may be closed: a program that is started gets others for those.
bool make_pipe(int (&ends)[2]) {
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  for (int& end : ends) {
    if (end > 2) continue;
    const int moved = fcntl(end, F_DUPFD_CLOEXEC, 3), error = errno;
    close(end);
    end = moved;
    errno = error;
  }
  if (ends[0] >= 0 && ends[1] >= 0) return true;
  const int error = errno;
  for (const int end : ends)
    if (end >= 0) close(end);
  errno = error;
  return false;
}

// Until the output's end and the child's, the deadline, or a signal beyond those `stops_before` the child's start.
void read_until_end(int fd, pid_t child, int timeout_seconds, sig_atomic_t stops_before, std::string& text) {
  constexpr int kWaitMs = 200;   // a signal may come right before poll
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(timeout_seconds);
  int wait_ms = kWaitMs;
  bool open = true;
  char buffer[4096];
  while (open || !has_ended(child)) {
    if (stops != stops_before) return end_group(child);
    if (std::chrono::steady_clock::now() >= deadline) {
      kill(-child, SIGKILL);
      text += "(killed after " + std::to_string(timeout_seconds) + " s)\n";
      return;
    }
    pollfd ready{open ? fd : -1, POLLIN, 0};
    if (poll(&ready, 1, wait_ms) <= 0) {
      wait_ms = std::min(2 * wait_ms, kWaitMs);
      continue;
    }
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    open = got > 0;
    if (open)
      text.append(buffer, static_cast<std::size_t>(got));
    else
      wait_ms = 1;
  }
}

}  // namespace

SignalHold::SignalHold() {
  struct sigaction stopping {};
  stopping.sa_handler = on_stop;
  if (holds++ > 0) return;
  for (std::size_t i = 0; i < std::size(kStops); ++i) {
    sigaction(kStops[i], nullptr, &before_hold[i]);
    if (before_hold[i].sa_handler != SIG_IGN) sigaction(kStops[i], &stopping, nullptr);   // as under nohup
  }
}

SignalHold::~SignalHold() {
  if (--holds > 0) return;
  for (std::size_t i = 0; i < std::size(kStops); ++i) sigaction(kStops[i], &before_hold[i], nullptr);
  if (stops > 0) raise(last_stop);
}

void stop_on_signals() {
  static const SignalHold* const kept = new SignalHold;   // to the end
  goes_on = kept != nullptr;
}

bool stop_wanted() {
  return stops > 0;
}

Output capture(const std::vector<std::string>& words, int timeout_seconds) {
  const SignalHold hold;
  const sig_atomic_t stops_before = stops;
  Output output;
  int ends[2];
  if (words.empty() || (stops_before > 0 && !goes_on) || !make_pipe(ends)) return output;
  std::vector<char*> arguments = argument_vector(words);
  const pid_t child = fork_group();
  if (child == 0) {
    const int null_fd = open("/dev/null", O_RDONLY);
    if (null_fd > 0) dup2(null_fd, 0);
    if (null_fd > 2) close(null_fd);
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(ends[1]);
  if (child > 0) {
    read_until_end(ends[0], child, timeout_seconds, stops_before, output.text);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    output.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  close(ends[0]);
  return output;
}

namespace {

volatile sig_atomic_t running_child = 0;

// What the terminal sends, as at Ctrl-C and Ctrl-Z, has reached the child as well: most launchers take a second one as a command to end at once.
void pass_on(int signal, siginfo_t* about, void*) {
  const bool of_terminal = signal == SIGINT || signal == SIGQUIT || signal == SIGTSTP || signal == SIGWINCH || signal == SIGHUP;
  if (running_child > 0 && !(of_terminal && about->si_code == SI_KERNEL)) kill(running_child, signal);
  if (signal == SIGTSTP) raise(SIGSTOP);
}

}  // namespace

int code_of_start(int error) {
  return error == ENOENT ? 127 : 126;
}

int run_through(const std::vector<std::string>& words, int& error) {
  std::vector<char*> arguments = argument_vector(words);
  int ends[2];   // closed by a start that succeeds
  if (!make_pipe(ends)) return error = errno, code_of_start(error);
  constexpr int kPassed[] = {SIGINT,  SIGTERM,   SIGHUP,  SIGQUIT, SIGUSR1, SIGUSR2,  SIGALRM,
                             SIGVTALRM, SIGXCPU, SIGPIPE, SIGCONT, SIGTSTP, SIGWINCH, SIGURG};
  struct sigaction passing {}, before[std::size(kPassed)];
  passing.sa_sigaction = pass_on;
  passing.sa_flags = SA_SIGINFO;
  sigset_t passed, unblocked;   // none is lost between the child's start and the handlers
  sigemptyset(&passed);
  for (const int signal : kPassed) sigaddset(&passed, signal);
  sigprocmask(SIG_BLOCK, &passed, &unblocked);
  const pid_t child = fork();
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &unblocked, nullptr);
    execvp(arguments[0], arguments.data());
    const int why = errno;
    _exit(write(ends[1], &why, sizeof why) > 0 ? 127 : 126);
  }
  error = child < 0 ? errno : 0;
  running_child = child;
  if (child > 0)
    for (std::size_t i = 0; i < std::size(kPassed); ++i) sigaction(kPassed[i], &passing, &before[i]);
  sigprocmask(SIG_SETMASK, &unblocked, nullptr);
  close(ends[1]);
  while (child > 0 && read(ends[0], &error, sizeof error) < 0 && errno == EINTR) {
  }
  close(ends[0]);
  if (child < 0) return code_of_start(error);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  running_child = 0;
  for (std::size_t i = 0; i < std::size(kPassed); ++i) sigaction(kPassed[i], &before[i], nullptr);
  if (error != 0) return code_of_start(error);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int become(const std::vector<std::string>& words) {
  std::vector<char*> arguments = argument_vector(words);
  execvp(arguments[0], arguments.data());
  return errno;
}

std::string environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? value : "";
}

namespace {

bool is_program(const std::string& path) {
  struct stat state {};
  return stat(path.c_str(), &state) == 0 && !S_ISDIR(state.st_mode) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string find_on_path(const std::string& command) {
  if (command.find('/') != std::string::npos) return is_program(command) ? command : "";
  const char* const given = std::getenv("PATH");
  const std::string path = given ? given : "/bin:/usr/bin";
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t end = std::min(path.find(':', start), path.size());
    const std::string candidate = (end > start ? path.substr(start, end - start) : ".") + "/" + command;   // an empty part is the working directory
    if (is_program(candidate)) return candidate;
    start = end + 1;
  }
  return "";
}

std::string resolved(const std::string& path) {
  char* real = realpath(path.c_str(), nullptr);
  std::string result = real ? real : "";
  std::free(real);
  return result;
}

std::string why_not_writable(const std::string& path) {
  if (path.empty()) return "";
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  struct stat state {};
  if (stat(folder.c_str(), &state) != 0) return std::strerror(errno);
  if (!S_ISDIR(state.st_mode)) return std::strerror(ENOTDIR);
  const bool stream = slash + 1 != path.size() && stat(path.c_str(), &state) == 0 && !S_ISREG(state.st_mode) && !S_ISDIR(state.st_mode);
  if (!stream && access(folder.c_str(), W_OK) != 0) return std::strerror(errno);   // a file is replaced
  return slash + 1 != path.size() && stat(path.c_str(), &state) == 0 && access(path.c_str(), W_OK) != 0 ? std::strerror(errno) : "";
}

bool is_same_file(const std::string& one, const std::string& other) {
  struct stat first {}, second {};
  return !one.empty() && !other.empty() && stat(one.c_str(), &first) == 0 && stat(other.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

bool discard(const std::string& path) {
  const int error = errno;
  struct stat state {};
  if (stat(path.c_str(), &state) == 0 && S_ISREG(state.st_mode)) unlink(path.c_str());
  errno = error;
  return false;
}

int complain(const char* command, const std::string& about, const std::string& why) {
  std::fprintf(stderr, "mercutio %s: %s: %s\n", command, about.c_str(), why.c_str());
  return 1;
}

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string temporary_directory() {
  const std::string wanted = environment("TMPDIR");
  return wanted.empty() ? "/tmp" : wanted;
}

std::string own_directory() {
  return directory_of(resolved("/proc/self/exe"));
}

}  // namespace mercutio::tool
