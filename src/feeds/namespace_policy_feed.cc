#include "feeds/namespace_policy_feed.h"

#include "json/parse.h"

namespace cardea::feeds {
namespace {

using authz::namespace_policy::kPoliciesPrefix;
using authz::namespace_policy::kPolicyBindingsPrefix;

constexpr std::string_view kUnreadable = "unreadable";

json::Value document_of(const store::Record* record) {
  if (!record) return {};
  return json::parse(record->value()).value_or(json::Value(kUnreadable));
}

}  // namespace

std::vector<std::string> NamespacePolicyFold::prefixes() const {
  return {std::string(kPoliciesPrefix), std::string(kPolicyBindingsPrefix)};
}

store::Folded NamespacePolicyFold::change(std::string_view key, const store::Record* before,
                                          const store::Record* after) {
  const bool is_policy = key.starts_with(kPoliciesPrefix);
  std::string_view rest = key.substr(is_policy ? kPoliciesPrefix.size()
                                               : kPolicyBindingsPrefix.size());
  const auto slash = rest.find('/');
  if (slash == std::string_view::npos || slash == 0) return store::Folded::kSame;
  std::string_view space = rest.substr(0, slash), name = rest.substr(slash + 1);
  // A namespace has one policy; other objects there are ignored.
  if (is_policy && name != authz::namespace_policy::kPolicyName) return store::Folded::kSame;
  const json::Value was = document_of(before), is = document_of(after);
  if (is_policy)
    next_.change_policy(space, was, is);
  else
    next_.change_bindings(space, name, was, is);
  return is.is_string() ? store::Folded::kUnreadable : store::Folded::kChanged;
}

}  // namespace cardea::feeds
