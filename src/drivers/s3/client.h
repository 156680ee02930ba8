// Requests to the store: signed, made again where that may help, and turned into a Failure where it doesn't. What is said of a request
// names its object and what the store answered, never a header, so that no secret gets into a message.
//
// Cost: connections are kept, as many as there were requests at once.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "settings.h"

namespace mercutio_s3 {

struct Call {
  std::string method;
  Place at;
  Query query = {};
  std::map<std::string, std::string> headers = {};
  std::string_view body = {};
  std::span<char> into = {};   // for the body of a good answer; otherwise it is in `body` of the answer
};

struct Answer {
  long status = 0;
  std::map<std::string, std::string> headers;   // by their names in lower case
  std::string body;
  i64 received = 0;    // bytes of the body, also those in Call::into
  i64 attempts = 1;    // each may have been done
  bool good() const { return status >= 200 && status < 300; }
  std::string header(const std::string& name) const { return headers.contains(name) ? headers.at(name) : ""; }
  std::string code() const;   // S3's word for an error
};

class Client {
 public:
  explicit Client(Settings settings);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const Settings& settings() const { return settings_; }
  std::string region() const;
  void use_region(const std::string& region);

  // A good answer, or a Failure.
  Answer run(const Call& call);
  // Also an answer that isn't good, where another attempt wouldn't help.
  Answer ask(const Call& call);
  [[noreturn]] static void fail(const Call& call, const Answer& answer);
  // Whether the store answers. If it has not answered a request, each of the next ones has one attempt, until it answers again.
  bool answers() const;

 private:
  class Connection;
  struct Attempt {
    Answer answer;
    int error = 0;          // of curl
    std::string text = {};  // what went wrong there
    i64 sent = 0;           // how often: curl sends once more by itself where a kept connection breaks before the answer
  };
  Attempt once(const Call& call);
  Attempt move(Connection& connection, const Call& call);
  void note_answer(bool answered);
  bool follow(const Answer& answer);   // to the region that the store names
  void take_time(const Answer& answer);

  const Settings settings_;
  mutable std::mutex mutex_;   // guards what follows
  std::string region_;
  i64 clock_offset_ = 0;       // of the store's clock, seconds
  bool answers_ = true;
  std::vector<std::unique_ptr<Connection>> idle_;
  long process_;               // a child can't use its parent's connections
};

}  // namespace mercutio_s3
