#include "settings.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>

namespace mercutio_s3 {
namespace {

using Section = std::map<std::string, std::string>;

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

// A section of a file of AWS's tools. Their files of settings call it "profile NAME", those of credentials "NAME".
Section section_of(const std::string& path, const std::string& profile) {
  Section section;
  std::ifstream file(path);
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    const bool nested = !line.empty() && (line[0] == ' ' || line[0] == '\t');
    line = trimmed(line);
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    if (line.front() == '[' && line.back() == ']') {
      const std::string name = trimmed(line.substr(1, line.size() - 2));
      inside = name == profile || (name.starts_with("profile ") && trimmed(name.substr(8)) == profile);
      continue;
    }
    const size_t sign = line.find('=');
    if (inside && !nested && sign != std::string::npos) section[trimmed(line.substr(0, sign))] = trimmed(line.substr(sign + 1));
  }
  return section;
}

std::string first_of(std::initializer_list<std::string> values) {
  for (const std::string& value : values)
    if (!value.empty()) return value;
  return "";
}

i64 number_in(const std::string& name, const std::string& text, i64 otherwise, i64 most) {
  if (text.empty()) return otherwise;
  const bool digits = text.size() < 10 && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  const i64 value = digits ? std::stoll(text) : 0;
  if (value < 1 || value > most) throw Failure(EINVAL, name + " must be a number from 1 to " + std::to_string(most));
  return value;
}

void take_credentials(Settings& settings, const Environment& environment, const Section& secrets, const Section& config) {
  const bool named = !environment("AWS_PROFILE").empty();
  const std::string id = environment("AWS_ACCESS_KEY_ID"), secret = environment("AWS_SECRET_ACCESS_KEY");
  if (!id.empty() && !secret.empty()) {
    settings.credentials = {id, secret, environment("AWS_SESSION_TOKEN")};
    return;
  }
  for (const Section* const section : {&secrets, &config}) {
    const auto get = [&](const char* name) { return section->contains(name) ? section->at(name) : std::string(); };
    if (!get("aws_access_key_id").empty()) {
      settings.credentials = {get("aws_access_key_id"), get("aws_secret_access_key"), get("aws_session_token")};
      return;
    }
  }
  if (named) throw Failure(EACCES, "profile " + environment("AWS_PROFILE") + " of AWS_PROFILE has no aws_access_key_id in ~/.aws/credentials");
}

// Who asks with secrets of his own must not send them to where a text with control characters leads.
std::string checked_endpoint(std::string endpoint) {
  while (endpoint.ends_with("/")) endpoint.pop_back();
  const size_t host = endpoint.find("://");
  const bool known = endpoint.starts_with("http://") || endpoint.starts_with("https://");
  const bool plain = std::all_of(endpoint.begin(), endpoint.end(), [](unsigned char c) { return c > ' ' && c < 127 && c != '@' && c != '?' && c != '#'; });
  if (!endpoint.empty() && (!known || !plain || host + 3 == endpoint.size()))
    throw Failure(EINVAL, "AWS_ENDPOINT_URL must be http://HOST[:PORT] or https://HOST[:PORT], without a user");
  return endpoint;
}

}  // namespace

Place place_of(const std::string& path) {
  const size_t slash = path.find('/');
  const bool whole = slash != std::string::npos && slash > 0 && slash + 1 < path.size() && path.back() != '/';
  if (!whole) throw Failure(path.ends_with("/") ? EISDIR : EINVAL, "a file in S3 is called s3://BUCKET/KEY, and the key doesn't end with a slash");
  const std::string bucket = path.substr(0, slash);
  const auto good = [](unsigned char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_'; };
  if (!std::all_of(bucket.begin(), bucket.end(), good)) throw Failure(EINVAL, "no bucket can be called " + bucket);
  if (path.size() - slash - 1 > 1024) throw Failure(ENAMETOOLONG, "the key of an object has at most 1024 bytes");
  return {bucket, path.substr(slash + 1)};
}

Settings settings_from(const Environment& environment) {
  const std::string home = environment("HOME"), profile = first_of({environment("AWS_PROFILE"), "default"});
  const Section secrets = section_of(first_of({environment("AWS_SHARED_CREDENTIALS_FILE"), home + "/.aws/credentials"}), profile);
  const Section config = section_of(first_of({environment("AWS_CONFIG_FILE"), home + "/.aws/config"}), profile);
  const auto get = [](const Section& section, const char* name) { return section.contains(name) ? section.at(name) : std::string(); };
  Settings settings;
  take_credentials(settings, environment, secrets, config);
  settings.region = first_of({environment("AWS_REGION"), environment("AWS_DEFAULT_REGION"), get(config, "region"), settings.region});
  settings.endpoint = checked_endpoint(first_of({environment("AWS_ENDPOINT_URL_S3"), environment("AWS_ENDPOINT_URL"), get(config, "endpoint_url")}));
  settings.ca_bundle = first_of({environment("AWS_CA_BUNDLE"), get(config, "ca_bundle")});
  settings.attempts = number_in("AWS_MAX_ATTEMPTS", first_of({environment("AWS_MAX_ATTEMPTS"), get(config, "max_attempts")}), settings.attempts, 100);
  settings.timeout_seconds = number_in("MERCUTIO_S3_TIMEOUT", environment("MERCUTIO_S3_TIMEOUT"), settings.timeout_seconds, 86400);
  settings.memory_bytes = number_in("MERCUTIO_S3_MEMORY", environment("MERCUTIO_S3_MEMORY"), settings.memory_bytes / MiB, 1 << 20) * MiB;
  return settings;
}

Address address_of(const Settings& settings, const std::string& region, const std::string& bucket, const std::string& key) {
  const std::string object = encoded(key, true);
  if (!settings.endpoint.empty()) {
    const size_t host = settings.endpoint.find("://") + 3, slash = std::min(settings.endpoint.find('/', host), settings.endpoint.size());
    return {settings.endpoint.substr(0, host - 3), settings.endpoint.substr(host, slash - host), settings.endpoint.substr(slash) + "/" + bucket + "/" + object};
  }
  const std::string domain = "s3." + region + (region.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com");
  const bool is_host = std::all_of(bucket.begin(), bucket.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
  if (is_host) return {"https", bucket + "." + domain, "/" + object};   // with a dot in it no certificate fits
  return {"https", domain, "/" + bucket + "/" + object};
}

}  // namespace mercutio_s3
