// Options for sockets of remote files: small frames are sent at once, lost data is sent again soon after a link is back, and a dead
// peer is detected.
#pragma once

namespace mercutio::remote {

void set_up(int fd);   // options that the kernel does not support are skipped

}  // namespace mercutio::remote
