#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cardea::store {

// Where keys and values lie in an etcd that others use too, where that is not as the store keeps
// them. Any thread.
class EtcdEncoding {
 public:
  enum class Place : std::uint8_t {
    kShared,   // below the prefix, where others read and write it too
    kOwn,      // below `PREFIX/_cardea/`, where nobody else looks
    kForeign,  // of others: never read, never written
  };

  virtual ~EtcdEncoding() = default;

  // Of a key of the store.
  virtual Place place_of(std::string_view key) const = 0;

  // `key` is the store's, `etcd_key` the same as etcd knows it. An error: the value cannot be
  // stored.
  virtual Result<std::string> to_etcd(std::string_view key, std::string_view etcd_key,
                                      std::string_view value) const = 0;
  // An error: the value means nothing here. The record is then without a value, which no object
  // is: the bytes are shown to nobody. kServiceUnavailable: it cannot be said now what it means. It
  // is asked again; until then the store does not go on.
  virtual Result<std::string> from_etcd(std::string_view key, std::string_view etcd_key,
                                        std::string_view value) const = 0;

  // By which key a value in etcd is sealed, as a number that only this object understands.
  virtual std::int64_t seal_of(std::string_view /*etcd_value*/) const { return 0; }
  // Whether a value of this key would be sealed otherwise if it were written now.
  virtual bool is_stale(std::string_view /*key*/, std::int64_t /*seal*/) const { return false; }
};

}  // namespace cardea::store
