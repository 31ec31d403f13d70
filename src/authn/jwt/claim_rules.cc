#include "authn/jwt/claim_rules.h"

#include "authn/authenticator.h"
#include "authz/user_info.h"
#include "base/strings.h"
#include "cel/environments.h"
#include "cel/eval/evaluate.h"
#include "json/print.h"

namespace cardea::authn {
namespace {

constexpr std::uint64_t kCostLimit = 1'000'000;  // of one expression, as Kubernetes has it

std::unexpected<Error> refuse(std::string message) {
  return fail(Error::of(Reason::kUnauthorized, std::move(message)));
}

cel::Evaluation& evaluation() {
  thread_local cel::Evaluation one(cel::Limits{.cost = kCostLimit});
  return one;
}

// Runs an expression of one variable. The value is good until the next run on this thread.
Result<cel::Value> run(const cel::Program& program, std::string_view expression,
                       const json::Value& variable) {
  const cel::Value bound = cel::Value::of_claims(variable);
  cel::Value value = evaluation().run(program, {&bound, 1});
  if (value.is_error())
    return refuse(cat("expression '", expression, "' resulted in error: ", value.error->message));
  return value;
}

// Claims as expressions see them: every number is a double.
void make_doubles(json::Value& v) {
  if (v.is_int()) {
    v = json::Value(static_cast<double>(v.as_int()));
  } else if (v.is_array()) {
    for (std::size_t i = 0; i < v.size(); ++i)
      if (const json::Value& item = std::as_const(v)[i];
          item.is_int() || item.is_array() || item.is_object())
        make_doubles(v.item(i));
  } else if (v.is_object()) {
    for (std::size_t i = 0; i < v.size(); ++i) {
      const json::Member& m = v.members()[i];
      if (!m.value.is_int() && !m.value.is_array() && !m.value.is_object()) continue;
      const json::Value name = m.name;
      make_doubles(v.member(name.as_string()));
    }
  }
}

// A string, a list of strings, or null; empty strings are left out.
bool strings_of(const cel::Value& v, std::vector<std::string>& out) {
  if (v.kind == cel::Kind::kNull) return true;
  if (v.is_string()) {
    if (v.size) out.emplace_back(v.string());
    return true;
  }
  if (v.kind != cel::Kind::kList) return false;
  for (std::uint32_t i = 0; i < v.size; ++i) {
    const cel::Value item = cel::list_at(v, i);
    if (!item.is_string()) return false;
    if (item.size) out.emplace_back(item.string());
  }
  return true;
}

constexpr std::string_view kNotStrings = "expression must return a string or a list of strings";

std::string not_a_string(const json::Value& v) {
  return cat("json: cannot unmarshal ", json::go_kind(v), " into Go value of type string");
}

}  // namespace

Result<void> ClaimRules::hold(const std::vector<CompiledRule>& rules, const json::Value& variable) {
  // All rules are evaluated before any result is used: an error says more than a false.
  const CompiledRule* broken = nullptr;
  bool not_bool = false;
  for (const CompiledRule& rule : rules) {
    auto value = run(*rule.program, rule.expression, variable);
    if (!value) return fail(std::move(value.error()));
    if (broken || value->is_true()) continue;
    broken = &rule;
    not_bool = value->kind != cel::Kind::kBool;
  }
  if (!broken) return {};
  if (not_bool) return refuse("validation expression must return a boolean");
  return refuse(cat("validation expression '", broken->expression, "' failed: ", broken->message));
}

Result<std::string> ClaimRules::username(const json::Value& claims,
                                         const json::Value& typed) const {
  if (username_program_) {
    auto value = run(*username_program_, username_.expression, typed);
    if (!value)
      return refuse(
          cat("oidc: error evaluating username claim expression: ", value.error().message));
    if (!value->is_string())
      return refuse(
          "oidc: error evaluating username claim expression: username claim expression must return "
          "a string");
    if (value->size == 0) return refuse("oidc: empty username via CEL expression is not allowed");
    return std::string(value->string());
  }
  const json::Value* claim = claims.find(username_.claim);
  if (!claim)
    return refuse(
        cat("oidc: parse username claims ", quoted(username_.claim), ": claim not present"));
  if (!claim->is_string() && !claim->is_null())
    return refuse(
        cat("oidc: parse username claims ", quoted(username_.claim), ": ", not_a_string(*claim)));
  if (username_.claim == "email") {
    const json::Value* verified = claims.find("email_verified");
    if (verified && !verified->is_bool() && !verified->is_null())
      return refuse(cat("oidc: parse 'email_verified' claim: json: cannot unmarshal ",
                        json::go_kind(*verified), " into Go value of type bool"));
    if (verified && !verified->as_bool()) return refuse("oidc: email not verified");
  }
  return cat(username_.prefix.value_or(""), claim->as_string());
}

Result<std::vector<std::string>> ClaimRules::groups(const json::Value& claims,
                                                    const json::Value& typed) const {
  std::vector<std::string> out;
  if (groups_program_) {
    auto value = run(*groups_program_, groups_.expression, typed);
    if (!value)
      return refuse(cat("oidc: error evaluating group claim expression: ", value.error().message));
    if (!strings_of(*value, out))
      return refuse(cat("oidc: error evaluating group claim expression: ", kNotStrings));
    return out;
  }
  if (groups_.claim.empty()) return out;
  const json::Value& claim = claims[groups_.claim];
  if (claim.is_null()) return out;
  const std::string prefix = groups_.prefix.value_or("");
  if (claim.is_string()) {
    out.push_back(cat(prefix, claim.as_string()));
    return out;
  }
  if (!claim.is_array())
    return refuse(
        cat("oidc: parse groups claim ", quoted(groups_.claim), ": ", not_a_string(claim)));
  for (const json::Value& item : claim.items()) {
    if (!item.is_string() && !item.is_null())
      return refuse(
          cat("oidc: parse groups claim ", quoted(groups_.claim), ": ", not_a_string(item)));
    out.push_back(cat(prefix, item.as_string()));
  }
  return out;
}

Result<std::string> ClaimRules::uid(const json::Value& claims, const json::Value& typed) const {
  if (uid_program_) {
    auto value = run(*uid_program_, uid_.expression, typed);
    if (!value)
      return refuse(cat("oidc: error evaluating uid claim expression: ", value.error().message));
    if (!value->is_string())
      return refuse(
          "oidc: error evaluating uid claim expression: uid claim expression must return a string");
    return std::string(value->string());
  }
  if (uid_.claim.empty()) return std::string();
  const json::Value* claim = claims.find(uid_.claim);
  if (!claim)
    return refuse(cat("oidc: parse uid claim ", quoted(uid_.claim), ": claim not present"));
  if (!claim->is_string() && !claim->is_null())
    return refuse(cat("oidc: parse uid claim ", quoted(uid_.claim), ": ", not_a_string(*claim)));
  return std::string(claim->as_string());
}

Result<void> ClaimRules::extra(const json::Value& claims, const json::Value& typed,
                               authz::User& user) const {
  if (const json::Value& id = claims["jti"]; id.is_string() && !id.as_string().empty())
    user.extra[std::string(kCredentialIdExtra)] = {cat("JTI=", id.as_string())};
  for (const CompiledMapping& mapping : extra_) {
    auto value = run(*mapping.program, mapping.expression, typed);
    if (!value) return fail(std::move(value.error()));
    std::vector<std::string> values;
    if (!strings_of(*value, values))
      return refuse(cat("oidc: error evaluating extra claim expression: ", mapping.expression, ": ",
                        kNotStrings));
    if (!values.empty()) user.extra[mapping.key] = std::move(values);
  }
  return {};
}

Result<authz::User> ClaimRules::user_of(const json::Value& claims) const {
  for (const ClaimRule& rule : required_claims_) {
    const json::Value* claim = claims.find(rule.claim);
    if (!claim) return refuse(cat("oidc: required claim ", rule.claim, " not present in ID token"));
    if (!claim->is_string() && !claim->is_null())
      return refuse(cat("oidc: parse claim ", rule.claim, ": ", not_a_string(*claim)));
    if (claim->as_string() != rule.required_value)
      return refuse(cat("oidc: required claim ", rule.claim, " value does not match. Got = ",
                        claim->as_string(), ", want = ", rule.required_value));
  }
  json::Value typed;
  if (reads_claims_) {
    typed = claims;
    make_doubles(typed);
  }
  if (auto held = hold(claim_rules_, typed); !held)
    return refuse(
        cat("oidc: error evaluating claim validation expression: ", held.error().message));

  authz::User user;
  auto name = username(claims, typed);
  if (!name) return fail(std::move(name.error()));
  user.name = std::move(*name);
  auto members = groups(claims, typed);
  if (!members) return fail(std::move(members.error()));
  user.groups = std::move(*members);
  auto id = uid(claims, typed);
  if (!id) return fail(std::move(id.error()));
  user.uid = std::move(*id);
  if (auto added = extra(claims, typed, user); !added) return fail(std::move(added.error()));

  if (!user_rules_.empty())
    if (auto held = hold(user_rules_, authz::user_info(user, authz::EmptyMembers::kShown)); !held)
      return refuse(
          cat("oidc: error evaluating user info validation rule: ", held.error().message));
  return user;
}

}  // namespace cardea::authn
