// Where the store is and who asks: the environment variables and files of AWS's own tools.
#pragma once

#include <functional>
#include <string>

#include "failure.h"
#include "sign.h"

namespace mercutio_s3 {

// BUCKET/KEY, the file name without its prefix.
struct Place {
  std::string bucket, key;
  bool operator==(const Place&) const = default;
};
Place place_of(const std::string& path);

struct Settings {
  Credentials credentials;
  std::string region = "us-east-1";
  std::string endpoint;      // "https://host:port" without a slash at the end; empty: Amazon's of the region
  std::string ca_bundle;     // empty: the system's certificates
  i64 attempts = 6;          // of a request
  i64 timeout_seconds = 60;  // without a byte
  i64 memory_bytes = 64 * MiB;   // for what a process has written and not sent
};

using Environment = std::function<std::string(const char*)>;   // "" for what isn't set
Settings settings_from(const Environment& environment);

// The host and the encoded path of an object; path-style wherever a bucket can't be a host's name or the endpoint isn't Amazon's.
struct Address {
  std::string scheme, host, path;
};
Address address_of(const Settings& settings, const std::string& region, const std::string& bucket, const std::string& key);

}  // namespace mercutio_s3
