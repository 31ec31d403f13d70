#include <algorithm>
#include <cmath>
#include <set>

#include "catalog/kinds/check.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

constexpr std::int64_t kLastPrecedence = 10000;
constexpr std::int64_t kMostQueues = 10'000'000;

bool has_wildcard(const Value& list) {
  return std::ranges::any_of(list.items(), [](const Value& v) { return v.as_string() == "*"; });
}

// FlowSchema

void schema_defaults(Value& object, const StrategyContext&) {
  Value& spec = object_member(object, "spec");
  if (spec["matchingPrecedence"].as_int() == 0) spec.set("matchingPrecedence", 1000);
}

void validate_subject(const Path& path, const Value& subject, FieldErrors& out) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"ServiceAccount", "serviceAccount"}, {"User", "user"}, {"Group", "group"}};
  std::string_view kind = subject["kind"].as_string();
  auto known = std::ranges::find(kKinds, kind,
                                 &std::pair<std::string_view, std::string_view>::first);
  if (known == std::end(kKinds)) {
    out.push_back(json::not_supported(path / "kind", kind, {"Group", "ServiceAccount", "User"}));
    return;
  }
  auto [name, field] = *known;
  const Value& described = subject[field];
  Path at = path / field;
  if (described.is_null()) {
    out.push_back(json::required(at, cat(field, " is required when subject kind is '", name, "'")));
  } else if (kind == "ServiceAccount") {
    std::string_view account = described["name"].as_string(),
                     space = described["namespace"].as_string();
    if (account.empty())
      out.push_back(json::required(at / "name"));
    else if (account != "*")
      complain(at / "name", account, name_is_dns_subdomain(account, false), out);
    if (space.empty())
      out.push_back(json::required(at / "namespace", "must specify namespace for service account"));
    else
      complain(at / "namespace", space, name_is_dns_label(space, false), out);
  } else if (described["name"].as_string().empty()) {
    out.push_back(json::required(at / "name"));
  }
  for (const auto& [other, other_field] : kKinds)
    if (other != kind && !subject[other_field].is_null())
      out.push_back(json::forbidden(
          path / other_field,
          cat(other_field, " is forbidden when subject kind is not '", other, "'")));
}

void validate_verbs(const Path& path, const Value& verbs, FieldErrors& out) {
  const std::vector<std::string> known = {"create", "delete", "deletecollection", "get",  "list",
                                          "patch",  "proxy",  "update",           "watch"};
  if (verbs.empty()) {
    out.push_back(json::required(path, "verbs must contain at least one value"));
  } else if (has_wildcard(verbs)) {
    if (verbs.size() > 1)
      out.push_back(json::invalid(path, verbs, "if '*' is present, must not specify other verbs"));
  } else if (!std::ranges::all_of(verbs.items(), [&](const Value& v) {
               return std::ranges::find(known, v.as_string()) != known.end();
             })) {
    out.push_back(json::not_supported(path, verbs, known));
  }
}

void validate_list(const Path& path, const Value& list, std::string_view missing,
                   std::string_view others, FieldErrors& out) {
  if (list.empty())
    out.push_back(json::required(path, std::string(missing)));
  else if (list.size() > 1 && has_wildcard(list))
    out.push_back(
        json::invalid(path, list, cat("if '*' is present, must not specify other ", others)));
}

void validate_resource_rule(const Path& path, const Value& rule, FieldErrors& out) {
  validate_verbs(path / "verbs", rule["verbs"], out);
  validate_list(path / "apiGroups", rule["apiGroups"],
                "resource rules must supply at least one api group", "api groups", out);
  validate_list(path / "resources", rule["resources"],
                "resource rules must supply at least one resource", "resources", out);
  const Value& spaces = rule["namespaces"];
  if (spaces.empty()) {
    if (!rule["clusterScope"].as_bool())
      out.push_back(json::required(
          path / "namespaces",
          "resource rules that are not cluster scoped must supply at least one namespace"));
    return;
  }
  if (has_wildcard(spaces)) {
    if (spaces.size() > 1)
      out.push_back(json::invalid(path / "namespaces", spaces,
                                  "if '*' is present, must not specify other namespaces"));
    return;
  }
  for (std::size_t i = 0; i < spaces.size(); ++i)
    for (const std::string& complaint : name_is_dns_label(spaces[i].as_string(), false))
      out.push_back(json::invalid(
          (path / "namespaces").index(i), spaces[i],
          cat("each member of this list must be '*' or a DNS-1123 label; ", complaint)));
}

void validate_url(const Path& path, const Value& url, FieldErrors& out) {
  std::string_view text = url.as_string();
  auto wrong = [&](std::string_view why) {
    out.push_back(json::invalid(path, url, std::string(why)));
  };
  if (text.empty()) return wrong("must not be empty");
  if (text == "/") return;
  if (!text.starts_with('/')) return wrong("must start with slash");
  if (text.find(' ') != text.npos) return wrong("must not contain white-space");
  if (text.find("//") != text.npos) return wrong("must not contain double slash");
  auto star = text.find('*');
  if (star != text.npos && (star + 1 != text.size() || !text.ends_with("/*")))
    wrong("wildcard can only do suffix matching");
}

void validate_url_rule(const Path& path, const Value& rule, FieldErrors& out) {
  validate_verbs(path / "verbs", rule["verbs"], out);
  const Value& urls = rule["nonResourceURLs"];
  Path at = path / "nonResourceURLs";
  validate_list(at, urls, "nonResourceURLs must contain at least one value", "non-resource URLs",
                out);
  if (has_wildcard(urls)) return;
  for (std::size_t i = 0; i < urls.size(); ++i) validate_url(at.index(i), urls[i], out);
}

void validate_rule(const Path& path, const Value& rule, FieldErrors& out) {
  if (rule["subjects"].empty())
    out.push_back(json::required(path / "subjects", "subjects must contain at least one value"));
  for (std::size_t i = 0; i < rule["subjects"].size(); ++i)
    validate_subject((path / "subjects").index(i), rule["subjects"][i], out);
  if (rule["resourceRules"].empty() && rule["nonResourceRules"].empty())
    out.push_back(json::required(
        path, "at least one of resourceRules and nonResourceRules has to be non-empty"));
  for (std::size_t i = 0; i < rule["resourceRules"].size(); ++i)
    validate_resource_rule((path / "resourceRules").index(i), rule["resourceRules"][i], out);
  for (std::size_t i = 0; i < rule["nonResourceRules"].size(); ++i)
    validate_url_rule((path / "nonResourceRules").index(i), rule["nonResourceRules"][i], out);
}

// The spec of an object that every server has; null for any other name.
Value fixed_spec(std::string_view kind, std::string_view name) {
  if (name != "exempt" && name != "catch-all") return {};
  for (const Value& object : bootstrap_flow_control(""))
    if (object["kind"].as_string() == kind && object["metadata"]["name"].as_string() == name)
      return object["spec"];
  return {};
}

Shown shown_schema_spec(const Value& spec) {
  const Value& method = spec["distinguisherMethod"];
  return shown_struct(
      {{"PriorityLevelConfiguration",
        shown_struct({{"Name", shown_or(spec["priorityLevelConfiguration"]["name"], "")}})},
       {"MatchingPrecedence", shown_or(spec["matchingPrecedence"], 0)},
       {"DistinguisherMethod",
        method.is_null() ? "null" : shown_struct({{"Type", shown_or(method["type"], "")}})},
       {"Rules", shown(spec["rules"])}});
}

void validate_schema_fields(const Value& object, FieldErrors& out) {
  const Value& spec = object["spec"];
  std::string_view name = object["metadata"]["name"].as_string();
  Value fixed = fixed_spec("FlowSchema", name);
  if (!fixed.is_null() && !semantically_equal(spec, fixed))
    out.push_back(invalid_shown("spec", shown_schema_spec(spec),
                                cat("spec of '", name, "' must equal the fixed value")));
  const Value& precedence = spec["matchingPrecedence"];
  if (precedence.as_int() <= 0)
    out.push_back(json::invalid("spec.matchingPrecedence", precedence, "must be a positive value"));
  if (precedence.as_int() > kLastPrecedence)
    out.push_back(json::invalid("spec.matchingPrecedence", precedence,
                                cat("must not be greater than ", kLastPrecedence)));
  if (precedence.as_int() == 1 && name != "exempt")
    out.push_back(json::invalid("spec.matchingPrecedence", precedence,
                                "only the schema named 'exempt' may have matchingPrecedence 1"));
  const Value& method = spec["distinguisherMethod"];
  if (!method.is_null() && method["type"].as_string() != "ByUser" &&
      method["type"].as_string() != "ByNamespace")
    out.push_back(not_supported_shown("spec.distinguisherMethod.type",
                                      shown_struct({{"Type", shown_or(method["type"], "")}}),
                                      {"ByNamespace", "ByUser"}));
  std::string_view level = spec["priorityLevelConfiguration"]["name"].as_string();
  if (level.empty())
    out.push_back(
        json::required("spec.priorityLevelConfiguration.name", "must reference a priority level"));
  else
    complain("spec.priorityLevelConfiguration.name", level, name_is_dns_subdomain(level, false),
             out);
  for (std::size_t i = 0; i < spec["rules"].size(); ++i)
    validate_rule(Path("spec.rules").index(i), spec["rules"][i], out);
}

void validate_condition_types(const Value& conditions, FieldErrors& out) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const Value& type = conditions[i]["type"];
    Path at = Path("status.conditions").index(i) / "type";
    if (!seen.insert(type.as_string()).second) out.push_back(json::duplicate(at, type));
    if (type.as_string().empty()) out.push_back(json::required(at));
  }
}

FieldErrors validate_schema(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, false, name_is_dns_subdomain, out);
  validate_schema_fields(object, out);
  validate_condition_types(object["status"]["conditions"], out);
  return out;
}

FieldErrors validate_schema_update(const Value& object, const Value&,
                                   const StrategyContext& context) {
  return validate_schema(object, context);
}

FieldErrors validate_conditions_update(const Value& object, const Value& old,
                                       const StrategyContext&) {
  FieldErrors out;
  validate_condition_types(object["status"]["conditions"], out);
  validate_kind_meta_update(object, old, out);
  return out;
}

// PriorityLevelConfiguration

void level_defaults(Value& object, const StrategyContext&) {
  Value& spec = object_member(object, "spec");
  if (!spec["limited"].is_null()) {
    Value& limited = spec.member("limited");
    set_default(limited, "nominalConcurrencyShares", 30);
    set_default(limited, "lendablePercent", 0);
    if (limited["limitResponse"]["queuing"].is_object()) {
      Value& queuing = limited.member("limitResponse").member("queuing");
      for (auto [name, value] :
           {std::pair{"handSize", 8}, {"queues", 64}, {"queueLengthLimit", 50}})
        if (queuing[name].as_int() == 0) queuing.set(name, value);
    }
  }
  if (spec["type"].as_string() == "Exempt") {
    Value& exempt = object_member(spec, "exempt");
    set_default(exempt, "nominalConcurrencyShares", 0);
    set_default(exempt, "lendablePercent", 0);
  }
}

// The number of bits that are needed to deal a hand of this size from this deck without repetition.
double entropy_bits(std::int64_t deck, std::int64_t hand) {
  double bits = 0;
  for (std::int64_t i = 0; i < hand && bits < 1000; ++i)
    bits += std::log2(static_cast<double>(deck - i));
  return std::ceil(bits);
}

void validate_queuing(const Path& path, const Value& queuing, FieldErrors& out) {
  auto positive = [&](std::string_view name) {
    if (queuing[name].as_int() <= 0)
      out.push_back(json::invalid(path / name, queuing[name], "must be positive"));
  };
  positive("queueLengthLimit");
  positive("queues");
  std::int64_t queues = queuing["queues"].as_int(), hand = queuing["handSize"].as_int();
  if (queues > kMostQueues)
    out.push_back(json::invalid(path / "queues", queuing["queues"],
                                cat("must not be greater than ", kMostQueues)));
  positive("handSize");
  if (hand <= 0) return;
  if (hand > queues && queues > 0) {
    out.push_back(json::invalid(path / "handSize", queuing["handSize"],
                                cat("should not be greater than queues (", queues, ")")));
    return;
  }
  if (queues > 0 && entropy_bits(queues, hand) > 60)
    out.push_back(json::invalid(path / "handSize", queuing["handSize"],
                                cat("required entropy bits of deckSize ", queues, " and handSize ",
                                    hand, " should not be greater than 60")));
}

void validate_shares(const Path& path, const Value& level, FieldErrors& out) {
  const Value& shares = level["nominalConcurrencyShares"];
  if (shares.as_int() < 0)
    out.push_back(
        json::invalid(path / "nominalConcurrencyShares", shares, "must be a non-negative integer"));
}

void validate_lending(const Path& path, const Value& level, FieldErrors& out) {
  const Value& lendable = level["lendablePercent"];
  if (lendable.as_int() < 0 || lendable.as_int() > 100)
    out.push_back(
        json::invalid(path / "lendablePercent", lendable, "must be between 0 and 100, inclusive"));
}

void validate_limited(const Path& path, const Value& limited, FieldErrors& out) {
  validate_shares(path, limited, out);
  const Value& response = limited["limitResponse"];
  Path at = path / "limitResponse";
  std::string_view type = response["type"].as_string();
  const Value& queuing = response["queuing"];
  if (type.empty()) {
    out.push_back(json::required(at / "type"));
  } else if (type == "Reject") {
    if (!queuing.is_null())
      out.push_back(json::forbidden(at / "queuing",
                                    "must be nil if limited.limitResponse.type is not Limited"));
  } else if (type == "Queue") {
    if (queuing.is_null())
      out.push_back(json::required(at / "queuing",
                                   "must not be empty if limited.limitResponse.type is Limited"));
    else
      validate_queuing(at / "queuing", queuing, out);
  } else {
    out.push_back(json::not_supported(at / "type", type, {"Queue", "Reject"}));
  }
  validate_lending(path, limited, out);
  const Value& borrowing = limited["borrowingLimitPercent"];
  if (!borrowing.is_null() && borrowing.as_int() < 0)
    out.push_back(json::invalid(path / "borrowingLimitPercent", borrowing,
                                "if specified, must be a non-negative integer"));
}

Shown shown_level_spec(const Value& spec) {
  auto limited = [](const Value& l) {
    if (l.is_null()) return Shown("null");
    const Value& q = l["limitResponse"]["queuing"];
    Shown queuing = q.is_null()
                        ? "null"
                        : shown_struct({{"Queues", shown_or(q["queues"], 0)},
                                        {"HandSize", shown_or(q["handSize"], 0)},
                                        {"QueueLengthLimit", shown_or(q["queueLengthLimit"], 0)}});
    return shown_struct(
        {{"NominalConcurrencyShares", shown_or(l["nominalConcurrencyShares"], 0)},
         {"LimitResponse",
          shown_struct({{"Type", shown_or(l["limitResponse"]["type"], "")}, {"Queuing", queuing}})},
         {"LendablePercent", shown(l["lendablePercent"])},
         {"BorrowingLimitPercent", shown(l["borrowingLimitPercent"])}});
  };
  const Value& exempt = spec["exempt"];
  return shown_struct(
      {{"Type", shown_or(spec["type"], "")},
       {"Limited", limited(spec["limited"])},
       {"Exempt",
        exempt.is_null()
            ? "null"
            : shown_struct({{"NominalConcurrencyShares", shown(exempt["nominalConcurrencyShares"])},
                            {"LendablePercent", shown(exempt["lendablePercent"])}})}});
}

void validate_fixed_level(std::string_view name, const Value& spec, FieldErrors& out) {
  Value fixed = fixed_spec("PriorityLevelConfiguration", name), found = spec;
  if (fixed.is_null()) return;
  if (name == "exempt") {
    fixed.erase("exempt");
    if (found.is_object()) found.erase("exempt");
  }
  if (semantically_equal(found, fixed)) return;
  out.push_back(invalid_shown(
      "spec", shown_level_spec(spec),
      cat("spec of '", name, "' ", name == "exempt" ? "except the 'spec.exempt' field " : "",
          "must equal the fixed value")));
}

void validate_level_fields(const Value& object, FieldErrors& out) {
  const Value& spec = object["spec"];
  std::string_view name = object["metadata"]["name"].as_string(), type = spec["type"].as_string();
  if ((name == "exempt") != (type == "Exempt") && !type.empty() &&
      (type == "Exempt" || type == "Limited"))
    out.push_back(
        json::invalid("spec.type", type, "must be 'Exempt' if and only if `name` is 'exempt'"));
  if (type.empty()) {
    out.push_back(json::required("spec.type"));
  } else if (type == "Exempt") {
    if (!spec["exempt"].is_null()) {
      validate_shares("spec.exempt", spec["exempt"], out);
      validate_lending("spec.exempt", spec["exempt"], out);
    }
    if (!spec["limited"].is_null())
      out.push_back(json::forbidden("spec.limited", "must be nil if the type is not Limited"));
  } else if (type == "Limited") {
    if (!spec["exempt"].is_null())
      out.push_back(json::forbidden("spec.exempt", "must be nil if the type is Limited"));
    if (spec["limited"].is_null())
      out.push_back(json::required("spec.limited", "must not be empty when type is Limited"));
    else
      validate_limited("spec.limited", spec["limited"], out);
  } else {
    out.push_back(json::not_supported("spec.type", type, {"Exempt", "Limited"}));
  }
}

FieldErrors validate_level(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, false, name_is_dns_subdomain, out);
  validate_level_fields(object, out);
  validate_fixed_level(object["metadata"]["name"].as_string(), object["spec"], out);
  validate_condition_types(object["status"]["conditions"], out);
  return out;
}

FieldErrors validate_level_update(const Value& object, const Value&,
                                  const StrategyContext& context) {
  return validate_level(object, context);
}

Strategy with_status(Strategy strategy) {
  strategy.prepare_for_create = drop_status;
  strategy.prepare_for_update = keep_status;
  strategy.prepare_for_status_update = keep_spec;
  strategy.validate_status_update = validate_conditions_update;
  strategy.has_generation = true;
  strategy.allow_unconditional_update = false;
  return strategy;
}

}  // namespace

const Strategy& flow_schema_strategy() {
  static const Strategy strategy = with_status({
      .defaults = schema_defaults,
      .validate_create = validate_schema,
      .validate_update = validate_schema_update,
  });
  return strategy;
}

const Strategy& priority_level_configuration_strategy() {
  static const Strategy strategy = with_status({
      .defaults = level_defaults,
      .validate_create = validate_level,
      .validate_update = validate_level_update,
  });
  return strategy;
}

}  // namespace cardea::catalog
