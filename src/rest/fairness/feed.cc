#include "rest/fairness/feed.h"

#include "json/parse.h"

namespace cardea::rest::fairness {

std::vector<std::string> RulesFold::prefixes() const {
  return {std::string(kLevelsPrefix), std::string(kSchemasPrefix)};
}

store::Folded RulesFold::change(std::string_view key, const store::Record*,
                                const store::Record* after) {
  auto known = objects_.find(key);
  if (!after) {
    if (known == objects_.end()) return store::Folded::kSame;
    objects_.erase(known);
    return store::Folded::kChanged;
  }
  auto object = json::parse(after->value());
  if (!object) {
    if (known != objects_.end()) objects_.erase(known);
    return store::Folded::kUnreadable;
  }
  // A status changes nothing.
  const bool is_same = known != objects_.end() && known->second["spec"] == (*object)["spec"] &&
                       known->second["metadata"]["uid"] == (*object)["metadata"]["uid"];
  objects_.insert_or_assign(std::string(key), std::move(*object));
  return is_same ? store::Folded::kSame : store::Folded::kChanged;
}

void RulesFold::publish() {
  std::vector<json::Value> levels, schemas;
  for (const auto& [key, object] : objects_)
    (key.starts_with(kLevelsPrefix) ? levels : schemas).push_back(object);
  fairness_.set_rules(Rules::read(levels, schemas), std::chrono::steady_clock::now());
}

}  // namespace cardea::rest::fairness
