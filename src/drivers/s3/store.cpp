#include "store.h"

#include <curl/curl.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <vector>

#include "xml.h"

namespace mercutio_s3 {
namespace {

constexpr i64 kNs = 1'000'000'000;

i64 number_of(const std::string& text) {
  const bool digits = !text.empty() && text.size() < 19 && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits ? std::stoll(text) : -1;
}

// "2026-01-31T23:59:59.000Z", or 0.
i64 time_of(const std::string& text) {
  std::tm parts{};
  return strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts) ? static_cast<i64>(timegm(&parts)) * kNs : 0;
}

// Without Content-MD5 the hash in the signature still protects the body.
void protect(Call& call, std::string_view data) {
  call.body = data;
  if (std::string md5 = md5_base64(data); !md5.empty()) call.headers["content-md5"] = std::move(md5);
}

// A store that doesn't know the condition is asked without it: then two who publish at the same moment aren't told apart.
Answer ask_expecting(Client& client, Call call, const Expected& expected) {
  const std::string name = expected && expected->empty() ? "if-none-match" : "if-match";
  if (expected) call.headers[name] = expected->empty() ? "*" : *expected;
  Answer answer = client.ask(call);
  const bool unknown = answer.status == 501 || answer.code() == "NotImplemented";
  if (!expected || !unknown) return answer;
  call.headers.erase(name);
  return client.ask(call);
}

Failure damaged(const Call& call, const std::string& what) {
  return Failure(EPROTO, call.method + " s3://" + call.at.bucket + "/" + call.at.key + ": the answer has " + what);
}

std::string needed(const Call& call, const std::string& value, const char* what) {
  if (value.empty()) throw damaged(call, std::string("no ") + what);
  return value;
}

}  // namespace

Object Store::query(const std::string& key) const {
  const Call wanted = call("HEAD", key);
  const Answer answer = client_.ask(wanted);
  if (answer.status == 404) return {};
  if (!answer.good()) Client::fail(wanted, answer);
  const i64 bytes = number_of(answer.header("content-length"));
  if (bytes < 0) throw damaged(wanted, "no length");
  return {true, bytes, needed(wanted, answer.header("etag"), "ETag"), std::max<i64>(0, curl_getdate(answer.header("last-modified").c_str(), nullptr)) * kNs};
}

Object Store::query_and_get(const std::string& key, std::span<char> into) const {
  Call wanted = call("GET", key);
  wanted.into = into;
  wanted.headers["range"] = "bytes=0-" + std::to_string(into.size() - 1);
  const Answer answer = client_.ask(wanted);
  if (answer.status == 404) return {};
  if (answer.status == 416) return query(key);   // it is empty
  if (!answer.good()) Client::fail(wanted, answer);
  const std::string range = answer.header("content-range");
  const i64 bytes = number_of(range.substr(range.find('/') + 1));
  if (answer.status != 206 || !range.starts_with("bytes 0-") || answer.received != std::min(bytes, static_cast<i64>(into.size())))
    throw damaged(wanted, "another range than the one that was asked for");
  return {true, bytes, needed(wanted, answer.header("etag"), "ETag")};
}

void Store::get(const std::string& key, i64 begin, std::span<char> into, const std::string& etag) const {
  if (into.empty()) return;
  Call wanted = call("GET", key);
  wanted.into = into;
  const std::string range = std::to_string(begin) + "-" + std::to_string(begin + static_cast<i64>(into.size()) - 1);
  wanted.headers["range"] = "bytes=" + range;
  if (!etag.empty()) wanted.headers["if-match"] = etag;
  const Answer answer = client_.run(wanted);
  if (answer.status != 206 || !answer.header("content-range").starts_with("bytes " + range + "/")) throw damaged(wanted, "another range than the one that was asked for");
  if (answer.received != static_cast<i64>(into.size())) throw damaged(wanted, std::to_string(answer.received) + " bytes of " + std::to_string(into.size()));
}

std::string Store::get_all(const std::string& key) const { return client_.run(call("GET", key)).body; }

Object Store::put(const std::string& key, std::string_view data, const Expected& expected) const {
  Call wanted = call("PUT", key);
  protect(wanted, data);
  const Answer answer = ask_expecting(client_, wanted, expected);
  if (answer.good()) return {true, static_cast<i64>(data.size()), needed(wanted, answer.header("etag"), "ETag")};
  // The first attempt may have done it, and its answer been lost.
  const bool doubtful = answer.attempts > 1 && (answer.status == 412 || answer.status == 409);
  if (doubtful) {
    const Object there = query(key);
    if (there.exists && there.bytes == static_cast<i64>(data.size())) {
      std::string now(data.size(), '\0');
      get(key, 0, now, there.etag);
      if (now == data) return there;
    }
  }
  Client::fail(wanted, answer);
}

void Store::remove(const std::string& key, const std::string& etag) const {
  const Call wanted = call("DELETE", key);
  const Answer answer = ask_expecting(client_, wanted, etag.empty() ? Expected() : Expected(etag));
  if (!etag.empty() && answer.status == 404 && answer.attempts == 1) Client::fail(wanted, answer);   // somebody else was first
  if (!answer.good() && answer.status != 404) Client::fail(wanted, answer);
}

std::vector<Listed> Store::list(const std::string& prefix) const {
  std::vector<Listed> keys;
  list_with({{"list-type", "2"}, {"prefix", prefix}}, [&](const Listed& one) {
    keys.push_back(one);
    return true;
  });
  return keys;
}

void Store::list_folder(const std::string& prefix, i64 at_once, const std::function<bool(const Listed&)>& take) const {
  list_with({{"delimiter", "/"}, {"list-type", "2"}, {"max-keys", std::to_string(at_once)}, {"prefix", prefix}}, take);
}

void Store::list_with(Query query, const std::function<bool(const Listed&)>& take) const {
  std::string token;
  do {
    Query page = query;
    page.emplace_back("encoding-type", "url");   // XML can't have all keys
    if (!token.empty()) page.emplace_back("continuation-token", token);
    const Call wanted = call("GET", "", page);
    const Answer answer = client_.run(wanted);
    const bool url = text_of(answer.body, "EncodingType") == "url";   // not every store does as it is asked
    const auto key_in = [&](std::string_view entry, const char* name) { return url ? decoded(text_of(entry, name)) : text_of(entry, name); };
    for (const std::string_view entry : elements(answer.body, "Contents"))
      if (!take({key_in(entry, "Key"), number_of(text_of(entry, "Size")), time_of(text_of(entry, "LastModified"))})) return;
    for (const std::string_view entry : elements(answer.body, "CommonPrefixes"))
      if (!take({key_in(entry, "Prefix")})) return;
    const bool more = text_of(answer.body, "IsTruncated") == "true";
    token = more ? needed(wanted, text_of(answer.body, "NextContinuationToken"), "token of the next page") : "";
  } while (!token.empty());
}

// A store copies 5 GiB at once at the most, and may take long for less.
void Store::copy(const CopySource& source, const std::string& key) const {
  constexpr i64 kMostInOneStep = 64 * MiB, kMostParts = 1000;
  if (source.end <= kMostInOneStep) {
    Call wanted = call("PUT", key);
    wanted.headers["x-amz-copy-source"] = "/" + bucket_ + "/" + encoded(source.key, true);
    wanted.headers["x-amz-copy-source-if-match"] = source.etag;
    const Answer answer = client_.run(wanted);
    (void)needed(wanted, text_of(answer.body, "ETag"), "ETag");
    return;
  }
  const std::string upload = create_upload(key);
  const i64 part = std::max(kMostInOneStep, source.end / kMostParts + 1);
  try {
    std::vector<UploadedPart> parts;
    for (i64 begin = 0; begin < source.end; begin += part) {
      const i64 number = begin / part + 1, end = std::min(source.end, begin + part);
      parts.push_back({number, end - begin, copy_part(key, upload, number, {source.key, begin, end, source.etag})});
    }
    complete(key, upload, parts, source.end, std::nullopt);
  } catch (...) {
    try {
      abort_upload(key, upload);
    } catch (...) {   // the first one says more
    }
    throw;
  }
}

std::string Store::create_upload(const std::string& key) const {
  const Call wanted = call("POST", key, {{"uploads", ""}});
  return needed(wanted, text_of(client_.run(wanted).body, "UploadId"), "UploadId");
}

std::string Store::upload_part(const std::string& key, const std::string& upload, i64 number, std::string_view data) const {
  Call wanted = call("PUT", key, {{"partNumber", std::to_string(number)}, {"uploadId", upload}});
  protect(wanted, data);
  return needed(wanted, client_.run(wanted).header("etag"), "ETag");
}

std::string Store::copy_part(const std::string& key, const std::string& upload, i64 number, const CopySource& source) const {
  Call wanted = call("PUT", key, {{"partNumber", std::to_string(number)}, {"uploadId", upload}});
  wanted.headers["x-amz-copy-source"] = "/" + bucket_ + "/" + encoded(source.key, true);
  wanted.headers["x-amz-copy-source-range"] = "bytes=" + std::to_string(source.begin) + "-" + std::to_string(source.end - 1);
  if (!source.etag.empty()) wanted.headers["x-amz-copy-source-if-match"] = source.etag;
  return needed(wanted, text_of(client_.run(wanted).body, "ETag"), "ETag");
}

std::vector<UploadedPart> Store::list_parts(const std::string& key, const std::string& upload) const {
  std::vector<UploadedPart> parts;
  for (std::string marker = "0"; !marker.empty();) {
    const Call wanted = call("GET", key, {{"uploadId", upload}, {"part-number-marker", marker}});
    const Answer answer = client_.run(wanted);
    for (const std::string_view part : elements(answer.body, "Part"))
      parts.push_back({number_of(text_of(part, "PartNumber")), number_of(text_of(part, "Size")), text_of(part, "ETag")});
    const bool more = text_of(answer.body, "IsTruncated") == "true";
    const std::string next = text_of(answer.body, "NextPartNumberMarker");
    if (more && number_of(next) <= number_of(marker)) throw damaged(wanted, "no next page");
    marker = more ? next : "";
  }
  return parts;
}

Object Store::complete(const std::string& key, const std::string& upload, const std::vector<UploadedPart>& parts, i64 bytes, const Expected& expected) const {
  Call wanted = call("POST", key, {{"uploadId", upload}});
  std::string list = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (const UploadedPart& part : parts) list += "<Part><PartNumber>" + std::to_string(part.number) + "</PartNumber><ETag>" + escaped(part.etag) + "</ETag></Part>";
  list += "</CompleteMultipartUpload>";
  wanted.body = list;
  const Answer answer = ask_expecting(client_, wanted, expected);
  if (answer.good()) return {true, bytes, needed(wanted, text_of(answer.body, "ETag"), "ETag")};
  if (answer.attempts > 1) {   // an earlier one may have done it, and its answer been lost
    std::vector<std::string> tags;
    for (const UploadedPart& part : parts) tags.push_back(part.etag);
    const std::string made = etag_of_parts(tags);
    const Object now = query(key);
    if (now.exists && now.bytes == bytes && !made.empty() && without_quotes(now.etag) == made) return now;
    if (answer.status == 404)   // the upload has ended: the parts are in an object, or are gone
      throw Failure(EIO, "POST s3://" + bucket_ + "/" + key + ": the store's answer got lost, and " +
                             (made.empty() ? "its ETags don't tell whether the object has what was written"
                                           : "the object that is there now, of " + std::to_string(now.bytes) + " bytes, is not the one that was written") +
                             ": see whether another program writes this object, and write it again");
  }
  Client::fail(wanted, answer);
}

void Store::abort_upload(const std::string& key, const std::string& upload) const {
  const Call wanted = call("DELETE", key, {{"uploadId", upload}});
  const Answer answer = client_.ask(wanted);
  if (!answer.good() && answer.status != 404) Client::fail(wanted, answer);
}

}  // namespace mercutio_s3
