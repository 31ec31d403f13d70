#include "store/backup.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::store {
namespace {

constexpr std::string_view kMagic = "cardea backup\n";
constexpr std::uint64_t kFormat = 1;
constexpr std::size_t kHeadSize = kMagic.size() + 4 * 8;
constexpr std::size_t kRecordHead = 5 * 8;
constexpr std::size_t kHashSize = 32;
constexpr std::uint64_t kEndMark = ~std::uint64_t{0};  // in the place of the length of a key
// More than any store takes: what says so is damaged, and must not be waited for.
constexpr std::uint64_t kLongestKey = 1u << 20, kLongestValue = 1u << 30;
constexpr std::size_t kRecordsAtOnce = 4096;
constexpr int kAttempts = 8;

void put_number(std::string& out, std::uint64_t number) {
  for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(number >> shift);
}

std::uint64_t number_at(std::string_view bytes, std::size_t at) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < 8; ++i) out = out << 8 | static_cast<unsigned char>(bytes[at + i]);
  return out;
}

Error damaged(std::string_view what) {
  return bad_request(cat("the backup is damaged: ", what));
}

void put_record(std::string& out, const Record& r) {
  put_number(out, r.key().size());
  put_number(out, r.value().size());
  put_number(out, static_cast<std::uint64_t>(r.create_revision));
  put_number(out, static_cast<std::uint64_t>(r.mod_revision));
  put_number(out, static_cast<std::uint64_t>(r.version));
  out += r.key();
  out += r.value();
}

Result<Snapshot> read_pages(const Store& store) {
  Snapshot out{.revision = store.current_revision(), .records = {}};
  RangeQuery query{.limit = kRecordsAtOnce, .at = out.revision};
  for (;;) {
    auto page = store.range(query);
    if (!page) return fail(page.error());
    out.records.insert(out.records.end(), page->records.begin(), page->records.end());
    if (!page->more || page->records.empty()) return out;
    query.keys.start = cat(page->records.back()->key(), std::string_view("\0", 1));
  }
}

}  // namespace

Result<Snapshot> take_snapshot(const Store& store) {
  Result<Snapshot> out = read_pages(store);
  // A flood of writes may push the revision out of history while it is read.
  for (int i = 1; i < kAttempts && !out && out.error().reason == Reason::kExpired; ++i)
    out = read_pages(store);
  return out;
}

BackupEncoder::BackupEncoder(Snapshot snapshot, std::int64_t seconds)
    : snapshot_(std::move(snapshot)), seconds_(seconds) {}

std::string BackupEncoder::next(std::size_t size) {
  std::string out;
  while (out.size() < size && (used_ < piece_.size() || make_piece())) {
    const std::size_t taken = std::min(size - out.size(), piece_.size() - used_);
    out.append(piece_, used_, taken);
    used_ += taken;
  }
  return out;
}

bool BackupEncoder::make_piece() {
  piece_.clear();
  used_ = 0;
  switch (at_) {
    case At::kHead:
      piece_ += kMagic;
      put_number(piece_, kFormat);
      put_number(piece_, static_cast<std::uint64_t>(snapshot_.revision));
      put_number(piece_, snapshot_.records.size());
      put_number(piece_, static_cast<std::uint64_t>(seconds_));
      at_ = At::kRecords;
      break;
    case At::kRecords:
      if (next_ < snapshot_.records.size()) {
        put_record(piece_, *snapshot_.records[next_]);
        snapshot_.records[next_++].reset();
        break;
      }
      put_number(piece_, kEndMark);
      hash_.add(piece_);
      piece_ += hash_.finish();
      at_ = At::kEnd;
      return true;
    case At::kEnd:
      return false;
  }
  hash_.add(piece_);
  return true;
}

Result<void> BackupDecoder::add(std::string_view bytes) {
  std::string joined;
  if (!rest_.empty()) {
    joined = std::move(rest_);
    joined += bytes;
    bytes = joined;
  }
  for (;;) {
    Result<std::size_t> used = 0;
    if (at_ == At::kHead)
      used = read_head(bytes);
    else if (at_ == At::kRecords)
      used = read_record(bytes);
    else if (!bytes.empty())
      return fail(damaged("bytes follow its end"));
    if (!used) return fail(used.error());
    if (*used == 0) break;
    bytes.remove_prefix(*used);
  }
  if (!joined.empty() && bytes.size() == joined.size())
    rest_ = std::move(joined);
  else
    rest_ = std::string(bytes);
  return {};
}

Result<std::size_t> BackupDecoder::read_head(std::string_view bytes) {
  const std::size_t known = std::min(bytes.size(), kMagic.size());
  if (bytes.substr(0, known) != kMagic.substr(0, known))
    return fail(bad_request("this is not a backup of Cardea"));
  if (bytes.size() < kHeadSize) return 0;
  const std::size_t at = kMagic.size();
  if (const std::uint64_t format = number_at(bytes, at); format != kFormat)
    return fail(bad_request(
        cat("the backup has format ", format, "; this version reads format ", kFormat)));
  facts_.revision = static_cast<Revision>(number_at(bytes, at + 8));
  facts_.records = number_at(bytes, at + 16);
  facts_.seconds = static_cast<std::int64_t>(number_at(bytes, at + 24));
  if (facts_.revision < 1) return fail(damaged("its revision is not one"));
  hash_.add(bytes.substr(0, kHeadSize));
  at_ = At::kRecords;
  return kHeadSize;
}

Result<std::size_t> BackupDecoder::read_record(std::string_view bytes) {
  if (bytes.size() < 8) return 0;
  if (number_at(bytes, 0) == kEndMark) return read_end(bytes);
  if (bytes.size() < kRecordHead) return 0;
  const std::uint64_t key_size = number_at(bytes, 0), value_size = number_at(bytes, 8);
  if (key_size == 0 || key_size > kLongestKey || value_size > kLongestValue)
    return fail(damaged("a record has an impossible length"));
  const std::size_t size = kRecordHead + key_size + value_size;
  if (bytes.size() < size) return 0;
  const BackupRecord record{.key = bytes.substr(kRecordHead, key_size),
                            .value = bytes.substr(kRecordHead + key_size, value_size),
                            .create_revision = static_cast<Revision>(number_at(bytes, 16)),
                            .mod_revision = static_cast<Revision>(number_at(bytes, 24)),
                            .version = static_cast<std::int64_t>(number_at(bytes, 32))};
  if (record.key <= last_key_) return fail(damaged("its keys are not in order"));
  if (record.create_revision < 1 || record.create_revision > record.mod_revision ||
      record.mod_revision > facts_.revision || record.version < 1)
    return fail(damaged(cat("impossible revisions of `", record.key, "`")));
  if (auto ok = visit_(record); !ok) return fail(ok.error());
  last_key_ = record.key;
  ++seen_;
  hash_.add(bytes.substr(0, size));
  return size;
}

Result<std::size_t> BackupDecoder::read_end(std::string_view bytes) {
  if (bytes.size() < 8 + kHashSize) return 0;
  hash_.add(bytes.substr(0, 8));
  const std::string hash = hash_.finish();
  if (bytes.substr(8, kHashSize) != hash) return fail(damaged("its checksum does not fit"));
  if (seen_ != facts_.records)
    return fail(damaged(cat("it has ", seen_, " of ", facts_.records, " records")));
  facts_.sha256 = crypto::lower_hex(hash);
  at_ = At::kDone;
  return 8 + kHashSize;
}

Result<BackupFacts> BackupDecoder::finish() const {
  if (at_ != At::kDone)
    return fail(bad_request(cat("the backup is cut off after ", seen_, " records")));
  return facts_;
}

}  // namespace cardea::store
