// Names in S3, as the folders of a file system: the part of a key up to a slash is a folder, as long as there are objects in it. An empty one is an
// object of no bytes whose key ends with a slash, as other programs make it, too.
//
// Cost: a request for a look at a file, two at a folder or at nothing; one for each 1000 names; three to rename a file, which the store copies.
#pragma once

#include <functional>

#include "store.h"

namespace mercutio_s3 {

// BUCKET or BUCKET/KEY; the bucket is a folder.
struct Named {
  std::string name;
  bool is_folder = false;
  i64 bytes = 0, modified_ns = 0, number = 0;
};

i64 number_of_file(const Client& client, const Place& place);   // tells it from others; above 0

Named look(Client& client, const std::string& path);
void list(Client& client, const std::string& path, const std::function<bool(const Named&)>& take);
void rename(Client& client, const std::string& path, const std::string& other, bool replace);
void make_folder(Client& client, const std::string& path);
void remove_folder(Client& client, const std::string& path);
void remove(Client& client, const std::string& path);

}  // namespace mercutio_s3
