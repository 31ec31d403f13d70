#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace cardea::store {

// How values lie in etcd, where that is not how the store keeps them. Any thread.
class EtcdEncoding {
 public:
  virtual ~EtcdEncoding() = default;

  // `key` is the store's, `etcd_key` the same as etcd knows it. An error: the value cannot be
  // stored.
  virtual Result<std::string> to_etcd(std::string_view key, std::string_view etcd_key,
                                      std::string_view value) const = 0;
  // An error: the value means nothing here. The record then shows the bytes as they are.
  virtual Result<std::string> from_etcd(std::string_view key, std::string_view etcd_key,
                                        std::string_view value) const = 0;
};

}  // namespace cardea::store
