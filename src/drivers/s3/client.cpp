#include "client.h"

#include <curl/curl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <random>
#include <thread>

#include "xml.h"

namespace mercutio_s3 {
namespace {

constexpr i64 kMostErrorBytes = 16 * MiB;   // lists of parts and of objects are far below
constexpr double kFirstPause = 0.1, kLongestPause = 20, kLongestWish = 120;   // seconds

std::string object_name(const Call& call) { return "s3://" + call.at.bucket + "/" + call.at.key; }

struct Meaning {
  const char* code;
  int error;
  const char* advice;
};
constexpr Meaning kMeanings[] = {
    {"NoSuchBucket", ENOENT, "the bucket doesn't exist there"},
    {"InvalidAccessKeyId", EACCES, "the store doesn't know AWS_ACCESS_KEY_ID"},
    {"SignatureDoesNotMatch", EACCES, "AWS_SECRET_ACCESS_KEY isn't that of AWS_ACCESS_KEY_ID, or a proxy changes requests"},
    {"ExpiredToken", EACCES, "AWS_SESSION_TOKEN has expired"},
    {"RequestTimeTooSkewed", EACCES, "this machine's clock is wrong"},
    {"AccessDenied", EACCES, "these credentials don't permit it"},
    {"AllAccessDisabled", EACCES, ""},
    {"AuthorizationHeaderMalformed", EACCES, "AWS_REGION may not be the bucket's"},
    {"PermanentRedirect", EINVAL, "AWS_REGION or AWS_ENDPOINT_URL isn't the bucket's"},
    {"NoSuchUpload", ECANCELED, "the upload was ended by somebody else, by a rule of the bucket's life cycle for instance"},
    {"EntityTooLarge", EFBIG, ""},
    {"QuotaExceeded", EDQUOT, ""},
    {"XMinioStorageFull", ENOSPC, ""},
    {"InvalidObjectState", EACCES, "the object is in an archive: restore it first"},
    {"BadDigest", EIO, "data was damaged on its way"},
    {"XAmzContentSHA256Mismatch", EIO, "data was damaged on its way"},
    {"NotImplemented", EOPNOTSUPP, ""},
    {"ConditionalRequestConflict", ESTALE, "somebody else replaces the object at the same time"},
};

Meaning meaning_of(const Answer& answer) {
  const std::string code = answer.code();
  for (const Meaning& meaning : kMeanings)
    if (code == meaning.code) return meaning;
  switch (answer.status) {
    case 401:
    case 403: return {"", EACCES, "these credentials don't permit it"};
    case 404: return {"", ENOENT, ""};
    case 412: return {"", ESTALE, "somebody else has replaced the object meanwhile"};
    case 416: return {"", ESTALE, "the object has become shorter"};
    case 507: return {"", ENOSPC, ""};
    case 503: return {"", EBUSY, "the store is busy"};
    default: return {"", EIO, ""};
  }
}

bool is_temporary(const Answer& answer) {
  static constexpr const char* kCodes[] = {"RequestTimeout", "SlowDown",   "InternalError",       "ServiceUnavailable",
                                           "OperationAborted", "Throttling", "ThrottlingException", "RequestTimeTooSkewed"};
  const std::string code = answer.code();
  const bool named = std::any_of(std::begin(kCodes), std::end(kCodes), [&](const char* known) { return code == known; });
  return named || answer.status == 500 || answer.status == 502 || answer.status == 503 || answer.status == 504 || answer.status == 429 || answer.status == 408;
}

int errno_of(int code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST: return EHOSTUNREACH;
    case CURLE_COULDNT_CONNECT: return ECONNREFUSED;
    case CURLE_OPERATION_TIMEDOUT: return ETIMEDOUT;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE: return EPROTO;
    case CURLE_OUT_OF_MEMORY: return ENOMEM;
    default: return EIO;
  }
}

bool is_final(int code) {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE || code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT ||
         code == CURLE_OUT_OF_MEMORY || code == CURLE_WRITE_ERROR;
}

// Longer each time, and not the same for all ranks; as long as the store asks for.
void pause(i64 attempt, const std::string& wish) {
  thread_local std::minstd_rand random(std::random_device{}());
  const double most = std::min(kLongestPause, kFirstPause * static_cast<double>(i64{1} << std::min<i64>(attempt, 16)));
  double seconds = std::uniform_real_distribution<double>(most / 2, most)(random);
  if (!wish.empty() && wish.size() < 6 && std::all_of(wish.begin(), wish.end(), [](char c) { return c >= '0' && c <= '9'; }))
    seconds = std::max(seconds, std::min(kLongestWish, std::stod(wish)));
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

std::string time_text(std::time_t now) {
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts);
  return text;
}

int count_request(void* sent, char*, char*, int, int) {
  ++*static_cast<i64*>(sent);
  return CURL_PREREQFUNC_OK;
}

size_t take_header(char* data, size_t one, size_t bytes, void* to) {
  Answer& answer = *static_cast<Answer*>(to);
  const std::string_view line(data, one * bytes);
  if (line.starts_with("HTTP/")) answer.headers.clear();   // that of "100 Continue" came before
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return line.size();
  std::string name(line.substr(0, colon));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const size_t begin = line.find_first_not_of(" \t", colon + 1), end = line.find_last_not_of(" \t\r\n");
  answer.headers[name] = begin == std::string_view::npos || end < begin ? "" : std::string(line.substr(begin, end - begin + 1));
  return line.size();
}

}  // namespace

std::string Answer::code() const { return text_of(body, "Code"); }

class Client::Connection {
 public:
  Connection() : handle_(curl_easy_init()) {
    if (!handle_) throw std::bad_alloc();
  }
  ~Connection() { curl_easy_cleanup(handle_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  CURL* handle() const { return handle_; }

  // Where the body of the answer goes.
  const Call* call = nullptr;
  Answer* answer = nullptr;
  static size_t take_body(char* data, size_t one, size_t bytes, void* to) {
    const Connection& self = *static_cast<Connection*>(to);
    const size_t count = one * bytes;
    long status = 0;
    curl_easy_getinfo(self.handle_, CURLINFO_RESPONSE_CODE, &status);
    Answer& answer = *self.answer;
    const std::span<char> into = self.call->into;
    if (status >= 200 && status < 300 && !into.empty()) {
      if (count > into.size() - static_cast<size_t>(answer.received)) return 0;   // more than was asked for
      std::memcpy(into.data() + answer.received, data, count);
    } else {
      if (answer.received + static_cast<i64>(count) > kMostErrorBytes) return 0;
      answer.body.append(data, count);
    }
    answer.received += static_cast<i64>(count);
    return count;
  }

 private:
  CURL* const handle_;
};

Client::Client(Settings settings) : settings_(std::move(settings)), region_(settings_.region), process_(::getpid()) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

Client::~Client() {
  if (process_ == ::getpid()) return;
  for (auto& connection : idle_) (void)connection.release();   // the parent's
}

std::string Client::region() const {
  std::lock_guard lock(mutex_);
  return region_;
}
bool Client::answers() const {
  std::lock_guard lock(mutex_);
  return answers_;
}
void Client::note_answer(bool answered) {
  std::lock_guard lock(mutex_);
  answers_ = answered;
}
void Client::use_region(const std::string& region) {
  std::lock_guard lock(mutex_);
  region_ = region;
}

Client::Attempt Client::move(Connection& connection, const Call& call) {
  Attempt attempt;
  const Address address = address_of(settings_, region(), call.at.bucket, call.at.key);
  Request request{call.method, address.host, address.path, call.query, call.headers, call.body};
  std::time_t now = std::time(nullptr);
  {
    std::lock_guard lock(mutex_);
    now += clock_offset_;
  }
  if (!settings_.credentials.anonymous()) sign(request, settings_.credentials, region(), time_text(now));
  const std::string query = query_string(call.query), url = address.scheme + "://" + address.host + address.path + (query.empty() ? "" : "?" + query);
  curl_slist* list = curl_slist_append(nullptr, "Expect:");
  list = curl_slist_append(list, "Content-Type: application/octet-stream");
  for (const auto& [name, value] : request.headers) list = curl_slist_append(list, (name + ": " + value).c_str());
  connection.call = &call;
  connection.answer = &attempt.answer;
  char text[CURL_ERROR_SIZE] = "";
  CURL* const handle = connection.handle();
  curl_easy_reset(handle);   // the connection stays
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, call.method.c_str());
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, list);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, text);
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, static_cast<long>(std::min<i64>(10, settings_.timeout_seconds)));
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, static_cast<long>(settings_.timeout_seconds));
  curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, count_request);
  curl_easy_setopt(handle, CURLOPT_PREREQDATA, &attempt.sent);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, &attempt.answer);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &Connection::take_body);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &connection);
  if (!settings_.ca_bundle.empty()) curl_easy_setopt(handle, CURLOPT_CAINFO, settings_.ca_bundle.c_str());
  if (call.method == "HEAD") curl_easy_setopt(handle, CURLOPT_NOBODY, 1L);
  if (call.method == "PUT" || call.method == "POST") {
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, call.body.empty() ? "" : call.body.data());
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(call.body.size()));
  }
  const CURLcode code = curl_easy_perform(handle);
  curl_slist_free_all(list);
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &attempt.answer.status);
  attempt.error = code;
  if (code != CURLE_OK) attempt.text = std::string(*text ? text : curl_easy_strerror(code)) + " (" + address.host + ")";
  return attempt;
}

Client::Attempt Client::once(const Call& call) {
  std::unique_ptr<Connection> connection;
  {
    std::lock_guard lock(mutex_);
    if (process_ != ::getpid()) {
      for (auto& idle : idle_) (void)idle.release();
      idle_.clear();
      process_ = ::getpid();
    }
    if (!idle_.empty()) {
      connection = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!connection) connection = std::make_unique<Connection>();
  Attempt attempt = move(*connection, call);
  if (attempt.error == CURLE_OK) {
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(connection));
  }
  return attempt;
}

bool Client::follow(const Answer& answer) {
  if (answer.status != 301 && answer.status != 307 && answer.status != 400 && answer.status != 403) return false;
  std::string wanted = answer.header("x-amz-bucket-region");
  if (wanted.empty()) wanted = text_of(answer.body, "Region");
  const auto good = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  const bool name = !wanted.empty() && wanted.size() < 64 && std::all_of(wanted.begin(), wanted.end(), good);
  std::lock_guard lock(mutex_);
  if (!name || wanted == region_) return false;
  region_ = wanted;
  return true;
}

void Client::take_time(const Answer& answer) {
  const std::time_t theirs = curl_getdate(answer.header("date").c_str(), nullptr);
  if (answer.code() != "RequestTimeTooSkewed" || theirs < 0) return;
  std::lock_guard lock(mutex_);
  clock_offset_ = static_cast<i64>(theirs - std::time(nullptr));
}

Answer Client::ask(const Call& call) {
  bool followed = false;
  i64 sent = 0;
  for (i64 number = 1;; ++number) {
    Attempt attempt = once(call);
    sent += std::max<i64>(1, attempt.sent);
    attempt.answer.attempts = sent;
    const bool last = number >= settings_.attempts, answered = attempt.answer.status > 0;
    if (answered) note_answer(true);
    if (attempt.error != CURLE_OK) {
      if (last || is_final(attempt.error) || !(answered || answers())) {
        if (!answered) note_answer(false);
        throw Failure(errno_of(attempt.error), call.method + " " + object_name(call) + ": " + attempt.text + (number > 1 ? ", " + std::to_string(number) + " attempts" : ""));
      }
      pause(number, "");
      continue;
    }
    if (!followed && follow(attempt.answer)) {
      followed = true;
      continue;
    }
    // An answer that began as a good one may still tell of an error.
    const bool hidden = attempt.answer.good() && !attempt.answer.body.empty() && !text_of(attempt.answer.body, "Error").empty() && !attempt.answer.code().empty();
    if (hidden) attempt.answer.status = 500;
    if (last || attempt.answer.good() || !is_temporary(attempt.answer)) return attempt.answer;
    take_time(attempt.answer);
    pause(number, attempt.answer.header("retry-after"));
  }
}

void Client::fail(const Call& call, const Answer& answer) {
  const Meaning meaning = meaning_of(answer);
  std::string text = call.method + " " + object_name(call) + ": " + std::to_string(answer.status);
  if (!answer.code().empty()) text += " " + answer.code();
  if (const std::string message = text_of(answer.body, "Message"); !message.empty() && answer.code() != "SignatureDoesNotMatch") text += ": " + message.substr(0, 200);
  if (*meaning.advice) text += std::string("; ") + meaning.advice;
  if (answer.attempts > 1) text += "; " + std::to_string(answer.attempts) + " attempts";
  throw Failure(meaning.error, text);
}

Answer Client::run(const Call& call) {
  Answer answer = ask(call);
  if (!answer.good()) fail(call, answer);
  return answer;
}

}  // namespace mercutio_s3
