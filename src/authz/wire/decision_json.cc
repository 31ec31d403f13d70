#include "authz/wire/decision_json.h"

#include <algorithm>
#include <set>

#include "base/names.h"
#include "base/strings.h"

namespace cardea::authz::wire {

using json::FieldErrors;
using json::Value;

namespace {

using Effect = Condition::Effect;
constexpr int kDeepest = 16;
constexpr std::string_view kPart = "part-";  // and a number: the parts of one authorizer's set

constexpr struct {
  Effect effect;
  std::string_view list;
} kLists[] = {{Effect::kDeny, "denyConditions"},
              {Effect::kNoOpinion, "noOpinionConditions"},
              {Effect::kAllow, "allowConditions"}};

// A text that is too long to send is left out, and the description says so: the id is enough for
// the author of the condition.
Value condition_json(const Condition& c, bool with_description) {
  Value out = Value::object({{"id", c.id}});
  if (!c.type.empty()) out.set("type", c.type);
  std::string text = c.shown_text(), description = c.description;
  if (text.size() > kLongestCondition) {
    std::string remark = cat("the text of this condition has ", text.size(),
                             " bytes and is not shown");
    if (description.size() + 2 + remark.size() <= kLongestDescription && !description.empty())
      remark = cat(description, "; ", remark);
    description = std::move(remark);
  } else if (!text.empty()) {
    out.set("condition", text);
  }
  if (with_description && !description.empty()) out.set("description", description);
  return out;
}

// The same set in parts that another server takes, one after the other. Denials come first and go
// into as many parts as they need. The rest is one part: what cannot be said there fails closed,
// which for an Allow condition is not to allow, and for a NoOpinion condition is to hold.
std::vector<Conditions::Set> sendable_parts(const Conditions::Set& set) {
  if (set.conditions.size() <= kMostConditions) return {set};
  std::vector<Condition> denials, rest, leaves;
  for (const Condition& c : set.conditions)
    (c.effect == Effect::kDeny        ? denials
     : c.effect == Effect::kNoOpinion ? rest
                                      : leaves)
        .push_back(c);
  std::vector<Conditions::Set> out;
  for (auto at = denials.begin(); at != denials.end();) {
    auto end = at + std::min<std::ptrdiff_t>(kMostConditions, denials.end() - at);
    out.push_back({.conditions = {at, end}, .failure_mode = set.failure_mode});
    at = end;
  }
  if (rest.size() >= kMostConditions || leaves.empty()) return out;
  leaves.resize(std::min(leaves.size(), kMostConditions - rest.size()));
  rest.insert(rest.end(), leaves.begin(), leaves.end());
  out.push_back({.conditions = std::move(rest), .failure_mode = set.failure_mode});
  return out;
}

Value reasons(const Decision& d) {
  Value out = Value::object();
  if (std::string reason = d.reason.text(); !reason.empty()) out.set("reason", reason);
  if (!d.error.empty()) out.set("evaluationError", d.error);
  return out;
}

Value tree_of_part(const Conditions::Set& set) {
  Value map = Value::object();
  for (const auto& row : kLists) {
    Value list = Value::array();
    for (const Condition& c : set.conditions)
      if (c.effect == row.effect) list.push_back(condition_json(c, true));
    map.set(row.list, std::move(list));
  }
  return Value::object({{"type", "ConditionsMap"}, {"conditionsMap", std::move(map)}});
}

Value tree_of_set(const Conditions::Set& set) {
  const std::vector<Conditions::Set> parts = sendable_parts(set);
  if (parts.size() == 1) return tree_of_part(parts[0]);
  if (parts.empty()) return as_tree(Decision::no_opinion("too many conditions to be sent"));
  Value list = Value::array();
  for (const Conditions::Set& part : parts)
    list.push_back(Value::object(
        {{"authorizerName", cat(kPart, list.size() + 1)}, {"decision", tree_of_part(part)}}));
  return Value::object({{"type", "Union"}, {"union", std::move(list)}});
}

// Adds the entries of `decision`, under `name`; false when nothing may follow.
bool add_entries(Value& out, const std::string& name, const Decision& d, bool with_descriptions) {
  switch (d.kind) {
    case Decision::Kind::kNoOpinion:
      return true;
    case Decision::Kind::kAllow:
      out.push_back(Value::object({{"authorizerName", name}, {"allowed", true}}));
      return false;
    case Decision::Kind::kDeny:
      out.push_back(Value::object({{"authorizerName", name}, {"denied", true}}));
      return false;
    case Decision::Kind::kConditional:
      break;
  }
  if (const Conditions::Chain* chain = d.conditions->chain()) {
    for (const NamedDecision& n : *chain)
      if (!add_entries(out, inside(name, n.authorizer), n.decision, with_descriptions))
        return false;
    return true;
  }
  const Conditions::Set* set = d.conditions->set();
  if (!set) return true;
  const bool denies = set->failure_mode == Conditions::FailureMode::kDeny;
  for (const Conditions::Set& part : sendable_parts(*set)) {
    Value conditions = Value::array();
    for (const Condition& c : part.conditions) {
      Value one = condition_json(c, with_descriptions);
      one.set("effect", effect_name(c.effect));
      conditions.push_back(std::move(one));
    }
    out.push_back(Value::object({{"authorizerName", name},
                                 {"failureMode", denies ? "Deny" : "NoOpinion"},
                                 {"conditions", std::move(conditions)}}));
  }
  return true;
}

// What is of another type must not pass for absent: it may be what denies.
void check_type(const Value& v, std::string_view key, std::string_view wanted,
                const std::string& at, FieldErrors& errors) {
  const Value& member = v[key];
  bool fits = member.is_null() || (wanted == "string" && member.is_string()) ||
              (wanted == "boolean" && member.is_bool()) ||
              (wanted == "array" && member.is_array()) ||
              (wanted == "object" && member.is_object());
  if (!fits)
    errors.push_back(json::invalid(cat(at, ".", key), {}, cat("must be of type ", wanted)));
}

std::optional<Condition> read_condition(const Value& c, Effect effect, const std::string& at,
                                        FieldErrors& errors, Author author) {
  std::size_t before = errors.size();
  Condition out{.effect = effect,
                .id = std::string(c["id"].as_string()),
                .type = std::string(c["type"].as_string()),
                .text = std::string(c["condition"].as_string()),
                .description = std::string(c["description"].as_string())};
  for (std::string_view key : {"id", "type", "condition", "description"})
    check_type(c, key, "string", at, errors);
  if (out.id.empty())
    errors.push_back(json::required(at + ".id"));
  else if (Problems p = label_key_problems(out.id); !p.empty())
    errors.push_back(json::invalid(at + ".id", out.id, join(p, "; ")));
  else if (author == Author::kThirdParty &&
           (out.id.starts_with("k8s.io/") || out.id.starts_with("kubernetes.io/")))
    errors.push_back(json::invalid(at + ".id", out.id, "the domain is reserved"));
  if (!out.type.empty())
    if (Problems p = label_key_problems(out.type); !p.empty())
      errors.push_back(json::invalid(at + ".type", out.type, join(p, "; ")));
  if (out.text.size() > kLongestCondition)
    errors.push_back(json::too_long(at + ".condition", static_cast<int>(kLongestCondition)));
  if (out.description.size() > kLongestDescription)
    errors.push_back(json::too_long(at + ".description", static_cast<int>(kLongestDescription)));
  if (errors.size() != before) return std::nullopt;
  return out;
}

// What was read is checked as a whole too: how many, and each id once.
Decision checked_set(Conditions::Set set, const std::string& at, FieldErrors& errors,
                     Author author) {
  std::set<std::string_view> ids;
  if (set.conditions.size() > kMostConditions)
    errors.push_back(json::too_many(at, static_cast<int>(set.conditions.size()),
                                    static_cast<int>(kMostConditions)));
  for (const Condition& c : set.conditions)
    if (!ids.insert(c.id).second) errors.push_back(json::duplicate(at, c.id));
  return conditional_on(std::move(set), author);
}

std::string_view member_of(std::string_view type) {
  if (type == "Allow") return "allow";
  if (type == "Deny") return "deny";
  if (type == "NoOpinion") return "noOpinion";
  if (type == "ConditionsMap") return "conditionsMap";
  if (type == "Union") return "union";
  return "";
}

Decision read_tree(const Value& tree, const std::string& at, FieldErrors& errors, Author author,
                   const Arrange& arrange, int depth);

Decision read_union(const Value& entries, const std::string& at, FieldErrors& errors, Author author,
                    const Arrange& arrange, int depth) {
  Conditions::Chain chain;
  std::set<std::string> names;
  if (entries.empty()) errors.push_back(json::required(at, "must have at least one entry"));
  if (entries.size() > kMostConditions)
    errors.push_back(
        json::too_many(at, static_cast<int>(entries.size()), static_cast<int>(kMostConditions)));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    std::string where = cat(at, "[", i, "]");
    std::string name(entries[i]["authorizerName"].as_string());
    if (name.empty())
      errors.push_back(json::required(where + ".authorizerName"));
    else if (Problems p = dns_subdomain_problems(name); !p.empty())
      errors.push_back(json::invalid(where + ".authorizerName", name, join(p, "; ")));
    if (!names.insert(name).second)
      errors.push_back(json::duplicate(where + ".authorizerName", name));
    chain.push_back({name, read_tree(entries[i]["decision"], where + ".decision", errors, author,
                                     {}, depth + 1)});
  }
  if (arrange) arrange(chain);
  return fold(std::move(chain));
}

Decision read_tree(const Value& tree, const std::string& at, FieldErrors& errors, Author author,
                   const Arrange& arrange, int depth) {
  std::string_view type = tree["type"].as_string();
  std::string_view member = member_of(type);
  if (depth > kDeepest) errors.push_back(json::invalid(at, {}, "is nested too deeply"));
  if (type.empty())
    errors.push_back(json::required(at + ".type"));
  else if (member.empty())
    errors.push_back(json::not_supported(at + ".type", type,
                                         {"Allow", "ConditionsMap", "Deny", "NoOpinion", "Union"}));
  if (member.empty() || depth > kDeepest) return {};
  for (std::string_view other : {"allow", "deny", "noOpinion", "conditionsMap", "union"}) {
    bool is_there = tree.has(other) && !tree[other].is_null();
    if (other == member && !is_there)
      errors.push_back(json::required(cat(at, ".", other),
                                      cat("must be specified when `type` is \"", type, "\"")));
    if (other != member && is_there)
      errors.push_back(json::forbidden(cat(at, ".", other),
                                       cat("may not be specified when `type` is \"", type, "\"")));
  }
  check_type(tree, member, member == "union" ? "array" : "object", at, errors);
  if (member == "union")
    return read_union(tree["union"], at + ".union", errors, author, arrange, depth);
  if (member == "conditionsMap") {
    Conditions::Set set;
    const Value& map = tree["conditionsMap"];
    for (const auto& row : kLists) {
      std::string where = cat(at, ".conditionsMap.", row.list);
      check_type(map, row.list, "array", at + ".conditionsMap", errors);
      for (std::size_t i = 0; i < map[row.list].size(); ++i)
        if (auto c = read_condition(map[row.list][i], row.effect, cat(where, "[", i, "]"), errors,
                                    author))
          set.conditions.push_back(std::move(*c));
    }
    return checked_set(std::move(set), at + ".conditionsMap", errors, author);
  }
  return unconditional_from_tree(tree).value_or(Decision());
}

}  // namespace

std::string inside(std::string_view outer, std::string_view name) {
  if (outer.empty()) return std::string(name);
  return name.starts_with(kPart) ? std::string(outer) : cat(outer, ".", name);
}

bool takes_unconditional(const Value& types) {
  if (types.is_null()) return true;
  for (std::string_view wanted : {"Allow", "Deny", "NoOpinion"})
    if (std::ranges::none_of(types.items(),
                             [&](const Value& t) { return t.as_string() == wanted; }))
      return false;
  return true;
}

bool takes_conditions(const Value& types) {
  if (types.is_null() || !takes_unconditional(types)) return false;
  for (std::string_view wanted : {"ConditionsMap", "Union"})
    if (std::ranges::none_of(types.items(),
                             [&](const Value& t) { return t.as_string() == wanted; }))
      return false;
  return true;
}

Wish read_wish(const Value& spec, FieldErrors& errors) {
  Wish wish;
  const Value* options = spec.find("authorizationOptions");
  if (options && !options->is_null()) {
    constexpr std::string_view kAt = "spec.authorizationOptions.handledDecisionTypes";
    const Value& types = (*options)["handledDecisionTypes"];
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < types.size(); ++i)
      if (!seen.insert(types[i].as_string()).second)
        errors.push_back(json::duplicate(cat(kAt, "[", i, "]"), types[i]));
    if (types.empty())
      errors.push_back(json::required(std::string(kAt)));
    else if (!takes_unconditional(types))
      errors.push_back(
          json::invalid(std::string(kAt), types, "must contain Allow, Deny and NoOpinion"));
    if (takes_conditions(types)) wish.dialect = Dialect::kTree;
  }
  const Value& seed = spec["conditionalAuthorization"];
  if (std::string_view mode = seed["mode"].as_string(); !mode.empty()) {
    if (mode != "HumanReadable" && mode != "Optimized")
      errors.push_back(json::not_supported("spec.conditionalAuthorization.mode", mode,
                                           {"HumanReadable", "Optimized"}));
    if (options && !options->is_null())
      errors.push_back(json::invalid("spec.conditionalAuthorization", {},
                                     "may not be specified together with authorizationOptions"));
    wish = {.dialect = Dialect::kList, .with_descriptions = mode == "HumanReadable"};
  }
  return wish;
}

Value as_tree(const Decision& d) {
  switch (d.kind) {
    case Decision::Kind::kAllow:
      return Value::object({{"type", "Allow"}, {"allow", reasons(d)}});
    case Decision::Kind::kNoOpinion:
      return Value::object({{"type", "NoOpinion"}, {"noOpinion", reasons(d)}});
    case Decision::Kind::kDeny:
      return Value::object({{"type", "Deny"}, {"deny", reasons(d)}});
    case Decision::Kind::kConditional:
      break;
  }
  if (const Conditions::Set* set = d.conditions->set()) return tree_of_set(*set);
  Value list = Value::array();
  if (const Conditions::Chain* chain = d.conditions->chain())
    for (const NamedDecision& n : *chain)
      list.push_back(
          Value::object({{"authorizerName", n.authorizer}, {"decision", as_tree(n.decision)}}));
  return Value::object({{"type", "Union"}, {"union", std::move(list)}});
}

Value as_list(const Decision& d, bool with_descriptions) {
  Value out = Value::array();
  add_entries(out, "", d, with_descriptions);
  return out;
}

std::optional<Decision> unconditional_from_tree(const Value& tree) {
  std::string_view type = tree["type"].as_string();
  std::string_view member = member_of(type);
  if (member != "allow" && member != "deny" && member != "noOpinion") return std::nullopt;
  for (std::string_view other : {"allow", "deny", "noOpinion", "conditionsMap", "union"})
    if ((other != member && !tree[other].is_null()) ||
        (other == member && !tree[other].is_object()))
      return std::nullopt;
  Decision out;
  out.kind = member == "allow"  ? Decision::Kind::kAllow
             : member == "deny" ? Decision::Kind::kDeny
                                : Decision::Kind::kNoOpinion;
  out.reason = std::string(tree[member]["reason"].as_string());
  out.error = std::string(tree[member]["evaluationError"].as_string());
  return out;
}

Result<Decision> from_tree(const Value& tree, const std::string& at, FieldErrors& errors,
                           Author author, const Arrange& arrange) {
  std::size_t before = errors.size();
  Decision out = read_tree(tree, at, errors, author, arrange, 0);
  if (errors.size() != before) return fail(bad_request(errors[before].message()));
  return out;
}

Result<Decision> from_list(const Value& list, const std::string& at, FieldErrors& errors,
                           Author author, const Arrange& arrange) {
  std::size_t before = errors.size();
  Conditions::Chain chain;
  if (!list.is_array())
    errors.push_back(json::invalid(at, {}, "must be of type array"));
  else if (list.empty())
    errors.push_back(json::required(at, "must have at least one entry"));
  if (list.size() > kMostConditions)
    errors.push_back(
        json::too_many(at, static_cast<int>(list.size()), static_cast<int>(kMostConditions)));
  for (std::size_t i = 0; i < list.size() && list.is_array(); ++i) {
    std::string where = cat(at, "[", i, "]");
    const Value& entry = list[i];
    for (std::string_view key : {"authorizerName", "failureMode"})
      check_type(entry, key, "string", where, errors);
    for (std::string_view key : {"allowed", "denied"})
      check_type(entry, key, "boolean", where, errors);
    for (std::string_view key : {"conditions", "conditionsSet"})
      check_type(entry, key, "array", where, errors);
    std::string name(entry["authorizerName"].as_string());
    const Value& conditions = entry.has("conditions") ? entry["conditions"]
                                                      : entry["conditionsSet"];
    bool allowed = entry["allowed"].as_bool(), denied = entry["denied"].as_bool();
    int said = allowed + denied + !conditions.empty();
    if (name.empty()) errors.push_back(json::required(where + ".authorizerName"));
    if (said != 1)
      errors.push_back(json::invalid(
          where, {}, "exactly one of allowed, denied and conditions must be specified"));
    if (allowed || denied) {
      chain.push_back({name, allowed ? Decision::allow() : Decision::deny({})});
      continue;
    }
    Conditions::Set set;
    std::string_view mode = entry["failureMode"].as_string();
    if (mode == "NoOpinion")
      set.failure_mode = Conditions::FailureMode::kNoOpinion;
    else if (!mode.empty() && mode != "Deny")
      errors.push_back(json::not_supported(where + ".failureMode", mode, {"Deny", "NoOpinion"}));
    for (std::size_t k = 0; k < conditions.size(); ++k) {
      std::string inner = cat(where, ".conditions[", k, "]");
      std::string_view effect = conditions[k]["effect"].as_string();
      if (effect != "Allow" && effect != "Deny" && effect != "NoOpinion") {
        errors.push_back(
            json::not_supported(inner + ".effect", effect, {"Allow", "Deny", "NoOpinion"}));
        continue;
      }
      Effect e = effect == "Allow"  ? Effect::kAllow
                 : effect == "Deny" ? Effect::kDeny
                                    : Effect::kNoOpinion;
      if (auto c = read_condition(conditions[k], e, inner, errors, author))
        set.conditions.push_back(std::move(*c));
    }
    chain.push_back({name, checked_set(std::move(set), where + ".conditions", errors, author)});
  }
  if (errors.size() != before) return fail(bad_request(errors[before].message()));
  // One authorizer may appear several times in a row; then its answers are a chain.
  Conditions::Chain grouped;
  for (std::size_t i = 0; i < chain.size();) {
    Conditions::Chain parts;
    std::string name = chain[i].authorizer;
    for (; i < chain.size() && chain[i].authorizer == name; ++i)
      parts.push_back({cat(kPart, parts.size() + 1), std::move(chain[i].decision)});
    Decision said = parts.size() == 1 ? std::move(parts[0].decision) : fold(std::move(parts));
    grouped.push_back({std::move(name), std::move(said)});
  }
  if (arrange) arrange(grouped);
  return fold(std::move(grouped));
}

}  // namespace cardea::authz::wire
