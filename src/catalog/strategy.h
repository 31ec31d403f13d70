#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "json/field_error.h"
#include "json/value.h"

namespace cardea::catalog {

// The data for a strategy besides the object itself.
struct StrategyContext {
  std::string_view group;
  std::string_view version;
  std::string_view resource;
  std::string_view subresource;  // "" for the object itself
  std::string_view namespace_name;
  std::string_view user;                   // the name of the user
  const json::Value* user_info = nullptr;  // {username, uid, groups, extra} of the user; may be
                                           // null
  std::function<json::Value()> namespace_labels = {};  // of the namespace the request is in; may be
                                                       // empty
  std::string_view now;                                // RFC 3339
  bool allow_privileged = false;

  // An approval is a write of the status under another name, with other permissions.
  bool writes_status() const { return subresource == "status" || subresource == "approval"; }
};

// The rules of one kind, as data in the catalogue: handlers call the hooks and know no kind by
// name. Every hook may be null. Hooks are pure functions, safe from any thread. Objects are in the
// version that the context names.
//
// Order on create: defaults, (mutating admission), prepare_for_create, validate_create. Order on
// update: defaults, (mutating admission), prepare_for_update, validate_update.
struct Strategy {
  using Edit = void (*)(json::Value& object, const StrategyContext&);
  using EditUpdate = void (*)(json::Value& object, const json::Value& old, const StrategyContext&);
  using Check = json::FieldErrors (*)(const json::Value& object, const StrategyContext&);
  using CheckUpdate = json::FieldErrors (*)(const json::Value& object, const json::Value& old,
                                            const StrategyContext&);
  using Warn = std::vector<std::string> (*)(const json::Value& object, const json::Value* old,
                                            const StrategyContext&);

  // Fills in the fields that the client left out; idempotent. Also called for stored objects that
  // an older client wrote.
  Edit defaults = nullptr;
  // Removes fields that a client may not set (status), and sets fields of the server (the caller
  // sets the generation).
  Edit prepare_for_create = nullptr;
  EditUpdate prepare_for_update = nullptr;
  Check validate_create = nullptr;
  CheckUpdate validate_update = nullptr;
  Warn warnings = nullptr;

  // The status subresource. If null, spec and metadata (except labels, annotations, finalizers...
  // as Kubernetes keeps them) come from the old object, and nothing is validated.
  EditUpdate prepare_for_status_update = nullptr;
  CheckUpdate validate_status_update = nullptr;

  // Field selectors beyond metadata.name and metadata.namespace: the names and how to read them.
  std::vector<std::string> selectable_fields = {};
  std::string (*selectable_field)(const json::Value& object, std::string_view field) = nullptr;
  // The message for any other field, with {} for its name. Empty: `"{}" is not a known field
  // selector: only "metadata.name", "metadata.namespace"`.
  std::string_view unknown_field = "";

  enum class NameRule { kDnsSubdomain, kDnsLabel, kDns1035Label, kPathSegment };
  NameRule name_rule = NameRule::kDnsSubdomain;
  bool has_generation = false;          // metadata.generation counts changes of the spec
  bool brings_status = false;           // a new object keeps the status that the client sends
  bool allow_create_on_update = false;  // PUT of a missing object creates it
  bool allow_unconditional_update = true;
  // Marks an object for deletion, with the timestamp, if its kind has its own deletion (a namespace
  // becomes Terminating).
  Edit prepare_for_delete = nullptr;
  // The grace period of a deleted object, if the client gives none.
  std::int64_t (*grace_period)(const json::Value& object) = nullptr;
  bool returns_deleted_object = false;  // a delete answers with the object instead of a Status
  std::string_view default_propagation = "Background";  // or "Orphan"
};

// The hooks of built-in kinds by group and kind ("" / "Pod"); nullptr if a kind has no hooks.
const Strategy* builtin_strategy(std::string_view group, std::string_view kind);

}  // namespace cardea::catalog
