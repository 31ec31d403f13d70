// UncoveredPermissionSet: verbs of field permissions that no other permission implies.
#include "catalog/kinds/authorization/group_resource.h"
#include "catalog/kinds/check.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/strategies.h"
#include "schema/permissions/permissions.h"

namespace cardea::catalog {
namespace {

constexpr std::size_t kMostVerbs = 1024, kLongestVerb = 640, kMostResources = 64;

bool is_noun(std::string_view name) {
  auto slash = name.find('/');
  std::string_view noun = slash == name.npos ? name : name.substr(slash + 1);
  if (noun.empty() || noun[0] < 'a' || noun[0] > 'z' || slash == 0) return false;
  for (char c : noun)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))) return false;
  for (char c : slash == name.npos ? std::string_view() : name.substr(0, slash))
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-')) return false;
  return true;
}

// The verb must have the spelling that the server uses when it asks. Any other spelling would match
// nothing, and so protect nothing.
bool is_verb(std::string_view verb) {
  if (!verb.starts_with(schema::kGranularPrefix)) return false;
  std::string_view rest = verb.substr(schema::kGranularPrefix.size());
  auto open = rest.find('(');
  if (open == rest.npos) return is_noun(rest);
  std::string_view parameter = rest.substr(open + 1);
  if (!is_noun(rest.substr(0, open)) || !parameter.ends_with(')')) return false;
  parameter.remove_suffix(1);
  if (parameter.size() > schema::kLongestParameter) return false;
  auto decoded = percent_decode(parameter);
  return decoded && schema::encoded_parameter(*decoded) == parameter;
}

FieldErrors check_resources(const Value& resources) {
  FieldErrors out;
  Path at = Path("spec") / "resources";
  if (resources.size() > kMostResources)
    return {
        json::too_many(at, static_cast<int>(resources.size()), static_cast<int>(kMostResources))};
  for (std::size_t i = 0; i < resources.size(); ++i) {
    check_group_resource(at.index(i), resources[i], out);
    for (std::size_t j = 0; j < i; ++j)
      if (resources[j]["resource"] == resources[i]["resource"] &&
          resources[j]["group"].as_string() == resources[i]["group"].as_string()) {
        out.push_back(json::duplicate(at.index(i), resources[i]));
        break;
      }
  }
  return out;
}

FieldErrors check_set(const Value& object) {
  FieldErrors out;
  validate_kind_meta(object, false, name_is_dns_subdomain, out);
  for (json::FieldError& error : check_resources(object["spec"]["resources"]))
    out.push_back(std::move(error));
  Path at = Path("spec") / "uncoveredPermissions";
  const Value& verbs = object["spec"]["uncoveredPermissions"];
  if (verbs.size() > kMostVerbs) {
    out.push_back(json::too_many(at, static_cast<int>(verbs.size()), static_cast<int>(kMostVerbs)));
    return out;
  }
  for (std::size_t i = 0; i < verbs.size(); ++i) {
    std::string_view verb = verbs[i].as_string();
    if (verb.size() > kLongestVerb)
      out.push_back(json::too_long(at.index(i), static_cast<int>(kLongestVerb)));
    else if (!is_verb(verb))
      out.push_back(json::invalid(at.index(i), verb,
                                  "must be the verb of a field permission as authorizers see it: "
                                  "granular:nodeAssignment, granular:label(example.com)"));
    for (std::size_t j = 0; j < i; ++j)
      if (verbs[j] == verbs[i]) {
        out.push_back(json::duplicate(at.index(i), verbs[i]));
        break;
      }
  }
  return out;
}

FieldErrors check_new(const Value& object, const StrategyContext&) {
  return check_set(object);
}
FieldErrors check_update(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out = check_set(object);
  validate_kind_meta_update(object, old, out);
  return out;
}

}  // namespace

const Strategy& uncovered_permission_set_strategy() {
  static const Strategy strategy{
      .validate_create = check_new, .validate_update = check_update, .has_generation = true};
  return strategy;
}

}  // namespace cardea::catalog
