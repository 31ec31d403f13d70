#include "store/copy.h"

#include <algorithm>

#include "base/strings.h"
#include "crypto/digest.h"

namespace cardea::store {
namespace {

constexpr std::string_view kCopyKey = "/cardea/copy";
constexpr std::size_t kCopiedAtOnce = 500;
// What every etcd takes in one transaction.
constexpr std::size_t kMostOps = 32;
constexpr std::size_t kMostBytes = 1u << 20;

bool is_left_out(const CopyOptions& options, std::string_view key) {
  return key == kCopyKey || std::ranges::any_of(options.left_out, [&](const std::string& prefix) {
           return key.starts_with(prefix);
         });
}

// Calls `visit` with every record of one state, in the order of keys.
template <typename Visit>
Result<void> each_record(const Store& store, const CopyOptions& options, Visit visit) {
  RangeQuery query{.limit = kCopiedAtOnce, .at = store.current_revision()};
  for (;;) {
    auto page = store.range(query);
    if (!page) return fail(page.error());
    for (const RecordPtr& record : page->records)
      if (!is_left_out(options, record->key()))
        if (Result<void> ok = visit(*record); !ok) return ok;
    if (!page->more || page->records.empty()) return {};
    query.keys.start = cat(page->records.back()->key(), std::string_view("\0", 1));
  }
}

// Writes records a few at a time.
class Writer {
 public:
  explicit Writer(Store& to) : to_(to) {}

  Result<void> add(const Record& record) {
    const std::size_t size = record.key().size() + record.value().size();
    if (txn_.ops.size() == kMostOps || bytes_ + size > kMostBytes)
      if (Result<void> ok = flush(); !ok) return ok;
    bytes_ += size;
    txn_.ops.emplace_back(Put{std::string(record.key()), std::string(record.value())});
    return {};
  }

  Result<void> flush() {
    if (txn_.ops.empty()) return {};
    written_ += txn_.ops.size();
    bytes_ = 0;
    auto done = commit_sync(to_, std::exchange(txn_, {}));
    if (!done) return fail(done.error());
    return {};
  }

  std::uint64_t written() const { return written_; }

 private:
  Store& to_;
  Txn txn_;
  std::size_t bytes_ = 0;
  std::uint64_t written_ = 0;
};

struct Fingerprint {
  std::uint64_t records = 0;
  std::string hash;
  bool operator==(const Fingerprint&) const = default;
};

// A chain of digests: each record is hashed with what came before it, and with its lengths.
Result<Fingerprint> fingerprint(const Store& store, const CopyOptions& options) {
  Fingerprint out;
  auto add = [&out](const Record& r) -> Result<void> {
    ++out.records;
    out.hash = crypto::sha256(
        cat(out.hash, r.key().size(), ":", r.key(), r.value().size(), ":", r.value()));
    return {};
  };
  if (auto ok = each_record(store, options, add); !ok) return fail(ok.error());
  return out;
}

Result<void> begin(Store& to, const CopyOptions& options, const std::string& source) {
  if (RecordPtr mark = to.get(kCopyKey)) {
    if (mark->value() == source) return {};
    return fail(bad_request(
        "a copy of another store was begun into the target; empty it, then begin again"));
  }
  std::string found;
  auto look = [&found](const Record& r) -> Result<void> {
    found = r.key();
    return fail(bad_request(found));  // one is enough
  };
  if (auto is_empty = each_record(to, options, look); !is_empty)
    return fail(bad_request(found.empty() ? is_empty.error().message
                                          : cat("the target is not empty: it has `", found, "`")));
  auto marked = commit_sync(
      to, {.compares = {{std::string(kCopyKey), 0}}, .ops = {Put{std::string(kCopyKey), source}}});
  if (!marked) return fail(marked.error());
  if (!marked->succeeded) return fail(bad_request("another copy into the target has just begun"));
  return {};
}

}  // namespace

bool is_half_copied(const Store& store) {
  return store.get(kCopyKey) != nullptr;
}

Result<Copied> copy_store(Store& from, Store& to, const CopyOptions& options) {
  if (is_half_copied(from)) return fail(bad_request("the source is itself an unfinished copy"));
  auto source = fingerprint(from, options);
  if (!source) return fail(source.error());
  const std::string hash = crypto::lower_hex(source->hash);
  if (auto ok = begin(to, options, hash); !ok) return fail(ok.error());
  Writer writer(to);
  std::uint64_t seen = 0;
  auto write = [&](const Record& r) -> Result<void> {
    if (options.progress) options.progress(++seen, source->records);
    RecordPtr there = to.get(r.key());
    if (there && there->value() == r.value()) return {};
    return writer.add(r);
  };
  if (auto ok = each_record(from, options, write); !ok) return fail(ok.error());
  if (auto ok = writer.flush(); !ok) return fail(ok.error());
  auto copy = fingerprint(to, options);
  if (!copy) return fail(copy.error());
  if (*copy != *source)
    return fail(internal_error(cat("the copy differs: ", source->records, " records became ",
                                   copy->records, "; somebody wrote to one of the stores")));
  auto done = commit_sync(to, {.compares = {}, .ops = {Delete{std::string(kCopyKey)}}});
  if (!done) return fail(done.error());
  return Copied{source->records, writer.written(), hash};
}

}  // namespace cardea::store
