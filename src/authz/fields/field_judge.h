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

// How a request got past the first question.
enum class Marker : std::uint8_t {
  kRegular,   // its own verb is allowed: only excluded permissions are demanded
  kGranular,  // the verb `granular` is: every changed field has to be covered
};

inline constexpr std::size_t kMostVerbs = 100;  // asked for one request

// What was asked for one request so far, in order, each verb once. Kept while a write is tried
// again, but for the answers that conditions gave to the objects of one attempt.
class Answers {
 public:
  std::optional<bool> find(std::string_view verb) const;
  enum class Holds : std::uint8_t { kForTheRequest, kForTheseObjects };
  void add(std::string_view verb, bool allowed, Holds holds = Holds::kForTheRequest);
  // Other objects are judged from here on.
  void forget_objects();
  const std::vector<std::pair<std::string, bool>>& in_order() const { return order_; }

 private:
  std::unordered_map<std::string, bool, StringHash, std::equal_to<>> known_;
  std::vector<std::pair<std::string, bool>> order_;
  std::vector<std::string> of_objects_;
};

// Why a change is not allowed: one field, the first that is not.
struct FieldRefusal {
  enum class Why : std::uint8_t {
    kNotCovered,  // none of `chain` is allowed, or there is none
    kExcluded,    // `verb` itself is needed
    kUnnamed,     // an excluded permission of which no verb can be made
    kTooMany,     // more than kMostVerbs would have to be asked
  };
  Why why;
  std::string field;  // "metadata.labels.app"
  std::string verb;   // the one that is lacking; empty where no permission guards the field
  std::vector<std::string> chain;  // all that would have covered it, general to specific
};

// Decides whether changes are allowed, without asking anybody itself: it names the verb to ask for
// next, and goes on with the answer. Asks as little as can be: for each field from general to
// specific until something allows it, no verb twice, and nothing after the first refusal.
class FieldJudge {
 public:
  // Both outlive it.
  FieldJudge(const schema::Demands& demands, Marker marker, Answers& answers)
      : demands_(demands), marker_(marker), answers_(answers) {}

  // The verb that has to be asked for; null when the judgement is there.
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
