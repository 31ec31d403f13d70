#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "authz/fields/field_judge.h"
#include "authz/fields/uncovered.h"
#include "base/metrics.h"
#include "rest/call.h"
#include "schema/permissions/changed_fields.h"

namespace cardea::rest {

// Permissions on single fields, besides the verb of the request.
//
// A caller without the verb of the request, but with the verb `granular`, continues: every
// changed field must be covered by a permission. A caller with the verb needs permissions only
// for excluded fields. For a caller with the verb and a kind without excluded permissions
// nothing is compared and nothing is asked.
//
// One object for all requests, from any thread; null in Services where the feature is off.
class FieldPermissions {
 public:
  // Both outlive it.
  FieldPermissions(const Snapshot<authz::fields::Uncovered>& uncovered, MetricRegistry& metrics);

  std::shared_ptr<const authz::fields::Uncovered> uncovered() const { return uncovered_.get(); }
  // Whether any field of this resource is excluded from its verbs.
  bool excludes(const catalog::Resource& resource) const;
  // The same, also for the stored version of the objects.
  bool excludes_stored(const catalog::Catalog& catalog, const catalog::Resource& resource) const;

  void count_comparison() const { comparisons_.add(); }
  void count(bool covered, std::size_t checks) const;

 private:
  const Snapshot<authz::fields::Uncovered>& uncovered_;
  Counter &comparisons_, &covered_, &refused_;
  CountHistogram& checks_;
};

// The object of a create as it was sent, without defaults: the parts of the decoded object that
// the client wrote. Made when it is first needed.
struct SentObject {
  json::Value decoded, written;

  bool is_there() const { return !decoded.is_null(); }
  json::Value get() const;
};

// What is known about the fields of one request. Lives in its Settlement.
struct FieldAccess {
  authz::fields::Answers answers;                // kept when a write is retried
  std::set<std::string, std::less<>> denied;     // verbs that are denied, not only not given
  std::optional<schema::ChangedFields> changed;  // by what the caller sent, in the version of the
                                                 // request
  std::optional<schema::ChangedFields> stored;   // the same in the stored version; nothing where
                                                 // that is the same one
  SentObject sent;                               // of a create
  json::Value requested;           // the object that the caller wants to create, decoded
  std::optional<bool> is_covered;  // how the fields were judged last; nullopt: they were not
};

// Whether a request that its verb does not allow may continue with the verb `granular`: only a
// write of an object's own fields.
bool may_be_granular(const catalog::Catalog& catalog, const authz::RequestInfo& info);

// Whether the sent and changed fields will be needed.
bool watches_fields(const Call& call);
// Where the object of a create is kept as it was sent; null when it is not needed.
SentObject* sent_object(Call& call);
// Whether changes by admission are judged too.
bool watches_admission(const Call& call);

// Before admission: `requested` is the object that the caller wants instead of `old` (null: a
// new object), both in the version of call.resource. Where another version is stored
// (`other_storage`), the change is judged there too: a write through a version that lacks a
// field removes the field. `stored` is the stored object; null for a new one. The changed
// fields stay in the call, for conditions. The error is the 403 that names the field.
Task<Result<void>> authorize_change(Call& call, const json::Value* old, json::Value requested,
                                    json::Value stored);
// After admission, where a webhook converts: the stored object becomes `becomes`. The change that
// stays in the call is judged anew with it, because a webhook may answer differently than before.
Task<Result<void>> authorize_stored(Call& call, json::Value stored, json::Value becomes);
// After `authorize_change`, of an apply: fields that keep their values keep their owners too, where
// the caller may not write them. No manager gets such a field or loses it, whatever name the caller
// gives as the field manager.
Task<json::Value> with_owners_of_others(Call& call, json::Value old, json::Value object);
// The same for the change that stays in the call, where the caller goes on with `granular` after
// all.
Task<Result<void>> authorize_known_change(Call& call);
// After admission: further changes by admission must not touch fields that are excluded for the
// caller.
Task<Result<void>> authorize_mutation(Call& call, json::Value requested, json::Value admitted);
// The object as it is stored (null: a new object) and as it will be stored, where that is
// another version: for fields that the version of the request does not have, or does not
// exclude.
Task<Result<void>> authorize_storage(Call& call, const catalog::Resource& storage, json::Value old,
                                     json::Value stored);
// The version that must be judged besides the version of the request; null when there is none.
const catalog::Resource* other_storage(const catalog::Catalog& catalog,
                                       const catalog::Resource& resource);

// At the end of a request: counts how its fields were judged, once, however often that was.
void count_judgement(const Call& call);

// Corrects the audit event of a request whose verb was allowed: it was forbidden after all,
// with the reason.
void note_refusal(Call& call, std::string_view reason);

// The fields that the request of a caller without the verb names: each must be covered, whether
// or not it changes. Judged before the object is read, so the answer depends on the request
// alone. A permission under conditions counts as held here; `authorize_change` evaluates it.
Task<Result<void>> authorize_named(Call& call);
// Whether the request names fields that it cannot write: fields of the server, or fields that
// the endpoint restores.
bool names_ignored_fields(const Call& call);

}  // namespace cardea::rest
