#include "rest/fairness/rules.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/strings.h"
#include "catalog/kinds/strategies.h"

namespace cardea::rest::fairness {
namespace {

using json::Value;

constexpr std::string_view kAccountPrefix = "system:serviceaccount:";
// So many bits of a flow's hash are there to choose its queues.
constexpr double kMostHandBits = 60;

bool is_good_hand(std::int64_t queues, std::int64_t hand) {
  return queues > 0 && hand > 0 && hand <= queues &&
         std::ceil(std::log2(static_cast<double>(queues)) * static_cast<double>(hand)) <=
             kMostHandBits;
}

bool read_queuing(const Value& queuing, LevelSpec& out) {
  const std::int64_t queues = queuing["queues"].as_int(), hand = queuing["handSize"].as_int(),
                     length = queuing["queueLengthLimit"].as_int();
  if (!is_good_hand(queues, hand) || length < 1 || length > INT32_MAX) return false;
  out.queues = static_cast<std::uint32_t>(queues);
  out.hand_size = static_cast<std::uint32_t>(hand);
  out.queue_length = static_cast<std::uint32_t>(length);
  return true;
}

bool is_percent(std::int64_t number) {
  return number >= 0 && number <= 100;
}

bool is_share(std::int64_t number) {
  return number >= 0 && number <= INT32_MAX;
}

bool is_under(std::string_view path, std::string_view pattern) {
  if (pattern == "*" || pattern == path) return true;
  if (pattern.ends_with('*')) pattern.remove_suffix(1);
  if (!pattern.ends_with('/'))
    return path.size() > pattern.size() && path.starts_with(pattern) && path[pattern.size()] == '/';
  return path.starts_with(pattern);
}

}  // namespace

std::optional<LevelSpec> LevelSpec::read(const Value& object) {
  const Value &spec = object["spec"], &metadata = object["metadata"];
  LevelSpec out;
  out.name = metadata["name"].as_string();
  out.uid = metadata["uid"].as_string();
  out.is_exempt = spec["type"].as_string() == "Exempt";
  if (out.name.empty() || out.is_exempt != (out.name == kExempt)) return std::nullopt;
  if (!out.is_exempt && spec["type"].as_string() != "Limited") return std::nullopt;
  if (spec["limited"].is_object() == out.is_exempt || spec["exempt"].is_object() != out.is_exempt)
    return std::nullopt;
  const Value& how = spec[out.is_exempt ? "exempt" : "limited"];
  const std::int64_t shares = how["nominalConcurrencyShares"].as_int(),
                     lendable = how["lendablePercent"].as_int();
  if (!is_share(shares) || !is_percent(lendable)) return std::nullopt;
  out.shares = static_cast<int>(shares);
  out.lendable_percent = static_cast<int>(lendable);
  if (out.is_exempt) return out;
  if (const Value& most = how["borrowingLimitPercent"]; !most.is_null()) {
    if (!is_share(most.as_int())) return std::nullopt;
    out.borrowing_percent = static_cast<int>(most.as_int());
  }
  const Value& response = how["limitResponse"];
  if (response["type"].as_string() == "Reject" && response["queuing"].is_null()) return out;
  if (response["type"].as_string() != "Queue" || !read_queuing(response["queuing"], out))
    return std::nullopt;
  return out;
}

FlowSchema::Names FlowSchema::Names::read(const Value& list) {
  Names out;
  for (const Value& name : list.items()) out.list.emplace_back(name.as_string());
  out.is_all = out.list.size() == 1 && out.list[0] == "*";
  return out;
}

bool FlowSchema::Names::has(std::string_view wanted) const {
  return is_all || std::ranges::find(list, wanted) != list.end();
}

std::optional<FlowSchema::Subject> FlowSchema::read_subject(const Value& subject) {
  const std::string_view kind = subject["kind"].as_string();
  if (kind == "User" && subject["user"].is_object()) {
    std::string name(subject["user"]["name"].as_string());
    const bool is_all = name == "*";
    return Subject{Subject::Kind::kUser, std::move(name), is_all};
  }
  if (kind == "Group" && subject["group"].is_object()) {
    std::string name(subject["group"]["name"].as_string());
    const bool is_all = name == "*";
    return Subject{Subject::Kind::kGroup, std::move(name), is_all};
  }
  if (kind != "ServiceAccount" || !subject["serviceAccount"].is_object()) return std::nullopt;
  const std::string_view space = subject["serviceAccount"]["namespace"].as_string(),
                         name = subject["serviceAccount"]["name"].as_string();
  if (name == "*") return Subject{Subject::Kind::kAccountsOf, cat(kAccountPrefix, space, ":")};
  return Subject{Subject::Kind::kAccount, cat(kAccountPrefix, space, ":", name)};
}

bool FlowSchema::Subject::matches(const authz::User& user) const {
  switch (kind) {
    case Kind::kUser:
    case Kind::kAccount:
      return is_all || user.name == name;
    case Kind::kGroup:
      return is_all || user.in_group(name);
    case Kind::kAccountsOf:
      return user.name.starts_with(name);
  }
  return false;
}

std::optional<FlowSchema> FlowSchema::read(const Value& object) {
  const Value &spec = object["spec"], &metadata = object["metadata"];
  FlowSchema out;
  out.name = metadata["name"].as_string();
  out.uid = metadata["uid"].as_string();
  out.level = spec["priorityLevelConfiguration"]["name"].as_string();
  out.precedence = spec["matchingPrecedence"].as_int();
  if (out.name.empty() || out.level.empty()) return std::nullopt;
  if (const Value& method = spec["distinguisherMethod"]; method.is_object()) {
    const std::string_view type = method["type"].as_string();
    if (type != "ByUser" && type != "ByNamespace") return std::nullopt;
    out.distinguisher = type == "ByUser" ? Distinguisher::kByUser : Distinguisher::kByNamespace;
  }
  for (const Value& rule : spec["rules"].items()) {
    Rule& added = out.rules_.emplace_back();
    for (const Value& subject : rule["subjects"].items())
      if (auto read = read_subject(subject)) added.subjects.push_back(std::move(*read));
    for (const Value& r : rule["resourceRules"].items())
      added.resources.push_back({Names::read(r["verbs"]), Names::read(r["apiGroups"]),
                                 Names::read(r["resources"]), Names::read(r["namespaces"]),
                                 r["clusterScope"].as_bool()});
    for (const Value& r : rule["nonResourceRules"].items())
      added.paths.push_back({Names::read(r["verbs"]), Names::read(r["nonResourceURLs"]).list});
  }
  return out;
}

bool FlowSchema::matches(const authz::User& user, const authz::RequestInfo& info) const {
  auto names_resource = [&](const Names& resources) {
    if (info.subresource.empty()) return resources.has(info.resource);
    if (resources.is_all) return true;
    return std::ranges::any_of(resources.list, [&](std::string_view name) {
      return name.size() == info.resource.size() + 1 + info.subresource.size() &&
             name.starts_with(info.resource) && name[info.resource.size()] == '/' &&
             name.ends_with(info.subresource);
    });
  };
  auto covers_resource = [&](const ResourceRule& r) {
    return r.verbs.has(info.verb) && names_resource(r.resources) && r.groups.has(info.api_group) &&
           (info.namespace_name.empty() ? r.is_for_cluster : r.namespaces.has(info.namespace_name));
  };
  auto covers_path = [&](const PathRule& r) {
    return r.verbs.has(info.verb) && std::ranges::any_of(r.paths, [&](std::string_view pattern) {
             return is_under(info.path, pattern);
           });
  };
  return std::ranges::any_of(rules_, [&](const Rule& rule) {
    const bool covers = info.is_resource_request
                            ? std::ranges::any_of(rule.resources, covers_resource)
                            : std::ranges::any_of(rule.paths, covers_path);
    return covers &&
           std::ranges::any_of(rule.subjects, [&](const Subject& s) { return s.matches(user); });
  });
}

std::string_view FlowSchema::flow_of(const authz::User& user,
                                     const authz::RequestInfo& info) const {
  if (distinguisher == Distinguisher::kByUser) return user.name;
  if (distinguisher == Distinguisher::kByNamespace) return info.namespace_name;
  return {};
}

namespace {

// The objects that are in force even when they are not stored.
void add_mandatory(Rules& rules) {
  auto lacks = [](const auto& list, std::string_view name) {
    return std::ranges::none_of(list, [&](const auto& entry) { return entry.name == name; });
  };
  for (const Value& object : catalog::bootstrap_flow_control("")) {
    const std::string_view name = object["metadata"]["name"].as_string();
    if (name != kExempt && name != kCatchAll) continue;
    if (object["kind"].as_string() != "FlowSchema") {
      if (lacks(rules.levels, name)) rules.levels.push_back(*LevelSpec::read(object));
    } else if (lacks(rules.schemas, name)) {
      rules.schemas.push_back(*FlowSchema::read(object));
    }
  }
}

}  // namespace

Rules Rules::read(const std::vector<Value>& levels, const std::vector<Value>& schemas) {
  Rules out;
  for (const Value& object : levels)
    if (auto level = LevelSpec::read(object)) out.levels.push_back(std::move(*level));
  auto is_there = [&](std::string_view name) {
    return name == kExempt || name == kCatchAll ||
           std::ranges::find(out.levels, name, &LevelSpec::name) != out.levels.end();
  };
  for (const Value& object : schemas)
    if (auto schema = FlowSchema::read(object); schema && is_there(schema->level))
      out.schemas.push_back(std::move(*schema));
  add_mandatory(out);
  std::ranges::sort(out.schemas, {}, [](const FlowSchema& s) {
    return std::tuple(s.precedence, std::string_view(s.name));
  });
  return out;
}

}  // namespace cardea::rest::fairness
