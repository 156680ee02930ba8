#include "session.h"

#include <random>

namespace mercutio_s3 {
namespace {

std::string random_token() {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::random_device random;
  std::string token;
  for (int i = 0; i < 24; ++i) token += kDigits[random() % 16];
  return token;
}

}  // namespace

void Session::begin() {
  token_ = random_token();
  if (ranks_ > 1) upload_ = store_.create_upload(key_);
}

std::string Session::upload() {
  std::lock_guard lock(mutex_);
  if (upload_.empty()) upload_ = rank_ == 0 ? store_.create_upload(key_) : store_.get_all(folder() + "upload");
  return upload_;
}

void Session::next_round() {
  ++round_;
  if (rank_ > 0) upload_.clear();
  if (rank_ == 0 && ranks_ > 1) store_.put(folder() + "upload", upload(), std::nullopt);
}

void Session::end() {
  const auto tried = [](auto action) {
    try {
      action();
    } catch (const Failure&) {   // nobody can do more, and the file is what it should be
    }
  };
  if (!upload_.empty()) tried([&] { store_.abort_upload(key_, upload_); });
  upload_.clear();
  const bool left = ranks_ > 1 || wrote_;
  if (left) tried([&] {
    for (const std::string& key : store_.list(".mercutio/" + token_ + "/")) store_.remove(key);
  });
}

}  // namespace mercutio_s3
