// Starting other programs, and what the tool needs to know about files around it.
#pragma once

#include <string>
#include <vector>

namespace mercutio::tool {

struct Output {
  int exit_code = 127;  // 128 + signal when killed, 127 when it could not be started
  std::string text;     // stdout and stderr
};

// While there is one, INT, TERM and HUP end what capture() runs, and it starts nothing more; this process gets the signal when the last one
// goes. Made before what has to be removed at the end.
class SignalHold {
 public:
  SignalHold();
  ~SignalHold();
  SignalHold(const SignalHold&) = delete;
  SignalHold& operator=(const SignalHold&) = delete;
};

// From now on these signals end what capture() runs, and nothing else: the command looks at stop_wanted().
void stop_on_signals();
bool stop_wanted();

// Runs `words` without a shell, with what it prints collected; killed after `timeout_seconds`.
Output capture(const std::vector<std::string>& words, int timeout_seconds);

// Runs `words` with this process's own input and output, and waits: its exit code as above, or 126 and 127 as a shell's with `error` an errno
// if it could not be started. Signals that jobs are told by are passed on.
int run_through(const std::vector<std::string>& words, int& error);

int code_of_start(int error);   // 127: there is no such program; 126: it can't be run

// Becomes `words`. Returns only on failure: the errno.
int become(const std::vector<std::string>& words);

// Says on stderr why a command of ours fails: "mercutio COMMAND: ABOUT: WHY". 1, its exit code then.
int complain(const char* command, const std::string& about, const std::string& why);

// The full path of a command as the shell would find it; empty when there is none.
std::string find_on_path(const std::string& command);

// Why no file of this name can be written, as far as this node knows; empty: it can be.
std::string why_not_writable(const std::string& path);

// Whether both names are there and are one file.
bool is_same_file(const std::string& one, const std::string& other);

// After a failed write: removes what there is of the file, unless it is a device or the like. False.
bool discard(const std::string& path);

std::string base_name(const std::string& path);      // behind the last slash
std::string directory_of(const std::string& path);   // before it; "." without one
std::string own_directory();                       // where this executable lies, links resolved
std::string resolved(const std::string& path);     // empty when it does not exist
std::string temporary_directory();                 // TMPDIR, or else /tmp
std::string environment(const std::string& name);  // empty when unset

}  // namespace mercutio::tool
