#include "feeds/uncovered_feed.h"

#include "json/parse.h"

namespace cardea::feeds {

std::vector<std::string> UncoveredFold::prefixes() const {
  return {std::string(authz::fields::kUncoveredPrefix)};
}

store::Folded UncoveredFold::change(std::string_view key, const store::Record*,
                                    const store::Record* after) {
  if (!after) {
    if (auto at = sets_.find(key); at != sets_.end()) sets_.erase(at);
    return store::Folded::kChanged;
  }
  auto object = json::parse(after->value());
  if (!object || !(*object)["spec"].is_object()) {
    sets_.try_emplace(std::string(key));
    return store::Folded::kUnreadable;
  }
  sets_.insert_or_assign(std::string(key), (*object)["spec"]);
  return store::Folded::kChanged;
}

void UncoveredFold::publish() {
  auto next = std::make_shared<authz::fields::Uncovered>();
  for (const auto& [key, spec] : sets_)
    if (spec.is_null())
      next->add_unread(key);
    else
      next->add(spec);
  uncovered_.set(std::move(next));
}

}  // namespace cardea::feeds
