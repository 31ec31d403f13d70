#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "advice/logged_changes.h"
#include "json/value.h"

namespace cardea::advice {

struct SuggestedRule {
  std::string group, resource;        // "apps", "deployments/status"
  std::vector<std::string> verbs;     // sorted
  std::vector<std::string> replaced;  // the verbs that the requests had, which would allow more
  std::size_t changes = 0;            // how many writes it is for; 0: for reading
};

struct SuggestedRole {
  std::string namespace_name;  // empty: a ClusterRole
  std::vector<SuggestedRule> rules;
};

// The smallest roles that cover these changes: without any one of their verbs, one of the
// changes would be refused. Where several verbs would cover a change, the most specific is
// taken. The same changes give the same roles, in any order. The last rules, which are for no
// change, let the client read the objects whose fields it changes.
std::vector<SuggestedRole> suggest_roles(const std::vector<LoggedChange>& changes);

// Whether a user with these verbs, and no others, may make the change.
bool is_covered(const LoggedChange& change, const std::set<std::string, std::less<>>& verbs);

// As YAML with what each rule replaces beside it, ready for `kubectl apply`; as a List.
std::string roles_yaml(const std::vector<SuggestedRole>& roles, std::string_view user);
json::Value roles_json(const std::vector<SuggestedRole>& roles, std::string_view user);

}  // namespace cardea::advice
