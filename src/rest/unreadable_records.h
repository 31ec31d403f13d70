#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/log.h"
#include "store/store.h"

namespace cardea::rest {

// What is wrong with the bytes of a record: empty, or why they are no object.
std::string flaw_of_stored(std::string_view value);

// The error for whoever asks for such an object.
Error unreadable(std::string_view key);

// Records that are in the store and cannot be read: damaged on disk, or written by somebody else.
// The server serves everything else. Reading and writing such an object is an error that names its
// key; lists leave it out and warn.
//
// Records are read once, at the start. A later version of the same key is one that this server
// wrote, or one that the store has read from others: where it cannot, the record has no value.
// Asking is one atomic load where all is well. Any thread.
class UnreadableRecords {
 public:
  ~UnreadableRecords();

  // Reads everything and tells the log what is wrong. Once.
  void find(const store::Store& store, const Log* log);
  bool has(const store::Record& record) const {
    const Keys* keys = keys_.load(std::memory_order_acquire);
    return record.value().empty() || (keys && is_in(*keys, record));
  }
  std::size_t count() const;

 private:
  using Keys = std::map<std::string, store::Revision, std::less<>>;
  static bool is_in(const Keys& keys, const store::Record& record);

  std::atomic<const Keys*> keys_{nullptr};  // null: none
};

}  // namespace cardea::rest
