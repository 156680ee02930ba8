// What the ranks of one open share: where they leave what isn't a part of the object, and the upload of the present round. A round ends
// when rank 0 publishes. Rank 0 has made an upload when the others open. Where it was completed, the name of the next one is in an object,
// which a rank reads when it has a part to send in a later round.
//
// In the bucket: .mercutio/TOKEN/ROUND/... and .mercutio/TOKEN/upload, for all files alike, so that one rule of the bucket's life cycle
// removes what killed jobs leave.
#pragma once

#include <mutex>
#include <set>
#include <string>

#include "store.h"

namespace mercutio_s3 {

class Session {
 public:
  Session(const Store& store, std::string key, i64 rank, i64 ranks) : store_(store), key_(std::move(key)), rank_(rank), ranks_(ranks) {}

  void begin();   // on rank 0
  void join(const std::string& token, const std::string& upload) { token_ = token, upload_ = first_upload_ = upload; }
  const std::string& token() const { return token_; }
  i64 rank() const { return rank_; }
  bool alone() const { return ranks_ == 1; }

  std::string folder() const { return top() + std::to_string(round_) + "/"; }
  std::string upload();                    // of this round; made or asked for where it isn't known
  bool has_upload() const { return !upload_.empty(); }
  void note(const std::string& key) { keys_.insert(key); }   // what there is in the folders
  void consumed() { upload_.clear(), consumed_ = true; }     // it has been completed
  void next_round();
  // On rank 0: ends the upload and removes what is in the folders, as far as the store lets it. `all_known`: no rank has failed, so that all
  // of it was noted.
  void end(bool all_known);

 private:
  std::string top() const { return ".mercutio/" + token_ + "/"; }

  const Store& store_;
  const std::string key_;
  const i64 rank_, ranks_;
  std::mutex mutex_;   // threads that send parts ask for the upload
  std::string token_, upload_, first_upload_;
  std::set<std::string> keys_;
  i64 round_ = 0;
  bool consumed_ = false;   // and the others don't know of another one
};

}  // namespace mercutio_s3
