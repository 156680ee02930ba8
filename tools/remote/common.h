// What mercutiod, mercutio-route and mercutio-connect have in common.
#pragma once

#include <functional>

#include "arguments.h"
#include "remote/tls.h"

namespace mercutio::remote {

// ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT; without a port, `port` stays.
Status parse_address(const std::string& text, std::string& address, int& port);

Result<std::string> read_line(int fd);
Result<Key> key_from_file(const std::string& path);   // kAccess: others may read it

// Lines of --audit FILE, of standard error without it; nothing where there is none (--detach).
Result<std::function<void(const std::string&)>> audit_log(const Arguments& arguments);

void leave_terminal();                 // the background, after --detach
std::string announced(const std::string& address);   // what clients should use: this host's name for a wildcard

}  // namespace mercutio::remote
