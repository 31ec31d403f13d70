#include "feeds/access_policy_feed.h"

#include "json/parse.h"

namespace cardea::feeds {
namespace {

using authz::access::Policy;
using authz::access::PolicyPtr;

constexpr std::string_view kClusterPrefix = "/registry/access.cardea.dev/clusteraccesspolicies/";
constexpr std::string_view kNamespacedPrefix = "/registry/access.cardea.dev/accesspolicies/";

// Null for a key that no policy has. `object` of a policy that nobody can read is empty: it denies
// everybody, because nobody knows whom it denied.
PolicyPtr policy_of(std::string_view key, const json::Value& object) {
  if (key.starts_with(kClusterPrefix))
    return std::make_shared<const Policy>("", key.substr(kClusterPrefix.size()), object);
  std::string_view rest = key.substr(kNamespacedPrefix.size());
  auto slash = rest.find('/');
  if (slash == std::string_view::npos || slash == 0) return nullptr;
  return std::make_shared<const Policy>(rest.substr(0, slash), rest.substr(slash + 1), object);
}

}  // namespace

std::vector<std::string> AccessPolicyFold::prefixes() const {
  return {std::string(kClusterPrefix), std::string(kNamespacedPrefix)};
}

store::Folded AccessPolicyFold::change(std::string_view key, const store::Record*,
                                       const store::Record* after) {
  auto object = after ? json::parse(after->value()) : Result<json::Value>(json::Value());
  const bool is_readable = object && (!after || (*object)["spec"].is_object());
  PolicyPtr policy = after ? policy_of(key, is_readable ? *object : json::Value::object())
                           : nullptr;
  if (auto at = by_key_.find(key); at != by_key_.end()) {
    next_.remove(at->second);
    by_key_.erase(at);
  }
  if (!policy) return after ? store::Folded::kUnreadable : store::Folded::kChanged;
  next_.add(policy);
  by_key_.emplace(std::string(key), std::move(policy));
  return is_readable ? store::Folded::kChanged : store::Folded::kUnreadable;
}

}  // namespace cardea::feeds
