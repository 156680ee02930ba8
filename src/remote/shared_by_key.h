// SharedByKey: an object for each key, which those who ask for it share. It lives as long as one of them holds it.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "base/thread_annotations.h"

namespace mercutio::remote {

template <class Key, class Value>
class SharedByKey {
 public:
  std::shared_ptr<Value> of(const Key& key) {
    std::lock_guard lock(mutex_);
    std::erase_if(values_, [](const auto& one) { return one.second.expired(); });
    std::weak_ptr<Value>& there = values_[key];
    std::shared_ptr<Value> value = there.lock();
    if (!value) there = value = std::make_shared<Value>();
    return value;
  }

 private:
  std::mutex mutex_;
  std::map<Key, std::weak_ptr<Value>> values_ MERCUTIO_GUARDED_BY(mutex_);
};

}  // namespace mercutio::remote
