// The parts of the S3 driver that need no store. The signatures are Amazon's published examples for S3.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <list>
#include <map>
#include <random>
#include <thread>

#include "base/ranges.h"
#include "grid.h"
#include "jobs.h"
#include "reader.h"
#include "settings.h"
#include "sign.h"
#include "xml.h"

namespace mercutio_s3 {
namespace {

const Credentials kExample{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};

std::string signature_of(Request request) {
  request.host = "examplebucket.s3.amazonaws.com";
  sign(request, kExample, "us-east-1", "20130524T000000Z");
  const std::string& all = request.headers["authorization"];
  return all.substr(all.find("Signature=") + 10);
}

TEST(S3Signature, IsAmazonsInItsExamples) {
  EXPECT_EQ(signature_of({.method = "GET", .path = "/test.txt", .headers = {{"range", "bytes=0-9"}}}), "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  const std::map<std::string, std::string> headers = {{"date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}};
  EXPECT_EQ(signature_of({.method = "PUT", .path = "/" + encoded("test$file.text", true), .headers = headers, .body = "Welcome to Amazon S3."}),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
  EXPECT_EQ(signature_of({.method = "GET", .path = "/", .query = {{"lifecycle", ""}}}), "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  EXPECT_EQ(signature_of({.method = "GET", .path = "/", .query = {{"prefix", "J"}, {"max-keys", "2"}}}), "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(S3Signature, HasTheTokenOfASession) {
  Request request{.method = "GET", .host = "h", .path = "/"};
  Credentials credentials = kExample;
  credentials.session_token = "token/of+session=";
  sign(request, credentials, "eu-central-1", "20130524T000000Z");
  EXPECT_EQ(request.headers["x-amz-security-token"], "token/of+session=");
  EXPECT_NE(request.headers["authorization"].find("SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,"), std::string::npos);
  EXPECT_EQ(request.headers["authorization"].find(kExample.secret_key), std::string::npos);
}

TEST(S3Signature, EncodesAndHashes) {
  EXPECT_EQ(encoded("a b/c+d\xc3\xa9~", true), "a%20b/c%2Bd%C3%A9~");
  EXPECT_EQ(encoded("a/b", false), "a%2Fb");
  EXPECT_EQ(query_string({{"uploadId", "x=/"}, {"partNumber", "2"}}), "partNumber=2&uploadId=x%3D%2F");
  EXPECT_EQ(decoded("a%20b%2fc%2Bd%C3%A9~"), "a b/c+d\xc3\xa9~");
  EXPECT_EQ(decoded("a+b%"), "a b%");
  EXPECT_EQ(decoded("%0g%+1%-1%4"), "%0g% 1%-1%4");
  for (int c = 1; c < 256; ++c) EXPECT_EQ(decoded(encoded(std::string(2, static_cast<char>(c)), false)), std::string(2, static_cast<char>(c)));
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(md5_base64("hello"), "XUFAKrxLKna5cZ2REBfFkg==");
}

// As Amazon computes it: the MD5 of the parts' MD5s in binary, and how many there are.
TEST(S3Signature, KnowsTheEtagOfParts) {
  const std::string hello = "\"5d41402abc4b2a76b9719d911017c592\"", world = "7d793037a0760186574b0282f2f435e7";
  EXPECT_EQ(etag_of_parts({hello}), "62109206880d38a4010a98e11243924a-1");
  EXPECT_EQ(etag_of_parts({hello, world}), "065947336a2f2a95ba8899f3675c3be6-2");
  EXPECT_NE(etag_of_parts({hello, world}), etag_of_parts({world, hello}));
  EXPECT_EQ(etag_of_parts({hello, "5d41402abc4b2a76b9719d911017c59"}), "");
  EXPECT_EQ(etag_of_parts({"zd41402abc4b2a76b9719d911017c592"}), "");
  EXPECT_EQ(etag_of_parts({"\"5d41402abc4b2a76b9719d911017c592-2\""}), "");
  EXPECT_EQ(etag_of_parts({hello, ""}), "");
}

class S3Settings : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "s3." + std::to_string(::getpid());
    ASSERT_EQ(std::system(("mkdir -p " + folder_ + "/.aws").c_str()), 0);
    values_["HOME"] = folder_;
  }
  void TearDown() override { (void)std::system(("rm -rf " + folder_).c_str()); }
  void file(const std::string& name, const std::string& text) { std::ofstream(folder_ + "/.aws/" + name) << text; }
  Settings settings() {
    return settings_from([this](const char* name) { return values_.contains(name) ? values_[name] : std::string(); });
  }
  int error() {
    try {
      (void)settings();
      return 0;
    } catch (const Failure& failure) {
      return failure.code();
    }
  }
  std::map<std::string, std::string> values_;
  std::string folder_;
};

TEST_F(S3Settings, AreThoseOfTheEnvironmentFirst) {
  file("credentials", "[default]\naws_access_key_id = F\naws_secret_access_key=G=/\n\n[other]\naws_access_key_id=O\naws_secret_access_key=P\naws_session_token=T\n");
  file("config", "# a comment\n[default]\nregion = eu-west-1\ns3 =\n  region = nested\n[profile other]\nregion=ap-south-1\nendpoint_url = https://other.example/\n");
  EXPECT_EQ(settings().credentials.access_key, "F");
  EXPECT_EQ(settings().credentials.secret_key, "G=/");
  EXPECT_EQ(settings().region, "eu-west-1");
  values_["AWS_PROFILE"] = "other";
  EXPECT_EQ(settings().credentials.session_token, "T");
  EXPECT_EQ(settings().region, "ap-south-1");
  EXPECT_EQ(settings().endpoint, "https://other.example");
  values_["AWS_ACCESS_KEY_ID"] = "E";
  values_["AWS_SECRET_ACCESS_KEY"] = "S";
  values_["AWS_DEFAULT_REGION"] = "us-west-2";
  values_["AWS_ENDPOINT_URL"] = "http://127.0.0.1:9000";
  EXPECT_EQ(settings().credentials.access_key, "E");
  EXPECT_EQ(settings().credentials.session_token, "") << "of other keys";
  EXPECT_EQ(settings().region, "us-west-2");
  EXPECT_EQ(settings().endpoint, "http://127.0.0.1:9000");
}

TEST_F(S3Settings, MayBeNone) {
  EXPECT_TRUE(settings().credentials.anonymous());
  EXPECT_EQ(settings().region, "us-east-1");
}

TEST_F(S3Settings, ThatCannotBeAreErrors) {
  values_["AWS_PROFILE"] = "missing";
  EXPECT_EQ(error(), EACCES);
  values_.erase("AWS_PROFILE");
  for (const char* endpoint : {"ftp://h", "h:9000", "https://", "https://user:secret@h", "http://h/?x", "http://h\nx: y"}) {
    values_["AWS_ENDPOINT_URL"] = endpoint;
    EXPECT_EQ(error(), EINVAL) << endpoint;
  }
  values_["AWS_ENDPOINT_URL"] = "";
  for (const char* number : {"0", "-1", "x", "99999999999"}) {
    values_["AWS_MAX_ATTEMPTS"] = number;
    EXPECT_EQ(error(), EINVAL) << number;
  }
}

TEST(S3Names, AreABucketAndAKey) {
  EXPECT_EQ(place_of("bucket/a/b").bucket, "bucket");
  EXPECT_EQ(place_of("bucket/a/b").key, "a/b");
  EXPECT_EQ(place_of("bucket//a").key, "/a");
  const auto code = [](const std::string& name) {
    try {
      (void)place_of(name);
      return 0;
    } catch (const Failure& failure) {
      return failure.code();
    }
  };
  for (const char* name : {"", "bucket", "/key", "buc ket/key", "b@host/key"}) EXPECT_EQ(code(name), EINVAL) << name;
  EXPECT_EQ(code("bucket/folder/"), EISDIR);
  EXPECT_EQ(code("b/" + std::string(1025, 'k')), ENAMETOOLONG);
}

TEST(S3Names, HaveAHostOrAPathOfTheirOwn) {
  Settings settings;
  const auto text = [&](const std::string& bucket) {
    const Address address = address_of(settings, "eu-west-1", bucket, "a b");
    return address.scheme + "://" + address.host + address.path;
  };
  EXPECT_EQ(text("bucket"), "https://bucket.s3.eu-west-1.amazonaws.com/a%20b");
  EXPECT_EQ(text("my.bucket"), "https://s3.eu-west-1.amazonaws.com/my.bucket/a%20b");
  settings.endpoint = "http://localhost:9000";
  EXPECT_EQ(text("bucket"), "http://localhost:9000/bucket/a%20b");
  settings.endpoint = "https://gate.example/s3";
  EXPECT_EQ(text("bucket"), "https://gate.example/s3/bucket/a%20b");
}

TEST(S3Xml, IsReadAsFarAsItIsNeeded) {
  const std::string list =
      "<?xml version=\"1.0\"?><L xmlns=\"u\"><Part><PartNumber>1</PartNumber><ETag>&quot;a&amp;b&quot;</ETag></Part><PartX/><Part><PartNumber>2</PartNumber></Part></L>";
  ASSERT_EQ(elements(list, "Part").size(), 2U);
  EXPECT_EQ(text_of(elements(list, "Part")[0], "ETag"), "\"a&b\"");
  EXPECT_EQ(text_of(elements(list, "Part")[1], "PartNumber"), "2");
  EXPECT_EQ(text_of(list, "Code"), "");
  EXPECT_EQ(text_of("<L><a x='y'>t</a></L>", "a"), "t");
  EXPECT_EQ(escaped("\"<a&"), "&quot;&lt;a&amp;");
}

TEST(S3Xml, MayReferToCharacters) {
  const auto text = [](const std::string& written) { return text_of("<Key>" + written + "</Key>", "Key"); };
  EXPECT_EQ(text("a&#x9;b&#38;c&#13;&#xd;&#34;&#39;"), "a\tb&c\r\r\"'");
  EXPECT_EQ(text("&#233;&#xE9;&#x7ff;&#x20ac;&#x1F600;&#x10ffff;"), "\u00e9\u00e9\u07ff\u20ac\U0001F600\U0010ffff");
  EXPECT_EQ(text("&amp;#9;&amp;amp;"), "&#9;&amp;") << "each once";
  for (const char* none : {"&", "&;", "&#;", "&#x;", "&#9", "&#9 ;", "&#-9;", "&#x-9;", "&#0;", "&#xd800;", "&#x110000;", "&#99999999999999999999;", "&nothing;"}) EXPECT_EQ(text(none), none);
}

// Whatever comes: no crash, no hang.
TEST(S3Xml, MayBeAnything) {
  std::mt19937 random(1);
  static constexpr std::string_view kPieces[] = {"<", ">", "</", "Part", "<Part>", "</Part>", "&quot;", "&#9;", "&#", ";", "&", " ", "x", "<Part", "/>"};
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (size_t n = random() % 12; n > 0; --n) text += kPieces[random() % std::size(kPieces)];
    for (const std::string_view part : elements(text, "Part")) EXPECT_LE(part.size(), text.size());
    (void)text_of(text, "Part");
  }
}

TEST(S3Grid, CoversTheLargestObjectsWithGoodParts) {
  const Grid growing;
  EXPECT_GE(growing.most_bytes(), 5 * 1024 * GiB);
  for (const Grid& grid : {Grid(), Grid(5 * MiB), Grid(100 * MiB + 1), Grid(1)}) {
    for (i64 part = 0; part < Grid::kMostParts; ++part) {
      ASSERT_EQ(grid.end(part), part + 1 < Grid::kMostParts ? grid.begin(part + 1) : grid.most_bytes());
      ASSERT_GE(grid.end(part) - grid.begin(part), Grid::kSmallest);
      ASSERT_LE(grid.end(part) - grid.begin(part), Grid::kLargest);
      ASSERT_EQ(grid.part_of(grid.begin(part)), part);
      ASSERT_EQ(grid.part_of(grid.end(part) - 1), part);
    }
  }
}

struct At {
  int kind = 0;
  i64 at = 0;
  bool operator==(const At&) const = default;
  At moved(i64 by) const { return {kind, at + by}; }
};

TEST(S3Ranges, AreWhatWasPutLast) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    mercutio::Ranges<At> ranges;
    std::vector<At> oracle(200, At{-1, 0});
    for (int step = 0; step < 40; ++step) {
      const i64 begin = random() % 200, end = begin + random() % (201 - static_cast<unsigned>(begin));
      const int kind = static_cast<int>(random() % 3);
      const bool erased = random() % 4 == 0;
      if (erased) ranges.erase(begin, end);
      else ranges.put(begin, end, At{kind, 1000 * kind + begin});
      EXPECT_TRUE(erased || ranges.covers(begin, end));
      for (i64 i = begin; i < end; ++i) oracle[static_cast<size_t>(i)] = erased ? At{-1, 0} : At{kind, 1000 * kind + i};
      i64 known = 0, last = 0;
      ranges.visit(0, 200, [&](i64 from, i64 to, const At& at) {
        EXPECT_GE(from, last);
        EXPECT_LT(from, to);
        for (i64 i = from; i < to; ++i) EXPECT_EQ(oracle[static_cast<size_t>(i)], at.moved(i - from));
        known += to - from;
        last = to;
      });
      EXPECT_EQ(known, ranges.bytes());
      EXPECT_EQ(known, std::count_if(oracle.begin(), oracle.end(), [](const At& at) { return at.kind >= 0; }));
      EXPECT_EQ(ranges.end(), last);
    }
  }
}

// A sync in another thread may have found the object deleted, after the reader has asked for its size.
TEST(S3Reader, TellsThatTheObjectIsNoLongerThere) {
  Client client(Settings{});
  const Store store(client, "bucket");
  Reader reader(store, "key");
  std::vector<char> into(10);
  for (const Object& now : {Object{}, Object{true, 9, "\"etag\""}}) {
    reader.know(now);
    try {
      reader.read(0, into);
      FAIL() << "there are no such bytes";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ESTALE) << failure.what();
    }
  }
}

// Each request comes by a connection and a thread of its own.
class StoreStandIn {
 public:
  explicit StoreStandIn(std::function<std::string(const std::string& request)> answer)
      : answer_(std::move(answer)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    socklen_t bytes = sizeof at;
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)::bind(listener_, reinterpret_cast<sockaddr*>(&at), sizeof at);
    (void)::listen(listener_, 16);
    (void)::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &bytes);
    settings_.endpoint = "http://127.0.0.1:" + std::to_string(ntohs(at.sin_port));
    settings_.attempts = 1;
    accepting_ = std::thread([this] {
      for (int fd = ::accept(listener_, nullptr, nullptr); fd >= 0; fd = ::accept(listener_, nullptr, nullptr)) threads_.emplace_back([this, fd] { serve(fd); });
    });
  }
  ~StoreStandIn() {
    (void)::shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    for (std::thread& thread : threads_) thread.join();
    ::close(listener_);
  }
  const Settings& settings() const { return settings_; }

 private:
  void serve(int fd) const {
    std::string request, answer;
    char part[4096];
    for (ssize_t got = 1; got > 0 && request.find("\r\n\r\n") == std::string::npos; request.append(part, static_cast<size_t>(std::max<ssize_t>(got, 0)))) got = ::recv(fd, part, sizeof part, 0);
    answer = answer_(request);
    for (size_t sent = 0; sent < answer.size();) {
      const ssize_t count = ::send(fd, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) break;
      sent += static_cast<size_t>(count);
    }
    ::close(fd);
  }
  const std::function<std::string(const std::string&)> answer_;
  const int listener_;
  Settings settings_;
  std::list<std::thread> threads_;
  std::thread accepting_;
};

// While a thread reads the old object, others learn of a new one and read that.
TEST(S3Reader, NeverMixesTwoObjects) {
  const Object old{true, 3 * MiB, "\"old\""}, other{true, 3 * MiB, "\"new\""};
  Reader* reader = nullptr;
  std::atomic<bool> replaced{false};
  const StoreStandIn there([&](const std::string& request) -> std::string {
    const bool of_old = request.find("if-match: \"old\"") != std::string::npos;
    long long begin = 0, end = 0;
    if (of_old == replaced || std::sscanf(request.c_str() + request.find("bytes="), "bytes=%lld-%lld", &begin, &end) != 2)
      return "HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    if (of_old) {
      replaced = true;
      std::vector<char> some(10);
      reader->know(other);
      reader->read(Reader::kBlock, some);
      EXPECT_EQ(some, std::vector<char>(10, 'n'));
    }
    const std::string body(static_cast<size_t>(end - begin + 1), of_old ? 'o' : 'n');
    return "HTTP/1.1 206 Partial Content\r\nContent-Length: " + std::to_string(body.size()) + "\r\nContent-Range: bytes " + std::to_string(begin) + "-" +
           std::to_string(end) + "/3145728\r\nConnection: close\r\n\r\n" + body;
  });
  Client client(there.settings());
  const Store store(client, "bucket");
  Reader reads(store, "key");
  reader = &reads;
  reads.know(old);
  std::vector<char> into(2000);
  try {
    reads.read(Reader::kBlock - 1000, into);
    FAIL() << "of both objects: " << into.front() << into.back();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ESTALE) << failure.what();
  }
  reads.read(Reader::kBlock - 1000, into);
  EXPECT_EQ(into, std::vector<char>(2000, 'n'));
}

TEST(S3Jobs, TellOfAFailure) {
  Jobs jobs(3);
  std::atomic<int> done{0};
  for (int i = 0; i < 20; ++i)
    jobs.start([&, i] {
      if (i == 7) throw Failure(EIO, "seven");
      ++done;
    });
  EXPECT_THROW(jobs.wait(), Failure);
  EXPECT_EQ(done.load(), 19);
}

}  // namespace
}  // namespace mercutio_s3
