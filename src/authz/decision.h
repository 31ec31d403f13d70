#pragma once
#include <cstdint>
#include <memory>
#include <string>

namespace cardea::authz {

class Conditions;

// Why a decision was taken, for the person who reads the 403 or the audit log. Deciding must not
// cost the making of a sentence nobody reads: a reason may be a text, or a place in the policy that
// can be asked for its text later. A value; copying the second kind allocates nothing.
class Explanation {
 public:
  // Immutable policy that can say what it decided. Kept alive by the decisions made from it.
  class Source {
   public:
    virtual ~Source() = default;
    virtual std::string explain(std::uint64_t key) const = 0;
  };

  Explanation() = default;
  Explanation(std::string text) : text_(std::move(text)) {}
  Explanation(const char* text) : text_(text) {}
  Explanation(std::shared_ptr<const Source> source, std::uint64_t key)
      : source_(std::move(source)), key_(key) {}

  std::string text() const { return source_ ? source_->explain(key_) : text_; }
  bool empty() const { return !source_ && text_.empty(); }
  const Source* source() const { return source_.get(); }
  std::uint64_t key() const { return key_; }

 private:
  std::string text_;
  std::shared_ptr<const Source> source_;
  std::uint64_t key_ = 0;
};

// What an authorizer answers. Immutable once made; the default-constructed one denies.
//
// Allow and Deny are final, NoOpinion passes the question on. Conditional means that the object,
// which is not known yet, decides: `conditions` say how, and the authorizer that made them
// evaluates them later. A caller that cannot wait for the object folds it: Deny if it could become
// one, else NoOpinion.
struct Decision {
  enum class Kind : std::uint8_t { kDeny, kAllow, kNoOpinion, kConditional };

  Kind kind = Kind::kDeny;
  Explanation reason;
  std::string error;  // what went wrong on the way; never turns into an allow
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
