#include "session.h"

#include <cerrno>
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
  if (!upload_.empty()) return upload_;
  if (rank_ == 0) return upload_ = store_.create_upload(key_);
  try {
    return upload_ = store_.get_all(top() + "upload");
  } catch (const Failure& failure) {
    if (failure.code() != ENOENT) throw;
  }
  return upload_ = first_upload_;   // it was not completed yet
}

void Session::next_round() {
  ++round_;
  if (rank_ > 0) upload_.clear();
  if (rank_ > 0 || ranks_ == 1 || !consumed_) return;
  store_.put(top() + "upload", upload(), std::nullopt);
  note(top() + "upload");
  consumed_ = false;
}

void Session::end(bool all_known) {
  bool answers = true;   // a store that does not is not asked again for each thing that is left there
  const auto tried = [this, &answers](auto action) {
    if (!answers) return;
    try {
      action();
    } catch (const std::exception&) {   // nobody can do more, and the file is what it should be
      answers = store_.client().answers();
    }
  };
  if (!upload_.empty()) tried([&] { store_.abort_upload(key_, upload_); });
  upload_.clear();
  if (!all_known) tried([&] {
    for (const Listed& one : store_.list(top())) note(one.key);
  });
  for (const std::string& key : keys_) tried([&] { store_.remove(key); });
  keys_.clear();
}

}  // namespace mercutio_s3
