#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "schema/permissions/required_permissions.h"

namespace cardea::authz::fields {

// Which verb let the request through.
enum class Marker : std::uint8_t {
  kRegular,   // the verb of the request is allowed: only excluded permissions are needed
  kGranular,  // the verb `granular` is allowed: every changed field must be covered
};

inline constexpr std::size_t kMostVerbs = 100;  // asked for one request

// The verbs that were asked for one request so far, in order, each once. Kept when a write is
// retried, except for answers that conditions gave to the objects of one attempt.
class Answers {
 public:
  std::optional<bool> find(std::string_view verb) const;
  enum class Holds : std::uint8_t { kForTheRequest, kForTheseObjects };
  void add(std::string_view verb, bool allowed, Holds holds = Holds::kForTheRequest);
  // From here on other objects are judged.
  void forget_objects();
  const std::vector<std::pair<std::string, bool>>& in_order() const { return order_; }

 private:
  std::unordered_map<std::string, bool, StringHash, std::equal_to<>> known_;
  std::vector<std::pair<std::string, bool>> order_;
  std::vector<std::string> of_objects_;
};

// Why a change is not allowed: the first field that is not covered.
struct FieldRefusal {
  enum class Why : std::uint8_t {
    kNotCovered,  // none of `chain` is allowed, or `chain` is empty
    kExcluded,    // exactly `verb` is needed
    kUnnamed,     // an excluded permission that cannot be written as a verb
    kTooMany,     // more than kMostVerbs questions would be needed
  };
  Why why;
  std::string field;               // "metadata.labels.app"
  std::string verb;                // the missing verb; empty where no permission guards the field
  std::vector<std::string> chain;  // all verbs that would have covered it, from general to specific
};

// Decides whether changes are allowed. It does not ask authorizers itself: it names the next
// verb to ask for, and continues with the answer. It asks as little as possible: for each field
// from general to specific until a verb is allowed, no verb twice, and nothing after the first
// refusal.
class FieldJudge {
 public:
  // Both outlive it.
  FieldJudge(const schema::Demands& demands, Marker marker, Answers& answers)
      : demands_(demands), marker_(marker), answers_(answers) {}

  // The next verb to ask for; null when the decision is made.
  const std::string* next();
  void answer(bool allowed, Answers::Holds holds = Answers::Holds::kForTheRequest);
  const std::optional<FieldRefusal>& refusal() const { return refusal_; }

 private:
  // Of the demand at hand: true and false are answers, nothing means that `wanted_` has to be
  // asked.
  std::optional<bool> judge(const schema::Demand& demand);
  std::optional<bool> known(std::uint32_t index);
  void refuse(FieldRefusal::Why why, const schema::Demand& demand, std::string verb);

  const schema::Demands& demands_;
  Marker marker_;
  Answers& answers_;
  std::size_t at_ = 0;
  const std::string* wanted_ = nullptr;
  std::optional<FieldRefusal> refusal_;
};

}  // namespace cardea::authz::fields
