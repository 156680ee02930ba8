// What mercutiod, mercutio-route and mercutio-connect have in common.
#pragma once

#include <signal.h>

#include <functional>
#include <vector>

#include "arguments.h"
#include "remote/tls.h"

namespace mercutio::remote {

// ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT; without a port, `port` stays.
Status parse_address(const std::string& text, std::string& address, int& port);
// The same with PORT-PORT as the port: the last of them; 0 without one.
Status parse_ports(const std::string& text, std::string& address, int& port, int& last_port);

Result<std::string> read_line(int fd);
Result<Key> key_from_file(const std::string& path);   // kAccess: others may read it

// Lines of --audit FILE, of standard error without it; nothing where there is none (--detach).
Result<std::function<void(const std::string&)>> audit_log(const Arguments& arguments);

// SIGINT, SIGTERM and SIGHUP, from now on for whoever waits for them; SIGPIPE is ignored.
sigset_t block_ends();

struct MountedHere {
  std::string source, folder;   // mercutio://host/root/path
};
std::vector<MountedHere> mounted_here();   // by 'mercutio mount'

// As many descriptors as the hard limit allows.
void raise_descriptor_limit();

// Closes what its starter had open beyond standard input, output and error, and `kept`: a lock or an unmounted file system would last as long
// as a program in the background.
void close_inherited(int kept = -1);

// Where it is wanted this goes on in a child, and its parent ends when the child leaves the terminal, or fails. What leave_terminal() takes.
Result<int> detach(bool wanted);
void leave_terminal(int ready);                      // the child's, when it is ready
std::string announced(const std::string& address);   // what clients should use: this host's name for a wildcard

}  // namespace mercutio::remote
