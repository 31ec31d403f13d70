#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

namespace cardea::store {

// The number of a transaction. The empty store is at 1, the first write makes 2, and it never goes
// back.
using Revision = std::int64_t;

class Record;
using RecordPtr = std::shared_ptr<const Record>;

// Something computed from a record's value and kept beside it, such as the parsed document.
class Derived {
 public:
  virtual ~Derived() = default;
};

// One version of one key: immutable and shared, so that reading never copies. Key, value and
// counters live in a single allocation; hold the RecordPtr for as long as the views are used.
//
// A deletion is a record too (a tombstone): version 0, no value, mod_revision of the deletion.
class Record {
  struct Private {};

 public:
  static RecordPtr make(std::string_view key, std::string_view value, Revision create_revision,
                        Revision mod_revision, std::int64_t version);

  Record(Private, std::string_view key, std::string_view value, Revision create_revision,
         Revision mod_revision, std::int64_t version);
  ~Record() { delete derived_.load(std::memory_order_relaxed); }
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

  std::string_view key() const { return {tail(), key_size_}; }
  std::string_view value() const { return {tail() + key_size_, value_size_}; }
  bool deleted() const { return version == 0; }

  const Revision create_revision;
  const Revision mod_revision;
  const std::int64_t version;  // 1 when created, one more with every change

  // The derived value, or null. It lives as long as the record. Safe from any thread.
  const Derived* derived() const { return derived_.load(std::memory_order_acquire); }

  // Keeps `value` unless another thread was first. Returns the one that was kept.
  const Derived* derive(std::unique_ptr<const Derived> value) const;

  // The engine's own note: where the record lies, or how it is sealed there. Belongs to the
  // engine's writer thread.
  mutable std::int64_t place = 0;

 private:
  const char* tail() const { return reinterpret_cast<const char*>(this + 1); }

  mutable std::atomic<const Derived*> derived_{nullptr};
  std::uint32_t key_size_;
  std::uint32_t value_size_;
};

}  // namespace cardea::store
