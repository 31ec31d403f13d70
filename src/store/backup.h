#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/digest.h"
#include "store/store.h"

namespace cardea::store {

// A backup: every live record of one revision, as bytes that check themselves (docs/STORE.md has
// the format). History is not in it.

struct Snapshot {
  Revision revision = 0;
  std::vector<RecordPtr> records;  // in the order of their keys
};

// The state of one moment, in which everything is that was acknowledged before this call. Reads
// memory in pages, so that no writer waits long. It keeps the records alive, also those that are
// changed meanwhile.
Result<Snapshot> take_snapshot(const Store& store);

// Makes the bytes of a backup, part by part.
class BackupEncoder {
 public:
  // `seconds`: when the snapshot was taken, Unix time.
  BackupEncoder(Snapshot snapshot, std::int64_t seconds);

  // The next part: `size` bytes, fewer at the end. Empty: there is no more.
  std::string next(std::size_t size);

 private:
  bool make_piece();  // false: that was all

  Snapshot snapshot_;
  std::int64_t seconds_;
  std::size_t next_ = 0;  // of the records
  enum class At { kHead, kRecords, kEnd } at_ = At::kHead;
  std::string piece_;     // the head, a record or the end
  std::size_t used_ = 0;  // of it
  crypto::Sha256 hash_;
};

// What a backup says about itself.
struct BackupFacts {
  Revision revision = 0;
  std::uint64_t records = 0;
  std::int64_t seconds = 0;  // Unix time
  std::string sha256;        // of all bytes before it; 64 digits
};

// A record of a backup. Borrows from the decoder.
struct BackupRecord {
  std::string_view key, value;
  Revision create_revision = 0, mod_revision = 0;
  std::int64_t version = 0;
};

// Reads a backup while its bytes come. Nothing of it is to be used before finish() has agreed: only
// the last bytes prove the others.
class BackupDecoder {
 public:
  using Visit = std::function<Result<void>(const BackupRecord&)>;
  explicit BackupDecoder(Visit visit) : visit_(std::move(visit)) {}

  // Errors: the bytes are not those of a backup, are damaged, or are of a later format. What
  // `visit` fails with. No call after an error.
  Result<void> add(std::string_view bytes);
  // All bytes were added. Error: the backup is cut off.
  Result<BackupFacts> finish() const;

 private:
  Result<std::size_t> read_head(std::string_view bytes);  // how much was used; 0: more is needed
  Result<std::size_t> read_record(std::string_view bytes);
  Result<std::size_t> read_end(std::string_view bytes);

  const Visit visit_;
  enum class At { kHead, kRecords, kDone } at_ = At::kHead;
  std::string rest_;  // the beginning of what has not come yet
  std::string last_key_;
  std::uint64_t seen_ = 0;
  BackupFacts facts_;
  crypto::Sha256 hash_;
};

}  // namespace cardea::store
