// One-time keys, by which another server writes to the file of a copy: what else somebody tries with one.
#include "fixture.h"
#include "rogue.h"

namespace mercutio::remote {
namespace {

class RemoteGrants : public RemoteTest {
 protected:
  void SetUp() override {
    RemoteTest::SetUp();
    owner = session();
    OpenOptions wanted = writing();
    auto opened = open_remote(owner, "data/part", wanted);
    ASSERT_TRUE(opened.ok()) << opened.error().what;
    part.reset(dynamic_cast<RemoteStorage*>(opened->release()));
    ASSERT_TRUE(part->claim().ok());
    std::ofstream(folder + "/other") << "other";
  }
  void TearDown() override {
    part.reset();
    owner.reset();
    RemoteTest::TearDown();
  }
  struct Granted {
    Key key{};
    std::string identity;
  };
  Result<Granted> grant() {
    Buffer message;
    PlainRequest request;
    request.target = part->handle();
    put_message(message, request);
    MERCUTIO_LET(const Reply reply, owner->call(Kind::kGrant, std::move(message)));
    MERCUTIO_LET(const GrantReply granted, get_message<GrantReply>(reply.more));
    Granted result{{}, granted.identity};
    std::memcpy(result.key.data(), granted.key.data(), result.key.size());
    return result;
  }
  static Hello hello(u64 number) {
    Hello said;
    said.session_low = number;
    said.capabilities = kNames | kClaims | kServers;
    return said;
  }
  std::unique_ptr<Rogue> holder(const Granted& granted, u64 number) {
    auto rogue = std::make_unique<Rogue>(server->port(), granted.key, granted.identity);
    EXPECT_TRUE(rogue->let_in);
    rogue->hello(hello(number));
    return rogue;
  }
  static OpenRequest to_write(const std::string& path) {
    OpenRequest request;
    request.path = path;
    request.write = true;
    return request;
  }
  static u64 opened_part(Rogue& rogue, u64 id) {
    rogue.ask(Kind::kOpen, id, to_write("data/part"));
    const Reply reply = rogue.reply_to(id);
    EXPECT_EQ(reply.outcome, 0U) << reply.text;
    const auto opened = get_message<OpenReply>(reply.more);
    return opened ? opened->handle : 0;
  }
  static Reply written(Rogue& rogue, u64 id, u64 handle) {
    const auto data = filled(1'000, 1);
    TransferRequest request;
    request.handle = handle;
    request.end = 1'000;
    rogue.ask(Kind::kWrite, id, request, data);
    return rogue.reply_to(id);
  }
  std::shared_ptr<Session> owner;
  std::unique_ptr<RemoteStorage> part;
};

TEST_F(RemoteGrants, WriteOneFile) {
  const auto rogue = holder(*grant(), 5);
  const u64 handle = opened_part(*rogue, 1);
  EXPECT_EQ(written(*rogue, 2, handle).outcome, 0U);
  PlainRequest close;
  close.target = handle;
  rogue->ask(Kind::kClose, 3, close);
  EXPECT_EQ(rogue->reply_to(3).outcome, 0U);
  EXPECT_EQ(*part->size(), 1'000) << "it is open where it was";
  EXPECT_TRUE(same(content("part"), filled(1'000, 1)));
}

TEST_F(RemoteGrants, AreGoodForNothingElse) {
  const auto rogue = holder(*grant(), 5);
  const u64 handle = opened_part(*rogue, 1);
  u64 id = 1;
  for (const char* path : {"data/other", "data/new", "data/./part", "seen/part", ""}) {
    rogue->ask(Kind::kOpen, ++id, to_write(path));
    EXPECT_EQ(rogue->reply_to(id).sys_errno, EACCES) << path;
  }
  PlainRequest plain;
  plain.target = handle;
  plain.end = 10;
  plain.path = "data/other";
  for (const Kind kind : {Kind::kRemove, Kind::kPreallocate, Kind::kLock, Kind::kUnlock, Kind::kClaim, Kind::kGrant, Kind::kSent, Kind::kUsers}) {
    rogue->ask(kind, ++id, plain);
    EXPECT_EQ(rogue->reply_to(id).sys_errno, EACCES) << kind_name(kind);
  }
  NameRequest names;
  names.path = "data/other";
  names.other = "data/new";
  for (Kind kind = Kind::kStatus; is_about_names(kind) && kind != Kind::kChecksum; kind = static_cast<Kind>(static_cast<int>(kind) + 1)) {
    rogue->ask(kind, ++id, names);
    EXPECT_EQ(rogue->reply_to(id).sys_errno, EACCES) << kind_name(kind);
  }
  SendRequest send;
  send.path = "data/other";
  rogue->ask(Kind::kSend, ++id, send);
  EXPECT_EQ(rogue->reply_to(id).sys_errno, EACCES);
  TransferRequest read;
  read.handle = handle;
  read.end = 10;
  rogue->ask(Kind::kRead, ++id, read);
  EXPECT_EQ(rogue->reply_to(id).sys_errno, EACCES);
  EXPECT_EQ(content("other"), "other");
  EXPECT_FALSE(std::filesystem::exists(folder + "/new"));
  EXPECT_FALSE(server->asked_to_end());
}

TEST_F(RemoteGrants, AreGoodForOneSession) {
  const Granted granted = *grant();
  const auto first = holder(granted, 5);
  EXPECT_NE(opened_part(*first, 1), 0U);
  EXPECT_EQ(holder(granted, 6)->refusal().sys_errno, EKEYREVOKED);
  const auto joined = holder(granted, 5);   // a further stream
  EXPECT_NE(opened_part(*joined, 2), 0U);
}

TEST_F(RemoteGrants, DontJoinOrEndTheSessionOfAnotherKey) {
  Rogue program(server->port(), options.key);
  program.hello(hello(7));
  program.ask(Kind::kSize, 1, PlainRequest{});
  EXPECT_EQ(program.reply_to(1).sys_errno, EBADF);
  const Granted granted = *grant();
  EXPECT_EQ(holder(granted, 7)->refusal().sys_errno, EACCES);
  auto rogue = std::make_unique<Rogue>(server->port(), granted.key, granted.identity);
  Hello replacing = hello(8);
  replacing.replaces_low = 7;
  rogue->hello(replacing);
  EXPECT_NE(opened_part(*rogue, 1), 0U);
  program.ask(Kind::kSize, 2, PlainRequest{});
  EXPECT_EQ(program.reply_to(2).sys_errno, EBADF) << "it goes on";
}

TEST_F(RemoteGrants, AreNoKeyUnderAnotherName) {
  const Granted granted = *grant(), another = *grant();
  EXPECT_FALSE(Rogue(server->port(), granted.key, kOwnIdentity).let_in);
  EXPECT_FALSE(Rogue(server->port(), granted.key, another.identity).let_in);
  EXPECT_FALSE(Rogue(server->port(), options.key, granted.identity).let_in);
  EXPECT_FALSE(Rogue(server->port(), granted.key, "copy-").let_in);
  EXPECT_NE(opened_part(*holder(granted, 5), 1), 0U);
}

TEST_F(RemoteGrants, EndWithTheirFile) {
  const Granted granted = *grant(), unused = *grant();
  const auto rogue = holder(granted, 5);
  const u64 handle = opened_part(*rogue, 1);
  ASSERT_TRUE(part->close().ok());
  EXPECT_NE(written(*rogue, 2, handle).outcome, 0U);
  EXPECT_TRUE(rogue->is_cut());
  EXPECT_FALSE(Rogue(server->port(), granted.key, granted.identity).let_in);
  EXPECT_FALSE(Rogue(server->port(), unused.key, unused.identity).let_in);
}

TEST_F(RemoteGrants, AreForAFileThatIsClaimed) {
  auto other = std::move(*open_remote(owner, "data/other", writing()));
  std::unique_ptr<RemoteStorage> unclaimed(dynamic_cast<RemoteStorage*>(other.release()));
  part.swap(unclaimed);
  EXPECT_FALSE(grant().ok());
}

// One who makes a copy there anew takes the file away from who is gone, and from the server that writes for him.
TEST_F(RemoteGrants, EndWhereAnotherCopyTakesTheFile) {
  Rogue gone(server->port(), options.key);
  gone.hello(hello(7));
  gone.ask(Kind::kOpen, 1, [] {
    OpenRequest request = to_write("data/taken");
    request.create = true;
    return request;
  }());
  PlainRequest about;
  about.target = get_message<OpenReply>(gone.reply_to(1).more)->handle;
  gone.ask(Kind::kClaim, 2, about);
  EXPECT_EQ(gone.reply_to(2).outcome, 0U);
  gone.ask(Kind::kGrant, 3, about);
  const GrantReply reply = *get_message<GrantReply>(gone.reply_to(3).more);
  Granted granted{{}, reply.identity};
  std::memcpy(granted.key.data(), reply.key.data(), granted.key.size());
  const auto writer = holder(granted, 5);
  writer->ask(Kind::kOpen, 1, to_write("data/taken"));
  const u64 handle = get_message<OpenReply>(writer->reply_to(1).more)->handle;
  auto again = std::move(*open_remote(owner, "data/taken", writing()));
  auto& claimed = dynamic_cast<RemoteStorage&>(*again);
  EXPECT_EQ(claimed.claim().error().sys_errno, EBUSY);
  gone.channel->cut();
  for (int i = 0; i < 2'000 && !claimed.claim(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(claimed.claim().ok());
  EXPECT_NE(written(*writer, 2, handle).outcome, 0U);
}

class RemoteShortGrants : public RemoteGrants {
 protected:
  RemoteShortGrants() { options.grant_ms = 700; }
};

TEST_F(RemoteShortGrants, AreOverWhenNobodyUsesThem) {
  const Granted late = *grant();
  std::this_thread::sleep_for(std::chrono::milliseconds(1'400));
  EXPECT_FALSE(Rogue(server->port(), late.key, late.identity).let_in);
  std::unique_ptr<Rogue> rogue;
  for (u64 tries = 0; !rogue && tries < 50; ++tries) {   // a busy machine may take longer than an unused key is valid
    const Granted granted = *grant();
    rogue = std::make_unique<Rogue>(server->port(), granted.key, granted.identity);
    if (rogue->let_in) rogue->hello(hello(5 + tries));
    if (!rogue->let_in || rogue->refusal().outcome != 0) rogue.reset();
  }
  ASSERT_TRUE(rogue);
  EXPECT_NE(opened_part(*rogue, 1), 0U);
  std::this_thread::sleep_for(std::chrono::milliseconds(1'400));
  EXPECT_EQ(rogue->channel->receive(*std::make_unique<Frame>(), 0, 1).error().sys_errno, ETIMEDOUT) << "one that is used goes on";
}

}  // namespace
}  // namespace mercutio::remote
