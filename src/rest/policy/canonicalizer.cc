#include "rest/policy/canonicalizer.h"

#include "authz/namespace_policy/documents.h"
#include "base/strings.h"
#include "json/field_error.h"

namespace cardea::rest::policy {

namespace documents = authz::namespace_policy;
using json::Value;

namespace {

// Of another kind or version: the next reader reports it.
bool is_of_another(const catalog::Resource& r, const Value& sent) {
  const Value &kind = sent["kind"], &version = sent["apiVersion"];
  if (!kind.is_null() && !(kind.is_string() && (kind.as_string().empty() ||
                                                equals_ignoring_case(kind.as_string(), r.kind))))
    return true;
  if (version.is_null()) return false;
  std::string_view text = version.as_string();
  return !version.is_string() ||
         !(text.empty() || text == documents::kVersion || text == documents::kApiVersion);
}

}  // namespace

bool PolicyCanonicalizer::applies(const catalog::Resource& r) const {
  return r.group == documents::kGroup && r.version == documents::kVersion;
}

Result<Value> PolicyCanonicalizer::canonical(const catalog::Resource& r,
                                             std::string_view namespace_name,
                                             const Value& sent) const {
  if (is_of_another(r, sent)) return sent;
  json::FieldErrors errors;
  documents::Place place{namespace_name, master_};
  Value out = sent;
  if (r.kind == "Policy")
    out = documents::as_json(documents::read_policy(sent, place, errors));
  else if (r.kind == "PolicyBinding")
    out = documents::as_json(documents::read_policy_binding(sent, place, errors));
  else if (r.kind == "Role")
    out = documents::as_json(documents::read_role(sent, place, "", errors));
  else if (r.kind == "RoleBinding")
    out = documents::as_json(documents::read_role_binding(sent, place, "", errors));
  if (!errors.empty())
    return fail(json::invalid_object(r.group, r.kind, out["metadata"]["name"].as_string(), errors));
  out.set("kind", r.kind);
  out.set("apiVersion", r.api_version());
  return out;
}

}  // namespace cardea::rest::policy
