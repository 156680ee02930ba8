// How connections of remote files are set up: a small frame goes at once, what a broken link has lost is sent again soon after the
// link is back, and who is gone without a word is noticed.
#pragma once

namespace mercutio::remote {

void set_up(int fd);   // what the kernel can't do is left out

}  // namespace mercutio::remote
