#include "rest/unreadable_records.h"

#include "base/strings.h"
#include "json/stored_depth.h"

namespace cardea::rest {
namespace {

constexpr std::size_t kInOneStep = 1000;
constexpr std::size_t kLines = 100;  // of the log

}  // namespace

std::string flaw_of_stored(std::string_view value) {
  auto object = json::parse(value, json::kMaxStoredDepth);
  if (!object) return object.error().message;
  if (!object->is_object() || !(*object)["metadata"].is_object()) return "it is no object";
  if (!value.contains("\"metadata\":{")) return "it is not written as this server writes";
  return "";
}

Error unreadable(std::string_view key) {
  return internal_error(cat("the stored record `", key, "` cannot be read"));
}

UnreadableRecords::~UnreadableRecords() {
  delete keys_.load();
}

void UnreadableRecords::find(const store::Store& store, const Log* log) {
  auto found = std::make_unique<Keys>();
  store::RangeQuery query{.keys = store::keys_with_prefix("/registry/"), .limit = kInOneStep};
  for (;;) {
    auto range = store.range(query);
    if (!range || range->records.empty()) break;
    for (const store::RecordPtr& record : range->records) {
      const std::string flaw = flaw_of_stored(record->value());
      if (flaw.empty()) continue;
      if (log && found->size() < kLines)
        log->write(LogLevel::kError, "a stored record cannot be read",
                   {{"key", std::string(record->key())}, {"reason", flaw}});
      found->emplace(record->key(), record->mod_revision);
    }
    if (!range->more) break;
    query.keys.start = cat(range->records.back()->key(), std::string_view("\0", 1));
  }
  if (!found->empty()) keys_.store(found.release(), std::memory_order_release);
}

bool UnreadableRecords::is_in(const Keys& keys, const store::Record& record) {
  auto at = keys.find(record.key());
  return at != keys.end() && at->second == record.mod_revision;
}

std::size_t UnreadableRecords::count() const {
  const Keys* keys = keys_.load(std::memory_order_acquire);
  return keys ? keys->size() : 0;
}

}  // namespace cardea::rest
