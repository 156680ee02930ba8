// Streams that change their keys on the way.
#include "remote/tls.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <vector>

namespace mercutio::remote {
namespace {

int key_updates = 0;   // sent

void count_updates(const SSL* ssl, int where, int) {
  const OSSL_HANDSHAKE_STATE state = SSL_get_state(ssl);
  if ((where & SSL_CB_LOOP) != 0 && (state == TLS_ST_CW_KEY_UPDATE || state == TLS_ST_SW_KEY_UPDATE)) ++key_updates;
}

TEST(Tls, EachSideTakesANewKeyInTime) {
  constexpr i64 kRecordsPerKey = 3, kRecord = 16 * KiB, kRecords = 20;
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const Key key{1, 2, 3};
  const TlsSide sides[] = {TlsSide::kClient, TlsSide::kServer};
  std::unique_ptr<TlsStream> streams[2];
  std::shared_ptr<TlsContext> contexts[2];
  for (int i = 0; i < 2; ++i) {
    contexts[i] = *make_tls(sides[i], key, {}, kRecordsPerKey);
    SSL_CTX_set_info_callback(static_cast<SSL_CTX*>(contexts[i]->native()), count_updates);
    streams[i] = *contexts[i]->wrap(ends[i]);
  }
  for (int done = 0, turns = 0; done != 3 && turns < 100; ++turns)
    for (int i = 0; i < 2; ++i) {
      const auto wants = streams[i]->shake_hands();
      ASSERT_TRUE(wants.ok()) << wants.error().what;
      if (*wants == Wants::kNothing) done |= 1 << i;
    }
  key_updates = 0;
  std::vector<std::byte> told(static_cast<size_t>(kRecords * kRecord));
  for (size_t i = 0; i < told.size(); ++i) told[i] = static_cast<std::byte>(i * 31 >> 3);
  size_t sent[2] = {}, got[2] = {};
  std::vector<std::byte> heard[2] = {std::vector<std::byte>(told.size()), std::vector<std::byte>(told.size())};
  for (int turns = 0; turns < 10'000 && (got[0] < told.size() || got[1] < told.size()); ++turns)
    for (int i = 0; i < 2; ++i) {
      const auto written = streams[i]->write(std::span(told).subspan(sent[i]));
      ASSERT_TRUE(written.ok()) << written.error().what;
      sent[i] += static_cast<size_t>(written->bytes);
      const auto read = streams[i]->read(std::span(heard[i]).subspan(got[i]));
      ASSERT_TRUE(read.ok()) << read.error().what;
      got[i] += static_cast<size_t>(read->bytes);
    }
  EXPECT_TRUE(heard[0] == told && heard[1] == told);
  EXPECT_GE(key_updates, 2 * (kRecords / kRecordsPerKey - 1));
}

}  // namespace
}  // namespace mercutio::remote
