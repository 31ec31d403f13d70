#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cardea::authz {

class Conditions;

// A stored object without which a decision would not be as it is.
struct Ground {
  std::string_view resource;                   // "rolebindings"
  std::string_view namespace_name = {}, name;  // live as long as the policy
};

// The reason of a decision, for the reader of the 403 or of the audit log. A decision must not
// pay for a sentence that is never read: a reason is a text, or a place in the policy from
// which the text can be made later. A value; copying the second kind allocates nothing.
class Explanation {
 public:
  // An immutable policy that can explain its decisions. Decisions keep it alive.
  class Source {
   public:
    virtual ~Source() = default;
    virtual std::string explain(std::uint64_t key) const = 0;
    virtual std::vector<Ground> grounds(std::uint64_t) const { return {}; }
  };

  Explanation() = default;
  Explanation(std::string text) : text_(std::move(text)) {}
  Explanation(const char* text) : text_(text) {}
  Explanation(std::shared_ptr<const Source> source, std::uint64_t key)
      : source_(std::move(source)), key_(key) {}

  // The objects that allow it, as far as the policy knows them.
  std::vector<Ground> grounds() const {
    return source_ ? source_->grounds(key_) : std::vector<Ground>();
  }
  std::string text() const { return source_ ? source_->explain(key_) : text_; }
  bool empty() const { return !source_ && text_.empty(); }
  const Source* source() const { return source_.get(); }
  std::uint64_t key() const { return key_; }

 private:
  std::string text_;
  std::shared_ptr<const Source> source_;
  std::uint64_t key_ = 0;
};

// The answer of an authorizer. Immutable once made; the default-constructed one denies.
//
// Allow and Deny are final, NoOpinion leaves the question to the next authorizer. Conditional
// means that the decision depends on the object, which is not known yet: `conditions` say how,
// and the authorizer that made them evaluates them later. A caller that cannot wait for the
// object reduces the answer: Deny if it could become one, else NoOpinion.
struct Decision {
  enum class Kind : std::uint8_t { kDeny, kAllow, kNoOpinion, kConditional };

  Kind kind = Kind::kDeny;
  Explanation reason;
  std::string error;                             // errors on the way; they never become an allow
  std::shared_ptr<const Conditions> conditions;  // exactly when kind is kConditional

  static Decision allow(Explanation reason = {}) {
    return {Kind::kAllow, std::move(reason), "", nullptr};
  }
  static Decision deny(Explanation reason) { return {Kind::kDeny, std::move(reason), "", nullptr}; }
  static Decision no_opinion(Explanation reason = {}, std::string error = "") {
    return {Kind::kNoOpinion, std::move(reason), std::move(error), nullptr};
  }
  static Decision conditional(std::shared_ptr<const Conditions> conditions) {
    return {Kind::kConditional, {}, "", std::move(conditions)};
  }
  bool allowed() const { return kind == Kind::kAllow; }
};

}  // namespace cardea::authz
