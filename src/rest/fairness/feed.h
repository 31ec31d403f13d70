#pragma once
#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "rest/fairness/fairness.h"
#include "store/follow.h"

namespace cardea::rest::fairness {

inline constexpr std::string_view kLevelsPrefix = "/registry/prioritylevelconfigurations/";
inline constexpr std::string_view kSchemasPrefix = "/registry/flowschemas/";

// Puts FlowSchemas and PriorityLevelConfigurations into force. One that cannot be read counts as
// absent: its requests go where they would go without it, at last to catch-all.
class RulesFold {
 public:
  explicit RulesFold(Fairness& fairness) : fairness_(fairness) {}

  std::vector<std::string> prefixes() const;
  store::Folded change(std::string_view key, const store::Record* before,
                       const store::Record* after);
  void publish();

 private:
  Fairness& fairness_;
  std::map<std::string, json::Value, std::less<>> objects_;  // by key
};

using RulesFeed = store::Follower<RulesFold>;

}  // namespace cardea::rest::fairness
