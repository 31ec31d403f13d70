#include "admission/policy/policy_params.h"

#include "base/strings.h"
#include "catalog/convert.h"
#include "json/label_selector.h"

namespace cardea::admission {
namespace {

using json::Value;

Error misconfigured(std::string message) {
  return Error::of(Reason::kInvalid, std::move(message));
}

// As a client reads it. Null while the review waits for its conversion.
Result<Value> shown(const store::Record& record, const catalog::Resource& kind,
                    const Review& review) {
  const Value stored = parsed(record);
  // Nobody knows whether a selector would choose it.
  if (!stored.is_object()) return fail(misconfigured(unreadable_text(record)));
  const catalog::Resource* storage = review.catalog.storage_of(kind);
  if (kind.is_converted_by_webhook && stored["apiVersion"].as_string() != kind.api_version()) {
    Value out = review.by_webhook(stored, kind);
    if (!out.is_null())
      out.member("metadata").set("resourceVersion", std::to_string(record.mod_revision));
    return out;
  }
  Value out = storage == nullptr || storage == &kind ? stored
                                                     : catalog::convert(stored, *storage, kind);
  out.member("metadata").set("resourceVersion", std::to_string(record.mod_revision));
  return out;
}

}  // namespace

Result<const catalog::Resource*> param_resource(const Value& spec,
                                                const catalog::Catalog& catalog) {
  const Value& kind = spec["paramKind"];
  if (kind.is_null()) return nullptr;
  const std::string_view api = kind["apiVersion"].as_string();
  const auto slash = api.find('/');
  const std::string_view group = slash == api.npos ? std::string_view() : api.substr(0, slash),
                         version = slash == api.npos ? api : api.substr(slash + 1);
  if (const catalog::Resource* found = catalog.find_kind(group, version, kind["kind"].as_string()))
    return found;
  return fail(misconfigured(cat("failed to find resource referenced by paramKind: '", group, "/",
                                version, ", Kind=", kind["kind"].as_string(), "'")));
}

Result<std::vector<Value>> collect_params(const catalog::Resource* kind, const Value& binding,
                                          const Review& r, const Objects& objects) {
  const Value& ref = binding["paramRef"];
  if (kind == nullptr || ref.is_null()) return std::vector<Value>{Value()};
  const std::string_view wanted = ref["namespace"].as_string();
  std::string_view space;
  if (kind->namespaced) {
    space = wanted.empty() ? r.namespace_name : wanted;
    if (space.empty())
      return fail(
          misconfigured("cannot use namespaced paramRef in policy binding that matches "
                        "cluster-scoped resources"));
  } else if (!wanted.empty()) {
    return fail(
        misconfigured("paramRef.namespace must not be provided for a cluster-scoped `paramKind`"));
  }
  std::vector<Value> out;
  if (const std::string_view name = ref["name"].as_string(); !name.empty()) {
    if (const store::RecordPtr record = objects.find(*kind, space, name)) {
      Result<Value> param = shown(*record, *kind, r);
      if (!param) return fail(param.error());
      out.push_back(std::move(*param));
    }
  } else {
    for (const store::RecordPtr& record : objects.records(*kind, space)) {
      Result<Value> param = shown(*record, *kind, r);
      if (!param) return fail(param.error());
      if (json::selector_matches(ref["selector"], (*param)["metadata"]["labels"]))
        out.push_back(std::move(*param));
    }
  }
  if (out.empty() && ref["parameterNotFoundAction"].as_string() == "Deny")
    return fail(
        misconfigured("no params found for policy binding with `Deny` parameterNotFoundAction"));
  return out;
}

}  // namespace cardea::admission
