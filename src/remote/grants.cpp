#include "remote/grants.h"

#include <cerrno>
#include <cstring>

#include "base/trace.h"

namespace mercutio::remote {

void Grants::forget_old(i64 now) {
  std::erase_if(grants_, [&](const auto& one) {
    const std::shared_ptr<ServedFile> file = one.second.file.lock();
    return !file || file->closed || (!one.second.used && now > one.second.until_ns);
  });
}

Result<GrantReply> Grants::make(const std::shared_ptr<ServedFile>& file) {
  GrantReply reply;
  MERCUTIO_LET(const Key key, make_key());
  MERCUTIO_LET(const Key name, make_key());
  reply.identity = "copy-" + key_text(name).substr(0, 32);
  reply.key.resize(key.size());
  std::memcpy(reply.key.data(), key.data(), key.size());
  std::lock_guard guard(mutex_);
  const i64 now = now_ns();
  forget_old(now);
  if (grants_.size() >= kMost) return Error{ErrorClass::kOther, "too many copies from other servers at once", EUSERS};
  file->lent = true;
  grants_.emplace(reply.identity, Grant{key, file, now + limit_ms_ * 1'000'000, false});
  return reply;
}

std::optional<Key> Grants::key_of(const std::string& identity) {
  std::lock_guard guard(mutex_);
  forget_old(now_ns());
  const auto known = grants_.find(identity);
  return known == grants_.end() ? std::nullopt : std::optional(known->second.key);
}

Result<std::shared_ptr<ServedFile>> Grants::use(const std::string& identity) {
  std::lock_guard guard(mutex_);
  forget_old(now_ns());
  const auto known = grants_.find(identity);
  std::shared_ptr<ServedFile> file = known == grants_.end() ? nullptr : known->second.file.lock();
  if (!file) return Error{ErrorClass::kAccess, "the key for this copy is over", EKEYEXPIRED};
  if (known->second.used) return Error{ErrorClass::kAccess, "the key for this copy is used already: it is good for one session", EKEYREVOKED};
  known->second.used = true;
  return file;
}

}  // namespace mercutio::remote
