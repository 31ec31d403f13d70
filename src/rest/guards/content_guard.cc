#include "rest/guards/content_guard.h"

#include <set>

#include "authz/eligibility.h"
#include "base/strings.h"
#include "rest/asking.h"
#include "rest/conversion/versions.h"
#include "rest/present/status.h"
#include "rest/write/object_rules.h"
#include "rest/write/stored_object.h"
#include "rest/write/write.h"

namespace cardea::rest {

using catalog::Resource;
using json::Value;

namespace {

// The limits of objects and namespaces that are checked. Beyond them the check would take too
// long, and the answer is no.
constexpr std::size_t kMostObjects = 1000;
constexpr std::size_t kMostNamespaces = 10'000;

bool is_namespace(const Resource& r) {
  return r.group.empty() && r.name == "namespaces";
}
bool is_definition(const Resource& r) {
  return r.group == "apiextensions.k8s.io" && r.name == "customresourcedefinitions";
}

// Deleting all objects of a resource in a namespace, or in none.
struct Content {
  const Resource& resource;
  std::string namespace_name;
  bool above_namespaces = false;
};

// Asks on behalf of one deletion.
class Asking {
 public:
  Asking(Call& call, std::string_view why) : call_(call), why_(why) {}

  Task<Result<void>> ask(Content content) {
    authz::Attributes a = attributes_of(content);
    bool is_open = call_.services.conditional_authorization && authz::may_be_conditional(a);
    authz::Chain::Verdict verdict = co_await ask_chain(
        call_, call_.chain, a, is_open ? authz::Asking::kConditionsAware : authz::Asking::kFolded);
    if (verdict.decision.kind == authz::Decision::Kind::kDeny)
      co_return fail(refusal(content, verdict.decision.reason.text()));
    if (!authz::possible_outcomes(verdict.decision).deny) co_return Result<void>();
    Result<void> judged = co_await judge(content, std::move(verdict.decision));
    co_return judged;
  }

 private:
  authz::Attributes attributes_of(const Content& content) const {
    authz::Attributes a(call_.user);
    a.is_resource_request = true;
    a.verb = "delete";
    a.api_group = content.resource.group;
    a.api_version = content.resource.version;
    a.resource = content.resource.name;
    a.namespace_name = content.namespace_name;
    a.above_namespaces = content.above_namespaces;
    return a;
  }
  Error refusal(const Content& content, std::string_view reason) const {
    authz::Attributes asked = attributes_of(content);
    Error error = authz::forbidden(asked, cat(reason, "; ", why_));
    return error;
  }

  // What is denied on conditions, on each stored object.
  Task<Result<void>> judge(const Content& content, authz::Decision open) {
    const Resource& r = content.resource;
    const Resource& storage = *call_.catalog->storage_of(r);
    auto range = call_.services.store.range(
        {.keys = store::keys_with_prefix(collection_prefix(r, content.namespace_name)),
         .limit = kMostObjects + 1});
    if (!range) co_return fail(range.error());
    looked_at_ += range->records.size();
    if (looked_at_ > kMostObjects)
      co_return fail(
          refusal(content, cat("a denial depends on the objects, and there are more than ",
                               kMostObjects, " of them to look at: delete them first")));
    std::vector<Value> stored;
    for (const store::RecordPtr& record : range->records) stored.push_back(parse_stored(*record));
    Result<std::vector<Value>> objects = co_await convert_all(call_, std::move(stored), storage, r);
    if (!objects) co_return fail(objects.error());
    for (const Value& old : *objects) {
      authz::ConditionData data{.operation = "DELETE",
                                .old_object = &old,
                                .group = r.group,
                                .version = r.version,
                                .kind = r.kind,
                                .resource = r.name,
                                .namespace_name = content.namespace_name,
                                .name = old["metadata"]["name"].as_string(),
                                .user = &call_.user};
      authz::Decision settled = co_await settle_decision(call_, call_.chain, open, data);
      if (settled.kind == authz::Decision::Kind::kDeny)
        co_return fail(refusal(content, settled.reason.text()));
    }
    co_return Result<void>();
  }

  Call& call_;
  std::string_view why_;
  std::size_t looked_at_ = 0;
};

bool has_objects(const Call& call, const std::string& prefix) {
  auto range = call.services.store.range({.keys = store::keys_with_prefix(prefix), .limit = 1});
  // What cannot be read may be there.
  return !range || !range->records.empty();
}

// Whether the caller may delete this namespace by what is granted above namespaces.
Task<bool> holds_at_cluster_scope(Call& call, std::string name) {
  authz::Attributes a{call.user, call.info};
  a.verb = "delete";
  a.subresource = "";
  a.name = name;
  a.namespace_name = "";
  a.above_namespaces = true;
  authz::Chain::Verdict verdict = co_await ask_chain(call, call.chain, a);
  co_return verdict.decision.allowed();
}

// When a deletion comes: at once; or some day, when an owner is gone. Until then there may be
// objects of any resource.
enum class When { kNow, kSomeDay };

Task<Result<void>> check_namespace(Call& call, std::string name, When when) {
  bool above = co_await holds_at_cluster_scope(call, name);
  Asking asking(call, when == When::kNow
                          ? "deleting the namespace would delete it"
                          : "deleting the namespace after its owner would delete it");
  std::set<std::string_view> seen;  // places, which several versions share
  for (const catalog::Group& group : call.catalog->groups())
    for (const catalog::Version& version : group.versions)
      for (const Resource* r : version.resources) {
        if (!r->namespaced || r->storage_prefix.empty() || !r->has_verb("delete") ||
            !seen.insert(r->storage_prefix).second)
          continue;
        if (when == When::kNow && !has_objects(call, collection_prefix(*r, name))) continue;
        Content content{*r, name, above};
        Result<void> passed = co_await asking.ask(content);
        if (!passed) co_return passed;
      }
  co_return Result<void>();
}

// The namespaces that have objects of a resource, found by one look for each.
Result<std::vector<std::string>> namespaces_with(const Call& call, const Resource& r) {
  std::vector<std::string> out;
  store::KeyRange keys = store::keys_with_prefix(r.storage_prefix);
  for (;;) {
    auto range = call.services.store.range({.keys = keys, .limit = 1});
    if (!range) return fail(range.error());
    if (range->records.empty()) return out;
    std::string_view rest = range->records[0]->key().substr(r.storage_prefix.size());
    out.emplace_back(rest.substr(0, rest.find('/')));
    if (out.size() > kMostNamespaces) return out;
    // `0` comes after `/`.
    keys.start = cat(r.storage_prefix, out.back(), "0");
  }
}

Task<Result<void>> check_definition(Call& call, const Value& definition) {
  std::string_view group = definition["spec"]["group"].as_string(),
                   plural = definition["spec"]["names"]["plural"].as_string();
  const Resource* r = nullptr;
  for (const Value& version : definition["spec"]["versions"].items())
    if (!r) r = call.catalog->find(group, version["name"].as_string(), plural);
  if (!r || !r->is_custom) co_return Result<void>();  // never served: it has no objects
  Asking asking(call, "deleting the CustomResourceDefinition would delete it");
  if (!r->namespaced) {
    if (!has_objects(call, r->storage_prefix)) co_return Result<void>();
    Content content{*r, ""};
    Result<void> passed = co_await asking.ask(content);
    co_return passed;
  }
  auto spaces = namespaces_with(call, *r);
  if (!spaces) co_return fail(spaces.error());
  if (spaces->size() > kMostNamespaces)
    co_return fail(Error::of(
        Reason::kForbidden,
        cat("there are objects in more than ", kMostNamespaces,
            " namespaces, too many to tell whether their deletion is denied: delete them first")));
  for (const std::string& space : *spaces) {
    Content content{*r, space, true};
    Result<void> passed = co_await asking.ask(content);
    if (!passed) co_return passed;
  }
  co_return Result<void>();
}

Task<Result<void>> check_content(Call& call, const Value& object, std::string name, When when) {
  Result<void> passed;
  if (is_namespace(*call.resource))
    passed = co_await check_namespace(call, std::move(name), when);
  else
    passed = co_await check_definition(call, object);
  co_return passed;
}

}  // namespace

bool ContentGuard::applies(const Resource& r) const {
  return is_namespace(r) || is_definition(r);
}

Task<Result<void>> ContentGuard::check(Call& call, WriteAttempt attempt) const {
  const Value& owners = attempt.object["metadata"]["ownerReferences"];
  if (owners.empty() || !call.chain->may_deny()) co_return Result<void>();
  if (attempt.old && (*attempt.old)["metadata"]["ownerReferences"] == owners)
    co_return Result<void>();
  // A name that the server made up is known by now.
  std::string name(attempt.object["metadata"]["name"].as_string());
  Result<void> passed = co_await check_content(call, attempt.old ? *attempt.old : attempt.object,
                                               std::move(name), When::kSomeDay);
  co_return passed;
}

Task<Result<void>> ContentGuard::check_deletion(Call& call, const Value& old) const {
  if (!call.chain->may_deny()) co_return Result<void>();
  Result<void> passed = co_await check_content(
      call, old, std::string(old["metadata"]["name"].as_string()), When::kNow);
  co_return passed;
}

}  // namespace cardea::rest
