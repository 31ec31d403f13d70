#include "admission/policy/policy_match.h"

#include <algorithm>

#include "base/strings.h"
#include "json/label_selector.h"

namespace cardea::admission {
namespace {

using json::Value;

bool lists(const Value& list, std::string_view text) {
  return std::ranges::any_of(
      list.items(), [&](const Value& v) { return v.as_string() == "*" || v.as_string() == text; });
}

bool is_namespace(const Review& r) {
  return r.resource.group.empty() && r.resource.name == "namespaces";
}

bool names_resource(const Value& resources, std::string_view name, std::string_view subresource) {
  return std::ranges::any_of(resources.items(), [&](const Value& v) {
    const std::string_view text = v.as_string();
    const auto slash = text.find('/');
    const std::string_view resource = text.substr(0, slash),
                           sub = slash == text.npos ? std::string_view() : text.substr(slash + 1);
    return (resource == "*" || resource == name) && (sub == "*" || sub == subresource);
  });
}

bool selects_object(const Value& selector, const Review& r) {
  if (selector.is_null() || json::selector_is_empty(selector)) return true;
  const auto fits = [&](const Value& object) {
    return object.is_object() && json::selector_matches(selector, object["metadata"]["labels"]);
  };
  return fits(r.object) || (r.old_object != nullptr && fits(*r.old_object));
}

Result<bool> selects_namespace(const Value& selector, const Review& r, const Objects& objects) {
  if (selector.is_null() || json::selector_is_empty(selector)) return true;
  if (is_namespace(r)) {
    const Value& ns = r.object.is_object()      ? r.object
                      : r.old_object != nullptr ? *r.old_object
                                                : r.object;
    return json::selector_matches(selector, ns["metadata"]["labels"]);
  }
  if (r.namespace_name.empty()) return true;
  const store::RecordPtr record = objects.find(r.catalog, "", "namespaces", "", r.namespace_name);
  if (!record)
    return fail(Error::of(Reason::kNotFound,
                          cat("namespaces ", quoted(std::string(r.namespace_name)), " not found")));
  return json::selector_matches(selector, parsed(*record)["metadata"]["labels"]);
}

bool names_object(const Value& rule, const Review& r) {
  const Value& names = rule["resourceNames"];
  return names.empty() || std::ranges::any_of(names.items(), [&](const Value& n) {
           return n.as_string() == r.name;
         });
}

std::optional<Matched> match_rules(const Value& rules, bool equivalents, const Review& r) {
  for (const Value& rule : rules.items())
    if (rule_matches(rule, r, r.resource) && names_object(rule, r)) return Matched{&r.resource};
  if (!equivalents) return std::nullopt;
  for (const Value& rule : rules.items())
    for (const catalog::Group& group : r.catalog.groups())
      for (const catalog::Version& version : group.versions) {
        const catalog::Resource* other = r.catalog.find(group.name, version.name, r.resource.name);
        if (other == nullptr || other == &r.resource ||
            other->storage_prefix != r.resource.storage_prefix)
          continue;
        if (rule_matches(rule, r, *other) && names_object(rule, r)) return Matched{other};
      }
  return std::nullopt;
}

}  // namespace

bool is_admission_configuration(const Review& r) {
  constexpr std::string_view kNames[] = {
      "validatingwebhookconfigurations", "mutatingwebhookconfigurations",
      "validatingadmissionpolicies",     "validatingadmissionpolicybindings",
      "mutatingadmissionpolicies",       "mutatingadmissionpolicybindings"};
  return r.resource.group == "admissionregistration.k8s.io" &&
         std::ranges::find(kNames, r.resource.name) != std::end(kNames);
}

bool rule_matches(const Value& rule, const RuleTarget& t) {
  if (!lists(rule["operations"], t.operation) || !lists(rule["apiGroups"], t.group) ||
      !lists(rule["apiVersions"], t.version))
    return false;
  const std::string_view scope = rule["scope"].as_string();
  if ((scope == "Namespaced" && !t.is_namespaced) || (scope == "Cluster" && t.is_namespaced))
    return false;
  return names_resource(rule["resources"], t.resource, t.subresource);
}

bool rule_matches(const Value& rule, const Review& r, const catalog::Resource& resource) {
  // A namespace lies in itself for authorization; for a rule it is cluster-scoped.
  const bool is_namespaced = !r.namespace_name.empty() && !is_namespace(r);
  return rule_matches(rule, RuleTarget{.operation = operation_name(r.operation),
                                       .group = resource.group,
                                       .version = resource.version,
                                       .resource = resource.name,
                                       .subresource = r.subresource,
                                       .is_namespaced = is_namespaced});
}

Result<std::optional<Matched>> match_request(const Value& match, const Review& r,
                                             const Objects& objects) {
  if (match.is_null()) return Matched{&r.resource};
  const bool equivalents = match["matchPolicy"].as_string() != "Exact";
  if (match_rules(match["excludeResourceRules"], equivalents, r)) return std::nullopt;
  std::optional<Matched> found = Matched{&r.resource};
  if (!match["resourceRules"].empty()) found = match_rules(match["resourceRules"], equivalents, r);
  if (!found || !selects_object(match["objectSelector"], r)) return std::nullopt;
  // Last: it has to read the namespace, and only what matters otherwise may fail because of it.
  const Result<bool> selected = selects_namespace(match["namespaceSelector"], r, objects);
  if (!selected) return fail(selected.error());
  if (!*selected) return std::nullopt;
  return found;
}

}  // namespace cardea::admission
