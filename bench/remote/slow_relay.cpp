// A link with a round trip and a rate as a program, for what isn't in this process: prints its port and goes on until it is ended.
//   slow_relay TARGET_PORT [round trip in ms (40)] [MB/s, 0: as fast as it can (0)] [target's address (127.0.0.1)] [its own address (127.0.0.1)]
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "slow_link.h"

int main(int argc, char** argv) {
  const auto number = [&](int at, mercutio::i64 otherwise) { return argc > at ? std::atoll(argv[at]) : otherwise; };
  const auto text = [&](int at) { return argc > at ? argv[at] : "127.0.0.1"; };
  mercutio::remote::SlowLink link;
  link.set(number(2, 40), number(3, 0));
  const auto port = link.leads_to(text(5), {text(4), static_cast<int>(number(1, 0))});
  if (!port) return std::fprintf(stderr, "slow_relay: %s\n", port.error().what.c_str()), 1;
  std::printf("relay %d\n", *port);
  std::fflush(stdout);
  for (;;) ::pause();
}
