// Signature version 4 of Amazon Web Services, as S3 wants it: paths are encoded once, and the hash of the body is a header.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mercutio_s3 {

struct Credentials {
  std::string access_key, secret_key, session_token;
  bool anonymous() const { return access_key.empty() || secret_key.empty(); }
};

using Query = std::vector<std::pair<std::string, std::string>>;   // not encoded

struct Request {
  std::string method, host, path;   // the path is encoded
  Query query;
  std::map<std::string, std::string> headers;   // by their names in lower case
  std::string_view body;
};

// Percent encoding of all but letters, digits and "-._~", and of "/" unless it is kept.
std::string encoded(std::string_view text, bool keep_slash);
std::string decoded(std::string_view text);   // also "+", which stores write for a space
std::string query_string(const Query& query);   // encoded and sorted

std::string sha256_hex(std::string_view data);
std::string md5_base64(std::string_view data);   // empty: this OpenSSL has no MD5
// The ETag, without quotes, of an object of parts with these ETags: the MD5 of their MD5s. Empty: not all of them are MD5s, or this OpenSSL has none.
std::string etag_of_parts(const std::vector<std::string>& parts);
std::string without_quotes(const std::string& etag);

// Adds the headers of a signature. `time` is YYYYMMDDThhmmssZ.
void sign(Request& request, const Credentials& credentials, const std::string& region, const std::string& time);

}  // namespace mercutio_s3
