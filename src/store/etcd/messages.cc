#include "store/etcd/messages.h"

#include <algorithm>

#include "base/protobuf.h"
#include "base/strings.h"

namespace cardea::store::etcd {
namespace {

constexpr std::string_view kRegistry = "/registry/";
constexpr std::string_view kOwn = "_cardea/";
// Of all servers of an etcd, kube-apiserver's too: it lies below no prefix.
constexpr std::string_view kCompactionTurn = "compact_rev_key";

Error malformed_answer(std::string_view what) {
  return Error::of(Reason::kServiceUnavailable, cat("etcd sent a malformed ", what));
}

struct KeyValue {
  std::string_view key, value;
  Revision create_revision = 0, mod_revision = 0;
  std::int64_t version = 0;
};

bool read_key_value(std::string_view message, KeyValue& out) {
  ProtobufFields in(message);
  while (in.next()) {
    switch (in.field()) {
      case 1:
        out.key = in.bytes();
        break;
      case 2:
        out.create_revision = in.integer();
        break;
      case 3:
        out.mod_revision = in.integer();
        break;
      case 4:
        out.version = in.integer();
        break;
      case 5:
        out.value = in.bytes();
        break;
      default:
        break;
    }
  }
  return !in.malformed();
}

// Null for a key of others.
Result<RecordPtr> record_of(const KeyValue& kv, const KeySpace& keys) {
  const std::string key = keys.from_etcd(kv.key);
  if (key.empty()) return RecordPtr();
  auto make = [&](std::string_view value) {
    return Record::make(key, value, kv.create_revision, kv.mod_revision, kv.version);
  };
  if (!keys.encoding() || kv.version == 0) return make(kv.value);
  auto value = keys.encoding()->from_etcd(key, kv.key, kv.value);
  if (!value && value.error().reason == Reason::kServiceUnavailable) return fail(value.error());
  RecordPtr record = make(value ? std::string_view(*value) : std::string_view());
  record->place = keys.encoding()->seal_of(kv.value);
  return record;
}

Revision header_revision(std::string_view header) {
  for (ProtobufFields in(header); in.next();)
    if (in.field() == 3) return in.integer();
  return 0;
}

ProtobufMessage get_of(std::string_view key) {
  ProtobufMessage get;
  get.bytes(1, key);
  return get;
}

enum CompareResult : std::uint8_t { kEqual = 0, kLess = 2 };

// A condition on the revision of the last change of a key, or of each key of a range.
ProtobufMessage compare_of(CompareResult result, std::string_view key, std::string_view end,
                           Revision revision) {
  ProtobufMessage out;
  out.integer(1, result);
  out.integer(2, 2);
  out.bytes(3, key);
  out.always_integer(6, revision);
  out.text(64, end);
  return out;
}
ProtobufMessage unchanged(std::string_view key, Revision revision) {
  return compare_of(kEqual, key, "", revision);
}
ProtobufMessage not_newer(std::string_view key, std::string_view end, Revision revision) {
  return compare_of(kLess, key, end, revision + 1);
}

ProtobufMessage newest_of(const KeyRange& range) {
  ProtobufMessage get = get_of(range.start);
  get.bytes(2, range.end);
  get.integer(3, 1);  // one key
  get.integer(5, 2);  // of the largest
  get.integer(6, 2);  // revision of the last change
  get.flag(8, true);  // without its value
  return get;
}

}  // namespace

KeySpace::KeySpace(std::string_view prefix, const EtcdEncoding* encoding) : encoding_(encoding) {
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  while (prefix.starts_with('/')) prefix.remove_prefix(1);
  first_ = prefix.empty() ? "/" : cat("/", prefix, "/");
  end_ = keys_with_prefix(first_).end;
  own_ = cat(first_, kOwn);
}

std::string KeySpace::to_etcd(std::string_view key) const {
  if (is_shared(key)) return cat(first_, key.substr(kRegistry.size()));
  return cat(own_, key);
}

std::string KeySpace::from_etcd(std::string_view key) const {
  if (!key.starts_with(first_)) return "";
  if (key.starts_with(own_)) {
    key.remove_prefix(own_.size());
    return is_own(key) ? std::string(key) : "";
  }
  std::string shared = cat(kRegistry, key.substr(first_.size()));
  return is_shared(shared) ? shared : "";
}

bool KeySpace::is_shared(std::string_view key) const {
  return key.starts_with(kRegistry) &&
         (!encoding_ || encoding_->place_of(key) == EtcdEncoding::Place::kShared);
}

bool KeySpace::is_own(std::string_view key) const {
  return encoding_ ? encoding_->place_of(key) == EtcdEncoding::Place::kOwn
                   : !key.starts_with(kRegistry);
}

Result<std::string> KeySpace::value_to_etcd(std::string_view key, std::string_view value) const {
  if (!encoding_) return std::string(value);
  if (encoding_->place_of(key) == EtcdEncoding::Place::kForeign)
    return fail(bad_request(cat("`", key, "` is not a key of this server")));
  return encoding_->to_etcd(key, to_etcd(key), value);
}

std::string range_request(std::string_view from, std::string_view end, std::int64_t limit,
                          Revision at) {
  ProtobufMessage out;
  out.bytes(1, from);
  out.text(2, end);
  out.integer(3, limit);
  out.integer(4, at);
  return std::move(out).take();
}

std::string revision_request(std::string_view key) {
  ProtobufMessage out = get_of(key);
  out.flag(9, true);  // only the count
  return std::move(out).take();
}

std::string txn_request(const Txn& txn, const KeySpace& keys, const TxnExtras& extras) {
  ProtobufMessage out;
  std::size_t size = 64;
  for (const Op& op : txn.ops)
    if (const Put* put = std::get_if<Put>(&op)) size += put->key.size() + put->value.size() + 64;
  out.reserve(size);
  const Compare* mark = nullptr;
  for (const Compare& compare : txn.compares) {
    if (compare.key == kMarkKey) mark = &compare;
    out.message(1, mark == &compare ? not_newer(keys.to_etcd(kMarkKey), "", compare.mod_revision)
                                    : unchanged(keys.to_etcd(compare.key), compare.mod_revision));
  }
  for (const std::string& prefix : extras.guarded)
    if (mark) {
      const KeyRange range = keys_with_prefix(keys.to_etcd(prefix));
      out.message(1, not_newer(range.start, range.end, mark->mod_revision));
    }
  for (std::size_t i = 0; i < txn.ops.size(); ++i) {
    const Op& op = txn.ops[i];
    ProtobufMessage one, wrapped;
    if (const Put* put = std::get_if<Put>(&op)) {
      const std::string& value = extras.values.empty() ? put->value : extras.values[i];
      one.reserve(put->key.size() + value.size() + 48);
      one.bytes(1, keys.to_etcd(put->key));
      one.text(2, value);
      one.integer(3, extras.lease);
      wrapped.message(2, one);
    } else {
      one.bytes(1, keys.to_etcd(std::get<Delete>(op).key));
      wrapped.message(3, one);
    }
    out.message(2, wrapped);
  }
  if (!extras.mark.empty()) {
    ProtobufMessage wrapped;
    wrapped.message(2, get_of(keys.to_etcd(extras.mark)));
    out.message(2, wrapped);
  }
  // When a compare does not hold, the answer shows what is there.
  for (const Compare& compare : txn.compares) {
    ProtobufMessage wrapped;
    wrapped.message(1, get_of(keys.to_etcd(compare.key)));
    out.message(3, wrapped);
  }
  for (const std::string& prefix : extras.guarded)
    if (mark) {
      ProtobufMessage wrapped;
      wrapped.message(1, newest_of(keys_with_prefix(keys.to_etcd(prefix))));
      out.message(3, wrapped);
    }
  return std::move(out).take();
}

std::string compaction_turn_request(std::int64_t version, Revision revision) {
  ProtobufMessage compare, put, wrapped_put, wrapped_get, out;
  compare.integer(1, kEqual);
  compare.integer(2, 0);  // the version
  compare.bytes(3, kCompactionTurn);
  compare.always_integer(4, version);
  put.bytes(1, kCompactionTurn);
  put.text(2, cat(revision));
  wrapped_put.message(2, put);
  wrapped_get.message(1, get_of(kCompactionTurn));
  out.message(1, compare);
  out.message(2, wrapped_put);
  out.message(3, wrapped_get);
  return std::move(out).take();
}

std::string lease_request(std::chrono::seconds ttl) {
  ProtobufMessage out;
  out.integer(1, ttl.count());
  return std::move(out).take();
}

std::string compact_request(Revision revision) {
  ProtobufMessage out;
  out.integer(1, revision);
  return std::move(out).take();
}

std::string watch_request(std::string_view from, std::string_view end, Revision start) {
  ProtobufMessage create, out;
  create.bytes(1, from);
  create.text(2, end);
  create.integer(3, start);
  create.flag(4, true);  // progress is told now and then
  create.flag(8, true);  // large answers come in fragments
  out.message(1, create);
  return std::move(out).take();
}

std::string progress_request() {
  ProtobufMessage out;
  out.message(3, {});
  return std::move(out).take();
}

Result<RangeAnswer> read_range(std::string_view message, const KeySpace& keys) {
  RangeAnswer out;
  std::string_view last;
  ProtobufFields in(message);
  while (in.next()) {
    if (in.field() == 1) out.revision = header_revision(in.bytes());
    if (in.field() == 3) out.more = in.flag();
    if (in.field() != 2) continue;
    KeyValue kv;
    if (!read_key_value(in.bytes(), kv)) return fail(malformed_answer("range"));
    last = kv.key;
    auto record = record_of(kv, keys);
    if (!record) return fail(record.error());
    if (*record) out.records.push_back(std::move(*record));
  }
  if (in.malformed() || out.revision == 0) return fail(malformed_answer("range"));
  out.last_key = last;
  return out;
}

Result<Revision> read_revision(std::string_view message) {
  ProtobufFields in(message);
  while (in.next()) {
    if (in.field() != 1) continue;
    if (const Revision revision = header_revision(in.bytes())) return revision;
  }
  return fail(malformed_answer("answer"));
}

Result<TxnAnswer> read_txn(std::string_view message, const KeySpace& keys, std::size_t compares) {
  TxnAnswer out;
  std::vector<std::string_view> responses;
  ProtobufFields in(message);
  while (in.next()) {
    if (in.field() == 1) out.revision = header_revision(in.bytes());
    if (in.field() == 2) out.succeeded = in.flag();
    if (in.field() == 3) responses.push_back(in.bytes());
  }
  if (in.malformed() || out.revision == 0) return fail(malformed_answer("transaction"));
  for (std::string_view response : responses) {
    bool changed = false;
    RecordPtr present;
    ProtobufFields one(response);
    while (one.next()) {
      if (one.field() == 2) changed = true;
      if (one.field() == 3)
        for (ProtobufFields removed(one.bytes()); removed.next();)
          if (removed.field() == 2) changed = removed.integer() > 0;
      if (one.field() != 1) continue;
      for (ProtobufFields range(one.bytes()); range.next();) {
        KeyValue kv;
        if (range.field() != 2 || !read_key_value(range.bytes(), kv)) continue;
        if (out.present.size() >= compares) {
          out.guarded = std::max(out.guarded, kv.mod_revision);
          continue;
        }
        auto record = record_of(kv, keys);
        if (!record) return fail(record.error());
        present = std::move(*record);
      }
    }
    if (one.malformed()) return fail(malformed_answer("transaction"));
    if (out.succeeded)
      out.changed.push_back(changed);
    else if (out.present.size() < compares)
      out.present.push_back(std::move(present));
  }
  return out;
}

Result<WatchAnswer> read_watch(std::string_view message, const KeySpace& keys) {
  WatchAnswer out;
  ProtobufFields in(message);
  while (in.next()) {
    switch (in.field()) {
      case 1:
        out.revision = header_revision(in.bytes());
        break;
      case 3:
        out.created = in.flag();
        break;
      case 4:
        out.canceled = in.flag();
        break;
      case 5:
        out.compacted = in.integer();
        break;
      case 6:
        out.cancel_reason = in.bytes();
        break;
      case 7:
        out.fragment = in.flag();
        break;
      case 11: {
        bool is_delete = false;
        KeyValue kv;
        ProtobufFields event(in.bytes());
        while (event.next()) {
          if (event.field() == 1) is_delete = event.integer() == 1;
          if (event.field() == 2 && !read_key_value(event.bytes(), kv))
            return fail(malformed_answer("watch event"));
        }
        if (event.malformed() || kv.mod_revision == 0) return fail(malformed_answer("watch event"));
        out.changed = std::max(out.changed, kv.mod_revision);
        if (is_delete) kv = {.key = kv.key, .value = {}, .mod_revision = kv.mod_revision};
        auto record = record_of(kv, keys);
        if (!record) return fail(record.error());
        if (*record) out.changes.push_back({is_delete, std::move(*record)});
        break;
      }
      default:
        break;
    }
  }
  if (in.malformed()) return fail(malformed_answer("watch answer"));
  return out;
}

Result<CompactionTurn> read_compaction_turn(std::string_view message, std::int64_t version) {
  CompactionTurn out{.version = version + 1};
  KeyValue kv;
  ProtobufFields in(message);
  while (in.next()) {
    if (in.field() == 1) out.revision = header_revision(in.bytes());
    if (in.field() == 2) out.is_ours = in.flag();
    if (in.field() != 3) continue;
    for (ProtobufFields response(in.bytes()); response.next();)
      if (response.field() == 1)
        for (ProtobufFields range(response.bytes()); range.next();)
          if (range.field() == 2 && !read_key_value(range.bytes(), kv))
            return fail(malformed_answer("transaction"));
  }
  if (in.malformed() || out.revision == 0) return fail(malformed_answer("transaction"));
  if (!out.is_ours) out.version = kv.version;
  return out;
}

Result<LeaseAnswer> read_lease(std::string_view message) {
  LeaseAnswer out;
  ProtobufFields in(message);
  while (in.next()) {
    if (in.field() == 2) out.id = in.integer();
    if (in.field() == 3) out.ttl = std::chrono::seconds(in.integer());
    if (in.field() == 4 && !in.bytes().empty())
      return fail(Error::of(Reason::kServiceUnavailable, cat("etcd gives no lease: ", in.bytes())));
  }
  if (in.malformed() || out.id == 0) return fail(malformed_answer("lease"));
  return out;
}

Result<StatusAnswer> read_status(std::string_view message) {
  StatusAnswer out;
  ProtobufFields in(message);
  while (in.next()) {
    if (in.field() == 1) out.revision = header_revision(in.bytes());
    if (in.field() == 2) out.version = in.bytes();
    if (in.field() == 3) out.database_bytes = in.integer();
    if (in.field() == 4) out.leader = static_cast<std::uint64_t>(in.integer());
  }
  if (in.malformed() || out.version.empty()) return fail(malformed_answer("status"));
  return out;
}

bool has_true_progress(std::string_view version) {
  std::int64_t number[3] = {};
  const auto parts = split(version.substr(0, version.find_first_of("-+")), '.');
  for (std::size_t i = 0; i < 3 && i < parts.size(); ++i)
    number[i] = parse_int(parts[i]).value_or(0);
  const auto [major, minor, patch] = number;
  if (major != 3) return major > 3;
  if (minor == 4) return patch >= 31;
  if (minor == 5) return patch >= 13;
  return minor > 5;
}

}  // namespace cardea::store::etcd
