#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "authz/fields/field_judge.h"
#include "authz/fields/uncovered.h"
#include "base/metrics.h"
#include "rest/call.h"
#include "schema/permissions/changed_fields.h"

namespace cardea::rest {

// Which fields of an object a caller may change: permissions on parts of objects, beside the verb
// of the request.
//
// Whoever may not do what they ask, but has the verb `granular`, goes on: every field that they
// change has to be covered by a permission. Whoever may do it needs permissions only for fields
// that are excluded from everything else. Nothing is compared and nothing is asked for a caller who
// has the verb and a kind without excluded permissions.
//
// One for all requests, from any thread; null in Services where the feature is off.
class FieldPermissions {
 public:
  // Both outlive it.
  FieldPermissions(const Snapshot<authz::fields::Uncovered>& uncovered, MetricRegistry& metrics);

  std::shared_ptr<const authz::fields::Uncovered> uncovered() const { return uncovered_.get(); }
  // Whether anything about objects of this resource is excluded from its verbs.
  bool excludes(const catalog::Resource& resource) const;
  // The same, or about objects as they are stored.
  bool excludes_stored(const catalog::Catalog& catalog, const catalog::Resource& resource) const;

  void count_comparison() const { comparisons_.add(); }
  void count(bool covered, std::size_t checks) const;

 private:
  const Snapshot<authz::fields::Uncovered>& uncovered_;
  Counter &comparisons_, &covered_, &refused_;
  CountHistogram& checks_;
};

// The object of a create as it came, without defaults: the parts of the decoded one that its writer
// wrote. Put together when somebody wants to see it.
struct SentObject {
  json::Value decoded, written;

  bool is_there() const { return !decoded.is_null(); }
  json::Value get() const;
};

// What is known about the fields of one request. Lives in its Settlement.
struct FieldAccess {
  authz::fields::Answers answers;                // kept while a write is tried again
  std::optional<schema::ChangedFields> changed;  // by what the caller sent, in the version of the
                                                 // request
  std::optional<schema::ChangedFields> stored;   // the same in the stored version; nothing where
                                                 // that is the same one
  SentObject sent;                               // of a create
  json::Value requested;  // what the caller wants to create, as the server understands it
};

// Whether a request that its verb does not allow may go on with the verb `granular`: a write of an
// object's own fields.
bool may_be_granular(const catalog::Catalog& catalog, const authz::RequestInfo& info);

// Whether somebody will want to know what the caller sent and changed.
bool watches_fields(const Call& call);
// Where the object of a create is to be kept as it was sent; null when nobody will look.
SentObject* sent_object(Call& call);
// Whether what admission changes is looked at too.
bool watches_admission(const Call& call);

// Before admission: `requested` is what the caller wants instead of `old` (null: a new object),
// both in the version of call.resource. Where another version is stored (`other_storage`), the
// change is judged there too: writing through a version that lacks a field takes the field away.
// `stored` is the object as it is stored; null for a new one. What it changes stays in the call,
// for conditions. The error is the 403 that names the field.
Task<Result<void>> authorize_change(Call& call, const json::Value* old, json::Value requested,
                                    json::Value stored);
// The same for the change that stays in the call, where the caller goes on with `granular` after
// all.
Task<Result<void>> authorize_known_change(Call& call);
// After it: what admission changed beyond that must not be excluded from what the caller may.
Task<Result<void>> authorize_mutation(Call& call, json::Value requested, json::Value admitted);
// As it is stored (null: a new object) and will be, where that is another version: fields that the
// version of the request does not know, or does not exclude.
Task<Result<void>> authorize_storage(Call& call, const catalog::Resource& storage, json::Value old,
                                     json::Value stored);
// The version that has to be looked at besides the one of the request; null when there is none.
const catalog::Resource* other_storage(const catalog::Catalog& catalog,
                                       const catalog::Resource& resource);

// The audit event of a request whose verb was allowed says after all that it was forbidden, and
// why.
void note_refusal(Call& call, std::string_view reason);

// The fields that the request of a caller without the verb names: each has to be covered whether or
// not it changes. Asked before the object is read, so the answer depends on the request alone. A
// permission under conditions counts as held here; `authorize_change` settles it.
Task<Result<void>> authorize_named(Call& call);
// Whether the request names fields that it cannot write: the server's own, or what its endpoint
// puts back.
bool names_ignored_fields(const Call& call);

}  // namespace cardea::rest
