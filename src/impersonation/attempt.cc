#include "impersonation/attempt.h"

#include <algorithm>
#include <span>

#include "authz/authorizer.h"
#include "base/strings.h"
#include "catalog/kinds/check.h"

namespace cardea::impersonation {
namespace {

using authz::Attributes;
using authz::Decision;
using authz::User;

constexpr std::string_view kAuthentication = "authentication.k8s.io";
constexpr std::string_view kNodeName = "authentication.kubernetes.io/node-name",
                           kNodeKeys = "authentication.kubernetes.io/associated-node-keys";
constexpr std::string_view kNodesGroup = "system:nodes";
// From so many on one question about all of them comes first.
constexpr std::size_t kManyParts = 4;

void ensure(std::vector<std::string>& groups, std::string_view group) {
  if (std::ranges::find(groups, group) == groups.end()) groups.emplace_back(group);
}

std::string error_and_reason(const Decision& decision) {
  std::string reason = decision.reason.text();
  if (decision.error.empty()) return reason;
  return reason.empty() ? decision.error : cat(decision.error, ": ", reason);
}

// What no constrained mode takes for a key of `extra` and its values; empty when nothing is wrong.
std::string extra_problem(const std::string& key, const std::vector<std::string>& values) {
  if (key.empty()) return "impersonating the empty string key in extra is not allowed";
  json::FieldErrors errors;
  catalog::validate_domain_prefixed_path(catalog::Path("extra.key"), json::Value(key), errors);
  if (!errors.empty()) {
    std::vector<std::string> texts;
    for (const json::FieldError& e : errors) texts.push_back(e.message());
    return cat("impersonating an invalid key in extra is not allowed: ", authz::aggregated(texts));
  }
  if (lower(key) != key)
    return cat("impersonating a non-lowercase key in extra is not allowed: ", quoted(key));
  if (values.empty()) return "impersonating empty values in extra is not allowed";
  if (std::ranges::find(values, "") != values.end())
    return "impersonating the empty string value in extra is not allowed";
  return "";
}

}  // namespace

Attempt::Attempt(const User& sender, User asked, const authz::RequestInfo& request, Rules rules)
    : sender_(sender),
      asked_(std::move(asked)),
      rules_(rules),
      target_(target_of(asked_.name)),
      has_only_name_(asked_.uid.empty() && asked_.groups.empty() && asked_.extra.empty()),
      request_(sender, request),
      to_be_(asked_, request) {
  for (const auto& [key, values] : asked_.extra) values_ += values.size();
  begin(rules == Rules::kConstrained ? 0 : static_cast<std::size_t>(Mode::kLegacy));
}

bool Attempt::applies(Mode mode) const {
  switch (mode) {
    case Mode::kAssociatedNode: {
      if (!has_only_name_ || target_.kind != Target::Kind::kNode) return false;
      if (target_of(sender_.name).kind != Target::Kind::kServiceAccount) return false;
      auto node = sender_.extra.find(std::string(kNodeName));
      return node != sender_.extra.end() && node->second.size() == 1 &&
             node->second[0] == target_.node;
    }
    case Mode::kArbitraryNode:
      return has_only_name_ && target_.kind == Target::Kind::kNode;
    case Mode::kServiceAccount:
      return has_only_name_ && target_.kind == Target::Kind::kServiceAccount;
    case Mode::kUserInfo:
      return target_.kind == Target::Kind::kUser;
    case Mode::kLegacy:
      break;
  }
  return true;
}

Attempt::Step Attempt::step_of(const Place& place) const {
  static constexpr Step kConstrained[] = {Step::kOn,         Step::kName,   Step::kUid,
                                          Step::kGroupProbe, Step::kGroups, Step::kExtraProbe,
                                          Step::kExtras,     Step::kEnd};
  static constexpr Step kLegacy[] = {Step::kName, Step::kUid, Step::kGroups, Step::kExtras,
                                     Step::kEnd};
  static constexpr Step kOlder[] = {Step::kName, Step::kGroups, Step::kExtras, Step::kUid,
                                    Step::kEnd};
  if (place.mode != Mode::kLegacy) return kConstrained[place.step];
  return rules_ == Rules::kConstrained ? kLegacy[place.step] : kOlder[place.step];
}

void Attempt::begin(std::size_t mode) {
  while (mode < kModes && !applies(static_cast<Mode>(mode))) ++mode;
  open_.clear();
  if (mode == kModes) {
    question_.reset();
    if (!candidate_) return;
    at_ = candidate_->place;
    open_ = std::move(candidate_->open);
    granted_ = std::move(candidate_->granted);
    is_allowed_ = true;
    return;
  }
  at_ = {.mode = static_cast<Mode>(mode), .key = asked_.extra.begin()};
  groups_are_covered_ = extras_are_covered_ = false;
  ask_next();
}

// From where it stands to the next question, over everything that needs none.
void Attempt::ask_next() {
  for (;;) {
    Step step = step_of(at_);
    if (step == Step::kExtras)  // a key without values has nothing to ask for
      while (at_.key != asked_.extra.end() && at_.key->second.empty()) ++at_.key;
    if (step == Step::kEnd) return end_mode();
    if (find_flaw(step)) return refuse(Decision::no_opinion(flaw_));
    if (has_question()) return put(at_);
    ++at_.step;
    at_.index = 0;
  }
}

// A mode that needs no object is better than an earlier one that does.
void Attempt::end_mode() {
  if (!open_.empty()) {
    if (!candidate_) candidate_ = {at_, std::move(open_), std::move(granted_)};
    return begin(static_cast<std::size_t>(at_.mode) + 1);
  }
  is_allowed_ = true;
  question_.reset();
}

bool Attempt::has_question() const {
  switch (step_of(at_)) {
    case Step::kOn:
    case Step::kName:
      return true;
    case Step::kUid:
      return !asked_.uid.empty();
    case Step::kGroupProbe:
      return asked_.groups.size() >= kManyParts;
    case Step::kGroups:
      return (minds_denials_ || !groups_are_covered_) && at_.index < asked_.groups.size();
    case Step::kExtraProbe:
      return asked_.extra.size() >= kManyParts || values_ >= kManyParts;
    case Step::kExtras:
      return (minds_denials_ || !extras_are_covered_) && at_.key != asked_.extra.end();
    case Step::kEnd:
      break;
  }
  return false;
}

bool Attempt::is_probe() const {
  Step step = step_of(at_);
  return step == Step::kGroupProbe || step == Step::kExtraProbe;
}

// Whether a probe was allowed for what the step asks about one by one.
bool Attempt::is_covered(Step step) const {
  return (step == Step::kGroups && groups_are_covered_) ||
         (step == Step::kExtras && extras_are_covered_);
}

// Before the questions about groups or extra.
bool Attempt::find_flaw(Step step) {
  if (at_.mode == Mode::kLegacy) return false;
  if (step == Step::kGroupProbe) {
    if (std::ranges::find(asked_.groups, "") != asked_.groups.end()) {
      at_.flaw = Flaw::kGroup;
      flaw_ = "impersonating the empty string group is not allowed";
    } else if (asked_.in_group(authz::kMastersGroup)) {
      at_.flaw = Flaw::kMasters;
      flaw_ = "impersonating the system:masters group is not allowed";
    }
  } else if (step == Step::kExtraProbe) {
    for (const auto& [key, values] : asked_.extra)
      if (flaw_ = extra_problem(key, values); !flaw_.empty()) {
        at_.flaw = Flaw::kExtra;
        break;
      }
  }
  return at_.flaw != Flaw::kNone;
}

// The answer that counts for now: Allow where the rest is to be proved later.
Decision Attempt::keep_open(Decision conditional) {
  const authz::Outcomes possible = authz::possible_outcomes(conditional);
  const bool is_covered = this->is_covered();
  // Before there were modes, nothing was open. And a probe that is not sure is followed by the
  // questions that it stands for.
  const bool may = may_stay_open_ && rules_ == Rules::kConstrained && !is_probe();
  if (!may || !(is_covered ? possible.deny : possible.allow))
    return authz::folded(std::move(conditional));
  open_.push_back({.asked = std::make_shared<const authz::OwnedAttributes>(*question_),
                   .decision = std::move(conditional),
                   .only_denials_refuse = is_covered});
  return Decision::allow("allowed under conditions on the object");
}

void Attempt::answer(Decision decision) {
  CARDEA_CHECK(question_.has_value());
  if (decision.kind == Decision::Kind::kConditional) decision = keep_open(std::move(decision));
  // Before there were modes, an error was a refusal even beside an Allow.
  bool is_allowed = decision.allowed() && (rules_ == Rules::kConstrained || decision.error.empty());
  Step step = step_of(at_);
  if (step == Step::kGroupProbe || step == Step::kExtraProbe) {
    // A probe that is refused refuses nothing.
    (step == Step::kGroupProbe ? groups_are_covered_ : extras_are_covered_) = is_allowed;
  } else if (!is_allowed && (!is_covered(step) || decision.kind == Decision::Kind::kDeny)) {
    return refuse(std::move(decision));
  }
  if (step == Step::kName) granted_ = std::move(decision.reason);
  advance();
  ask_next();
}

// Past the question that was answered.
void Attempt::advance() {
  Step step = step_of(at_);
  if (step == Step::kGroups) {
    ++at_.index;
  } else if (step == Step::kExtras) {
    if (++at_.index < at_.key->second.size()) return;
    ++at_.key;
    at_.index = 0;
  } else {
    ++at_.step;
    at_.index = 0;
  }
}

void Attempt::refuse(Decision decision) {
  if (!refused_at_) {
    refused_at_ = at_;
    refusal_ = std::move(decision);
  }
  if (at_.mode == Mode::kLegacy && step_of(at_) != Step::kName) lacking_ = at_;
  begin(static_cast<std::size_t>(at_.mode) + 1);
}

std::string_view Attempt::on_verb(Mode mode) {
  constexpr std::string_view kPrefix = "impersonate-on:";
  std::string_view name = mode_name(mode);
  std::size_t size = kPrefix.size() + name.size() + 1 + request_.verb.size();
  if (size > verb_.size()) return long_verb_ = cat(kPrefix, name, ":", request_.verb);
  char* end = verb_.data();
  for (std::string_view part : {kPrefix, name, std::string_view(":"), request_.verb})
    end = std::ranges::copy(part, end).out;
  return {verb_.data(), size};
}

// A decision about an associated node must not depend on which node it is: the sender is shown with
// the names of its extra alone.
const User& Attempt::asking_user(Mode mode) {
  if (mode != Mode::kAssociatedNode) return sender_;
  if (!node_sender_) {
    node_sender_ = User{.name = sender_.name, .uid = sender_.uid, .groups = sender_.groups};
    std::vector<std::string>& keys = node_sender_->extra[std::string(kNodeKeys)];
    for (const auto& [key, values] : sender_.extra) keys.push_back(key);
  }
  return *node_sender_;
}

void Attempt::put(const Place& place) {
  const User& user = asking_user(place.mode);
  Step step = step_of(place);
  if (step == Step::kOn) {
    Attributes& q = question_.emplace(user);
    q.is_resource_request = request_.is_resource_request;
    q.api_group = request_.api_group;
    q.api_version = request_.api_version;
    q.namespace_name = request_.namespace_name;
    q.resource = request_.resource;
    q.subresource = request_.subresource;
    q.name = request_.name;
    q.path = request_.path;
    q.selectors = request_.selectors;
    q.verb = on_verb(place.mode);
    return;
  }
  bool is_legacy = place.mode == Mode::kLegacy;
  Attributes& q = question_.emplace(user);
  q.is_resource_request = true;
  q.verb = is_legacy ? "impersonate" : constraint(place.mode);
  bool is_core = is_legacy && (step == Step::kName || step == Step::kGroups);
  q.api_group = is_core ? "" : kAuthentication;
  q.api_version = "v1";
  switch (step) {
    case Step::kName:
      if (target_.kind == Target::Kind::kServiceAccount) {
        q.resource = "serviceaccounts";
        q.namespace_name = target_.namespace_name;
        q.name = target_.account;
      } else if (place.mode == Mode::kAssociatedNode || place.mode == Mode::kArbitraryNode) {
        q.resource = "nodes";
        q.name = place.mode == Mode::kAssociatedNode ? "*" : target_.node;
      } else {
        q.resource = "users";
        q.name = asked_.name;
      }
      break;
    case Step::kUid:
      q.resource = "uids";
      q.name = asked_.uid;
      break;
    case Step::kGroupProbe:
    case Step::kGroups:
      q.resource = "groups";
      if (place.flaw == Flaw::kMasters)
        q.name = authz::kMastersGroup;
      else if (place.flaw == Flaw::kNone)
        q.name = step == Step::kGroupProbe ? "*" : std::string_view(asked_.groups[place.index]);
      break;
    case Step::kExtraProbe:
    case Step::kExtras:
      q.resource = "userextras";
      if (place.flaw == Flaw::kExtra) break;
      q.subresource = step == Step::kExtraProbe ? "*" : std::string_view(place.key->first);
      q.name = step == Step::kExtraProbe ? "*" : std::string_view(place.key->second[place.index]);
      break;
    case Step::kOn:
    case Step::kEnd:
      break;
  }
}

Error Attempt::refusal() {
  CARDEA_CHECK(!question_ && !is_allowed_ && refused_at_);
  put(*refused_at_);
  Error out = authz::forbidden(*question_, rules_ == Rules::kConstrained
                                               ? error_and_reason(refusal_)
                                               : refusal_.reason.text());
  if (lacking_ && rules_ == Rules::kConstrained) tell_lacking(out);
  question_.reset();
  return out;
}

// The message is about the first mode. Whoever holds the old verb for this user, and lacks it for a
// part, learns about that part.
void Attempt::tell_lacking(Error& error) {
  put(*lacking_);
  const Attributes& q = *question_;
  ErrorDetails details = error.details ? *error.details : ErrorDetails();
  details.causes.push_back(
      {.reason = "ImpersonationGrantMissing",
       .message = cat("of the verb \"impersonate\" only this is missing: resource ",
                      quoted(q.subresource.empty() ? std::string(q.resource)
                                                   : cat(q.resource, "/", q.subresource)),
                      " in API group ", quoted(q.api_group), ", name ", quoted(q.name)),
       .field = ""});
  error.details = std::make_shared<const ErrorDetails>(std::move(details));
}

User Attempt::take_user() {
  CARDEA_CHECK(is_allowed());
  bool is_node = at_.mode == Mode::kAssociatedNode || at_.mode == Mode::kArbitraryNode;
  std::vector<std::string>& groups = asked_.groups;
  if (is_node)
    groups = {std::string(kNodesGroup)};
  else if (target_.kind == Target::Kind::kServiceAccount && groups.empty())
    groups = {"system:serviceaccounts", cat("system:serviceaccounts:", target_.namespace_name)};
  User out = std::move(asked_);
  if (out.name == authz::kAnonymousUser)
    ensure(out.groups, authz::kUnauthenticatedGroup);
  else if (!out.in_group(authz::kUnauthenticatedGroup))
    ensure(out.groups, authz::kAuthenticatedGroup);
  return out;
}

}  // namespace cardea::impersonation
