// The calls of S3 that the driver makes, one function each. A Failure where the store says no.
#pragma once

#include <functional>
#include <optional>

#include "client.h"

namespace mercutio_s3 {

struct Object {
  bool exists = false;
  i64 bytes = 0;
  std::string etag;   // as the store writes it
  i64 modified_ns = 0;   // of query() only
};

// The object must still be `etag`, or with "" must not be there; std::nullopt: whatever is there.
using Expected = std::optional<std::string>;

struct Listed {
  std::string key;   // with a slash at its end, where only the beginnings of keys are wanted
  i64 bytes = 0, modified_ns = 0;
};

struct UploadedPart {
  i64 number = 0, bytes = 0;
  std::string etag;
};

// Bytes of an object; with an etag only if it is still that one.
struct CopySource {
  std::string key;
  i64 begin = 0, end = 0;
  std::string etag = {};
};

class Store {
 public:
  Store(Client& client, std::string bucket) : client_(client), bucket_(std::move(bucket)) {}
  Client& client() const { return client_; }

  Object query(const std::string& key) const;
  // With its first bytes, as many as there are of `into`.
  Object query_and_get(const std::string& key, std::span<char> into) const;
  // All of `into` from byte `begin` on; with an etag only if the object is still that one.
  void get(const std::string& key, i64 begin, std::span<char> into, const std::string& etag) const;
  std::string get_all(const std::string& key) const;
  Object put(const std::string& key, std::string_view data, const Expected& expected) const;   // what is there now
  // With an etag only if the object is still that one, as far as the store knows this condition.
  void remove(const std::string& key, const std::string& etag = {}) const;
  std::vector<Listed> list(const std::string& prefix) const;
  // Of keys that have a slash after the prefix only the beginning, once. A few at a time, until `take` says no.
  void list_folder(const std::string& prefix, i64 at_once, const std::function<bool(const Listed&)>& take) const;
  void copy(const CopySource& source, const std::string& key) const;   // of a whole object

  std::string create_upload(const std::string& key) const;
  std::string upload_part(const std::string& key, const std::string& upload, i64 number, std::string_view data) const;   // its etag
  std::string copy_part(const std::string& key, const std::string& upload, i64 number, const CopySource& source) const;
  std::vector<UploadedPart> list_parts(const std::string& key, const std::string& upload) const;
  // `bytes`: of the whole object. Where the answer got lost, the object is known by the ETag that its parts give it. A store whose ETags are of
  // another kind can't tell, which is a Failure: another program may have replaced the object with one as long.
  Object complete(const std::string& key, const std::string& upload, const std::vector<UploadedPart>& parts, i64 bytes, const Expected& expected) const;
  void abort_upload(const std::string& key, const std::string& upload) const;

 private:
  void list_with(Query query, const std::function<bool(const Listed&)>& take) const;
  Call call(const std::string& method, const std::string& key, Query query = {}) const { return Call{method, {bucket_, key}, std::move(query)}; }
  Client& client_;
  const std::string bucket_;
};

}  // namespace mercutio_s3
