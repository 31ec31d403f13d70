#include "authz/rbac/aggregation.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "json/label_selector.h"
#include "json/print.h"

namespace cardea::authz::rbac {
namespace {

using json::Value;

class Gathering {
 public:
  explicit Gathering(const std::vector<Value>& roles) {
    for (const Value& r : roles) roles_.push_back(&r);
    std::ranges::sort(roles_, {}, name_of);
  }

  std::vector<Value> gather(std::string_view name) {
    auto role = std::ranges::find(roles_, name, name_of);
    if (role != roles_.end()) visit(**role);
    return std::move(rules_);
  }

 private:
  static std::string_view name_of(const Value* role) {
    return (*role)["metadata"]["name"].as_string();
  }

  // A role whose rules were added once has nothing new to add, which also ends circles.
  void visit(const Value& role) {
    if (!visited_.insert(name_of(&role)).second) return;
    if (!role["aggregationRule"].is_object()) {
      for (const Value& rule : role["rules"].items())
        if (seen_.insert(json::print(rule)).second) rules_.push_back(rule);
      return;
    }
    for (const Value& selector : role["aggregationRule"]["clusterRoleSelectors"].items())
      for (const Value* other : roles_)
        if (json::selector_matches(selector, (*other)["metadata"]["labels"])) visit(*other);
  }

  std::vector<const Value*> roles_;
  std::set<std::string_view> visited_;
  std::set<std::string> seen_;
  std::vector<Value> rules_;
};

}  // namespace

std::vector<Value> aggregated_rules(std::string_view name,
                                    const std::vector<Value>& cluster_roles) {
  return Gathering(cluster_roles).gather(name);
}

}  // namespace cardea::authz::rbac
