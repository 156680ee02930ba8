#include "sign.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "failure.h"

namespace mercutio_s3 {
namespace {

std::string hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const unsigned char c : bytes) text += {kDigits[c >> 4], kDigits[c & 15]};
  return text;
}

// Empty if OpenSSL has no such digest, as in its FIPS mode.
std::string digest(const EVP_MD* kind, std::string_view data) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned bytes = 0;
  if (EVP_Digest(data.data(), data.size(), out, &bytes, kind, nullptr) != 1) return "";
  return {reinterpret_cast<const char*>(out), bytes};
}

std::string hmac(std::string_view key, std::string_view data) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned bytes = 0;
  const auto* const begin = reinterpret_cast<const unsigned char*>(data.data());
  if (!HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), begin, data.size(), out, &bytes)) throw Failure(EIO, "OpenSSL can't compute HMAC-SHA256");
  return {reinterpret_cast<const char*>(out), bytes};
}

}  // namespace

std::string encoded(std::string_view text, bool keep_slash) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const unsigned char c : text) {
    const bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
    if (plain || (c == '/' && keep_slash)) out += static_cast<char>(c);
    else out += {'%', kDigits[c >> 4], kDigits[c & 15]};
  }
  return out;
}

std::string decoded(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    unsigned char byte = 0;
    const auto digits = text.substr(at + 1, 2);
    const bool encoded = text[at] == '%' && digits.size() == 2 && std::from_chars(digits.begin(), digits.end(), byte, 16).ptr == digits.end();
    out += encoded ? static_cast<char>(byte) : text[at] == '+' ? ' ' : text[at];
    if (encoded) at += digits.size();
  }
  return out;
}

std::string query_string(const Query& query) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : query) parts.push_back(encoded(name, false) + "=" + encoded(value, false));
  std::sort(parts.begin(), parts.end());
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "&") + part;
  return text;
}

std::string sha256_hex(std::string_view data) {
  const std::string bytes = digest(EVP_sha256(), data);
  if (bytes.empty()) throw Failure(EIO, "OpenSSL can't compute SHA-256");
  return hex(bytes);
}

std::string md5_base64(std::string_view data) {
  const std::string bytes = digest(EVP_md5(), data);
  if (bytes.empty()) return "";
  unsigned char text[32];
  const int length = EVP_EncodeBlock(text, reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  return {reinterpret_cast<const char*>(text), static_cast<size_t>(length)};
}

std::string etag_of_parts(const std::vector<std::string>& parts) {
  constexpr size_t kDigits = 32;
  const auto value_of = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  std::string hashes;
  for (const std::string& etag : parts) {
    const std::string digits = without_quotes(etag);
    if (digits.size() != kDigits || std::any_of(digits.begin(), digits.end(), [&](char c) { return value_of(c) < 0; })) return "";
    for (size_t i = 0; i < kDigits; i += 2) hashes += static_cast<char>(16 * value_of(digits[i]) + value_of(digits[i + 1]));
  }
  const std::string hash = digest(EVP_md5(), hashes);
  return hash.empty() ? "" : hex(hash) + "-" + std::to_string(parts.size());
}

std::string without_quotes(const std::string& etag) {
  const bool quoted = etag.size() > 1 && etag.front() == '"' && etag.back() == '"';
  return quoted ? etag.substr(1, etag.size() - 2) : etag;
}

void sign(Request& request, const Credentials& credentials, const std::string& region, const std::string& time) {
  const std::string hash = sha256_hex(request.body), day = time.substr(0, 8), scope = day + "/" + region + "/s3/aws4_request";
  request.headers["host"] = request.host;
  request.headers["x-amz-content-sha256"] = hash;
  request.headers["x-amz-date"] = time;
  if (!credentials.session_token.empty()) request.headers["x-amz-security-token"] = credentials.session_token;
  std::string fields, names;
  for (const auto& [name, value] : request.headers) {
    fields += name + ":" + value + "\n";
    names += (names.empty() ? "" : ";") + name;
  }
  const std::string canonical = request.method + "\n" + request.path + "\n" + query_string(request.query) + "\n" + fields + "\n" + names + "\n" + hash;
  const std::string wanted = "AWS4-HMAC-SHA256\n" + time + "\n" + scope + "\n" + sha256_hex(canonical);
  const std::string key = hmac(hmac(hmac(hmac("AWS4" + credentials.secret_key, day), region), "s3"), "aws4_request");
  request.headers["authorization"] =
      "AWS4-HMAC-SHA256 Credential=" + credentials.access_key + "/" + scope + ",SignedHeaders=" + names + ",Signature=" + hex(hmac(key, wanted));
}

}  // namespace mercutio_s3
