#pragma once
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "authz/attributes.h"
#include "authz/decision.h"
#include "base/error.h"
#include "base/metrics.h"
#include "impersonation/mode.h"

namespace cardea::impersonation {

// A question whose answer depends on the object of the request.
struct OpenQuestion {
  std::shared_ptr<const authz::OwnedAttributes> asked;
  authz::Decision decision;          // conditional
  bool only_denials_refuse = false;  // a question about all of the same sort was allowed
};

// Time in pieces that follow each other.
class LapClock {
 public:
  std::chrono::nanoseconds lap() {
    auto now = std::chrono::steady_clock::now();
    return now - std::exchange(last_, now);
  }
  std::chrono::nanoseconds total() const { return last_ - began_; }  // of all of them

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now(), last_ = began_;
};

// A request that its sender wants to be treated as another user's: the permission questions, and
// the result of their answers. It does not ask authorizers itself.
//
//   while (const Attributes* q = attempt.question()) attempt.answer(decision about *q);
//   attempt.is_allowed() ? attempt.take_user() : attempt.refusal();
//
// The modes that apply are tried in order; the first in which every question is allowed wins. Where
// answers may stay open, the first mode in which every question is allowed or open comes after
// these. When none does, the first refusal is reported. Belongs to one request; borrows the sender
// and the request. Asking allocates nothing (except for an associated node, whose question has a
// rewritten sender).
class Attempt {
 public:
  enum class Rules : std::uint8_t {
    kConstrained,  // all modes
    kLegacyOnly,   // as before there were modes: another order, and an error is always a refusal
  };
  Attempt(const authz::User& sender, authz::User asked, const authz::RequestInfo& request,
          Rules rules = Rules::kConstrained);
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  // Whether single names may be denied. Then a question about all groups, or about all of extra,
  // does not replace the questions about each: each is asked too, and one denied value refuses.
  void mind_denials(bool may_deny) { minds_denials_ = may_deny; }

  // The next question that must be allowed; null: the attempt is decided. Valid until it is
  // answered.
  const authz::Attributes* question() const { return question_ ? &*question_ : nullptr; }
  // Whether the object of the request will be known to somebody who settles what depends on it.
  // Otherwise a conditional answer is a refusal.
  void may_stay_open(bool may) { may_stay_open_ = may; }
  bool may_stay_open() const { return may_stay_open_; }

  // The answer to the question. A conditional one is what is left of it when the impersonated
  // request is known.
  void answer(authz::Decision decision);
  void keep(authz::Decision conditional) { kept_ = std::move(conditional); }
  std::optional<authz::Decision> take_kept() { return std::exchange(kept_, std::nullopt); }

  // Whether the question is about all groups, or all of extra, at once: a refusal refuses nothing,
  // each is asked about instead. And whether it is about one that such a question has covered: then
  // only a denial refuses.
  bool is_probe() const;
  bool is_covered() const { return is_covered(step_of(at_)); }
  // Why the last mode was refused without a question; empty when none was.
  const std::string& flaw() const { return flaw_; }

  // The request as the impersonated user. For conditions.
  const authz::Attributes& impersonated_request() const { return to_be_; }
  const authz::User& asked() const { return asked_; }
  // The mode of the current question; at the end, the mode that allowed.
  Mode mode() const { return at_.mode; }

  bool is_allowed() const { return !question_ && is_allowed_; }
  // What must still be proved with the object, of the mode that allowed. Empty: nothing.
  const std::vector<OpenQuestion>& open() const { return open_; }
  // Why the sender may be this user, in the mode that allowed; for audit.
  const authz::Explanation& granted() const { return granted_; }
  // The mode whose refusal is told, and the reason of its authorizers.
  Mode refused_mode() const { return refused_at_ ? refused_at_->mode : at_.mode; }
  // The time since the last question was answered, or since the beginning; and until then. The
  // clock is read once for each question.
  std::chrono::nanoseconds lap() { return clock_.lap(); }
  std::chrono::nanoseconds age() const { return clock_.total(); }
  // The user with the groups that the name implies. Call it once, when the attempt is allowed; no
  // other function may be called afterwards.
  authz::User take_user();
  // The 403, when it is not.
  Error refusal();

 private:
  enum class Step : std::uint8_t {
    kOn,
    kName,
    kUid,
    kGroupProbe,
    kGroups,
    kExtraProbe,
    kExtras,
    kEnd
  };
  // Requests that are refused without a question.
  enum class Flaw : std::uint8_t { kNone, kGroup, kMasters, kExtra };
  using Extra = std::map<std::string, std::vector<std::string>>;

  // The position in the questions. Small, so that a refusal can be reported later without making
  // its text now.
  struct Place {
    Mode mode = Mode::kLegacy;
    std::uint8_t step = 0;  // index into the steps of the mode
    Flaw flaw = Flaw::kNone;
    std::size_t index = 0;  // of the group, or of the value of `key`
    Extra::const_iterator key;
  };

  // A mode that is allowed as far as is known without the object.
  struct Candidate {
    Place place;
    std::vector<OpenQuestion> open;
    authz::Explanation granted;
  };

  bool applies(Mode mode) const;
  Step step_of(const Place& place) const;
  void begin(std::size_t mode);
  void ask_next();
  bool has_question() const;
  bool find_flaw(Step step);
  bool is_covered(Step step) const;
  void advance();
  void refuse(authz::Decision decision);
  authz::Decision keep_open(authz::Decision conditional);
  void end_mode();
  void put(const Place& place);
  void tell_lacking(Error& error);
  std::string_view on_verb(Mode mode);
  const authz::User& asking_user(Mode mode);

  const authz::User& sender_;
  authz::User asked_;
  Rules rules_;
  Target target_;
  bool has_only_name_;
  std::size_t values_ = 0;  // of extra, all keys together
  authz::Attributes request_, to_be_;

  Place at_;
  bool is_allowed_ = false;
  bool minds_denials_ = false;
  bool may_stay_open_ = false;
  bool groups_are_covered_ = false, extras_are_covered_ = false;  // by a probe
  std::string flaw_;                                              // why
  std::optional<authz::Attributes> question_;
  std::optional<Place> refused_at_;
  std::optional<Place> lacking_;  // where the old verb failed after it was granted for the name
  authz::Explanation granted_;    // of the last question about the name
  authz::Decision refusal_;
  std::array<char, 96> verb_;
  std::string long_verb_;
  std::optional<authz::User> node_sender_;
  std::optional<authz::Decision> kept_;
  std::vector<OpenQuestion> open_;  // of the current mode; at the end, of the one that allowed
  std::optional<Candidate> candidate_;
  LapClock clock_;
};

}  // namespace cardea::impersonation
