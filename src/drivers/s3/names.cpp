#include "names.h"

#include <cerrno>

#include "staged.h"

namespace mercutio_s3 {
namespace {

constexpr i64 kPage = 1000;

Place folder_of(std::string path) {
  while (path.ends_with("/")) path.pop_back();
  return path.find('/') == std::string::npos ? Place{place_of(path + "/x").bucket, ""} : place_of(path);
}
std::string prefix_of(const Place& place) { return place.key.empty() ? "" : place.key + "/"; }
std::string shown(const Place& place) { return "s3://" + place.bucket + (place.key.empty() ? "" : "/" + place.key); }

Failure missing(const Place& place) { return {ENOENT, shown(place) + " isn't there"}; }

// Whether there are keys below it; of an empty bucket, too, if it is there.
bool is_folder(const Store& store, const Place& place) {
  bool any = place.key.empty();
  store.list_folder(prefix_of(place), 1, [&](const Listed&) {
    any = true;
    return false;
  });
  return any;
}

}  // namespace

i64 number_of_file(const Client& client, const Place& place) {
  const i64 number = tag_of(client.settings().endpoint + " " + place.bucket + "/" + place.key);
  return number > 0 ? number : 1;
}

Named look(Client& client, const std::string& path) {
  const Place place = folder_of(path);
  const Store store(client, place.bucket);
  if (!place.key.empty())
    if (const Object object = store.query(place.key); object.exists) return {"", false, object.bytes, object.modified_ns, number_of_file(client, place)};
  if (!is_folder(store, place)) throw missing(place);
  return {"", true, 0, 0, number_of_file(client, place)};
}

// Without what the ranks of open files keep in the bucket.
void list(Client& client, const std::string& path, const std::function<bool(const Named&)>& take) {
  const Place place = folder_of(path);
  const Store store(client, place.bucket);
  const std::string prefix = prefix_of(place);
  bool any = place.key.empty();
  store.list_folder(prefix, kPage, [&](const Listed& listed) {
    any = true;
    std::string name = listed.key.substr(prefix.size());
    const bool folder = name.ends_with("/");
    if (folder) name.pop_back();
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos || (prefix.empty() && name == ".mercutio")) return true;
    return take({name, folder, folder ? 0 : listed.bytes, listed.modified_ns, number_of_file(client, {place.bucket, prefix + name})});
  });
  if (any) return;
  if (store.query(place.key).exists) throw Failure(ENOTDIR, shown(place) + " is a file");
  throw missing(place);
}

// The new name has the whole file when it has any of it. A failure in the middle leaves the file with both names.
void rename(Client& client, const std::string& path, const std::string& other, bool replace) {
  const Place from = place_of(path), to = place_of(other);
  if (from == to) return;
  if (from.bucket != to.bucket) throw Failure(EXDEV, "from one bucket to another");
  const Store store(client, from.bucket);
  const Object object = store.query(from.key);
  if (!object.exists && is_folder(store, from))
    throw Failure(EOPNOTSUPP, shown(from) + " is a folder: in S3 that is a part of the names of all files in it, and only files can be renamed");
  if (!object.exists) throw missing(from);
  if (!replace && store.query(to.key).exists) throw Failure(EEXIST, shown(to) + " is there already");
  if (is_folder(store, to)) throw Failure(EISDIR, shown(to) + " is a folder");
  store.copy({from.key, 0, object.bytes, object.etag}, to.key);
  store.remove(from.key, object.etag);
}

void make_folder(Client& client, const std::string& path) {
  const Place place = folder_of(path);
  const Store store(client, place.bucket);
  if (is_folder(store, place) || store.query(place.key).exists) throw Failure(EEXIST, shown(place) + " is there already");
  store.put(place.key + "/", "", std::nullopt);
}

// One that was there by its files alone is gone with the last of them, before somebody can remove it.
void remove_folder(Client& client, const std::string& path) {
  const Place place = folder_of(path);
  if (place.key.empty()) throw Failure(EBUSY, "buckets aren't deleted");
  const Store store(client, place.bucket);
  const std::string prefix = prefix_of(place);
  bool marked = false;
  store.list_folder(prefix, 2, [&](const Listed& listed) {
    if (listed.key != prefix) throw Failure(ENOTEMPTY, shown(place) + " has files");
    return marked = true;
  });
  if (!marked && store.query(place.key).exists) throw Failure(ENOTDIR, shown(place) + " is a file");
  if (marked) store.remove(prefix);
}

// A store deletes what isn't there with success, so it is asked before. Of two who delete at once one is told that the file wasn't there, if
// the store knows the condition.
void remove(Client& client, const std::string& path) {
  const Place place = place_of(path);
  const Store store(client, place.bucket);
  for (int rivals = 0;; ++rivals) {
    const Object object = store.query(place.key);
    if (!object.exists) throw missing(place);
    try {
      return store.remove(place.key, object.etag);
    } catch (const Failure& failure) {   // somebody else has replaced it
      if (failure.code() != ESTALE || rivals >= kMostRivals) throw;
    }
  }
}

}  // namespace mercutio_s3
