#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "authz/request_info.h"
#include "base/result.h"
#include "json/selector.h"
#include "json/value.h"
#include "store/store.h"

namespace cardea::rest {

enum class FieldValidation { kIgnore, kWarn, kStrict };

// The URL parameters of a write.
struct WriteOptions {
  bool dry_run = false;
  FieldValidation field_validation = FieldValidation::kWarn;
  std::string field_manager;
  bool force = false;            // apply only
  bool is_apply = false;         // ownership is settled by apply itself
  bool brings_revision = false;  // a new object came with a resourceVersion, which is refused if
                                 // all else is well
  json::Value document;  // as admission sees it: CreateOptions, UpdateOptions or PatchOptions
};

// `kind` is the options' own: "CreateOptions", "UpdateOptions", "PatchOptions".
Result<WriteOptions> write_options(const authz::Query& query, std::string_view kind,
                                   bool is_apply = false);

struct ListOptions {
  enum class Match { kUnset, kExact, kNotOlderThan };
  json::LabelSelector labels;
  json::FieldSelector fields;
  std::string resource_version;
  Match match = Match::kUnset;
  std::int64_t limit = 0;
  std::string continue_token;
  std::optional<std::int64_t> timeout_seconds;
  bool watch = false;
  bool allow_bookmarks = false;
  std::optional<bool> send_initial_events;
};

// Of a list, a watch or the deletion of a collection. Where the request is about one name,
// these options select that name and nothing else: a selector never reaches other objects than
// the authorized one.
Result<ListOptions> list_options(const authz::RequestInfo& info);

struct DeleteOptions {
  bool dry_run = false;
  std::optional<std::int64_t> grace_period_seconds;
  std::optional<std::string> propagation_policy;
  std::optional<bool> orphan_dependents;
  std::optional<std::string> uid, resource_version;  // preconditions
  json::Value document;
};

// From the parsed body (null when there is none) or, without one, from the URL.
Result<DeleteOptions> delete_options(const json::Value& body, const authz::Query& query);

// A resourceVersion as a number; an error in Go's words for what is none.
Result<store::Revision> parse_revision(std::string_view text);

}  // namespace cardea::rest
