#include "catalog/kinds/core/resources.h"

#include <map>
#include <vector>

#include "catalog/kinds/check.h"
#include "json/members.h"
#include "json/print.h"

namespace cardea::catalog {
namespace {

using json::FieldErrors;
using json::Value;
using std::string_view;

constexpr string_view kHugePages = "hugepages-";
constexpr string_view kContainerResources[] = {"cpu", "memory", "ephemeral-storage"};
constexpr string_view kStandardResources[] = {"cpu",
                                              "memory",
                                              "ephemeral-storage",
                                              "requests.cpu",
                                              "requests.memory",
                                              "requests.ephemeral-storage",
                                              "limits.cpu",
                                              "limits.memory",
                                              "limits.ephemeral-storage",
                                              "pods",
                                              "resourcequotas",
                                              "services",
                                              "replicationcontrollers",
                                              "secrets",
                                              "configmaps",
                                              "persistentvolumeclaims",
                                              "storage",
                                              "requests.storage",
                                              "services.nodeports",
                                              "services.loadbalancers"};
constexpr string_view kQuotaResources[] = {"cpu",
                                           "memory",
                                           "ephemeral-storage",
                                           "requests.cpu",
                                           "requests.memory",
                                           "requests.storage",
                                           "requests.ephemeral-storage",
                                           "limits.cpu",
                                           "limits.memory",
                                           "limits.ephemeral-storage",
                                           "pods",
                                           "resourcequotas",
                                           "services",
                                           "replicationcontrollers",
                                           "secrets",
                                           "persistentvolumeclaims",
                                           "configmaps",
                                           "services.nodeports",
                                           "services.loadbalancers"};
constexpr string_view kWholeUnits[] = {"pods",
                                       "resourcequotas",
                                       "services",
                                       "replicationcontrollers",
                                       "secrets",
                                       "configmaps",
                                       "persistentvolumeclaims",
                                       "services.nodeports",
                                       "services.loadbalancers"};

bool has_domain(string_view name) {
  return name.find('/') != string_view::npos;
}
bool is_quota_huge_page(string_view name) {
  return name.starts_with(kHugePages) || name.starts_with("requests.hugepages-");
}
bool is_pod_level_resource(string_view name) {
  return name == "cpu" || name == "memory" || name.starts_with(kHugePages);
}

bool is_divisible_by_page(string_view name, const Quantity& amount) {
  auto page = Quantity::parse(name.substr(kHugePages.size()));
  return page && page->value() > 0 && amount.value() % page->value() == 0;
}

using NameRule = void (*)(string_view, const Path&, FieldErrors&);

void validate_pod_resource_name(string_view name, const Path& path, FieldErrors& out) {
  std::size_t before = out.size();
  validate_resource_name(name, path, out);
  if (out.size() == before && !is_pod_level_resource(name))
    out.push_back(json::not_supported(path, name, {"cpu", "hugepages-", "memory"}));
}

void validate_huge_pages(string_view name, const Value& amount, const Path& path,
                         FieldErrors& out) {
  if (is_huge_page_resource(name) && !is_divisible_by_page(name, quantity_of(amount)))
    out.push_back(
        json::invalid(path, show_quantity(amount),
                      cat(show_quantity(amount), " is not positive integer multiple of ", name)));
}

void validate_claims(const Value& claims, const std::set<std::string>& pod_claims, const Path& path,
                     FieldErrors& out) {
  // Each error may name all claims of the pod: more than these nobody reads.
  constexpr std::size_t kMostErrors = 1000;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < claims.size() && out.size() < kMostErrors; ++i) {
    Path at = path.index(i);
    std::string name(text(claims[i], "name")), request(text(claims[i], "request"));
    if (name.empty()) {
      out.push_back(json::required(at));
      continue;
    }
    if (seen.contains(name)) {
      out.push_back(json::duplicate(at, name));
    } else {
      std::string key = request.empty() ? name : cat(name, "/", request);
      if (!request.empty()) complain(at / "request", request, dns1123_label(request), out);
      if (seen.contains(key))
        out.push_back(json::duplicate(at, key));
      else if (request.empty())
        for (auto other = seen.lower_bound(cat(name, "/"));
             other != seen.end() && other->starts_with(cat(name, "/")); ++other)
          out.push_back(json::duplicate(at, name));
      seen.insert(key);
    }
    if (pod_claims.contains(name)) continue;
    auto error = json::not_found(at, name);
    error.detail = "must be one of the names in pod.spec.resourceClaims";
    error.detail += pod_claims.empty()
                        ? " which is empty"
                        : cat(": ", join({pod_claims.begin(), pod_claims.end()}, ", "));
    out.push_back(std::move(error));
  }
}

void validate_requirements(const Value& requirements, NameRule name_rule,
                           const std::set<std::string>& pod_claims, const Path& path,
                           FieldErrors& out) {
  const Value& limits = requirements["limits"];
  Path limits_path = path / "limits", requests_path = path / "requests";
  bool huge = false, compute = false;
  auto common = [&](const json::Member& m, const Path& at) {
    name_rule(m.key(), at, out);
    validate_resource_value(m.key(), m.value, at, out);
    huge |= is_huge_page_resource(m.key());
    compute |= m.key() == "cpu" || m.key() == "memory";
  };
  for (const json::Member& m : limits.members()) {
    common(m, limits_path.key(m.key()));
    validate_huge_pages(m.key(), m.value, limits_path.key(m.key()), out);
  }
  for (const json::Member& m : requirements["requests"].members()) {
    common(m, requests_path.key(m.key()));
    if (const Value* limit = limits.find(m.key())) {
      auto order = quantity_of(m.value) <=> quantity_of(*limit);
      if (order != 0 && !is_overcommit_allowed(m.key()))
        out.push_back(
            json::invalid(requests_path, show_quantity(m.value),
                          cat("must be equal to ", m.key(), " limit of ", show_quantity(*limit))));
      else if (order > 0)
        out.push_back(json::invalid(
            requests_path, show_quantity(m.value),
            cat("must be less than or equal to ", m.key(), " limit of ", show_quantity(*limit))));
    } else if (!is_overcommit_allowed(m.key())) {
      out.push_back(
          json::required(limits_path, "Limit must be set for non overcommitable resources"));
    }
    validate_huge_pages(m.key(), m.value, requests_path.key(m.key()), out);
  }
  if (huge && !compute) out.push_back(json::forbidden(path, "HugePages require cpu or memory"));
  validate_claims(requirements["claims"], pod_claims, path / "claims", out);
}

using Amounts = std::map<std::string, Quantity, std::less<>>;

Amounts amounts(const Value& list) {
  Amounts out;
  for (const json::Member& m : list.members())
    out.emplace(std::string(m.key()), quantity_of(m.value));
  return out;
}
void add(Amounts& to, const Amounts& more) {
  for (const auto& [name, amount] : more) {
    auto [at, fresh] = to.emplace(name, amount);
    if (!fresh) at->second += amount;
  }
}
void raise(Amounts& to, const Amounts& other) {
  for (const auto& [name, amount] : other) {
    auto [at, fresh] = to.emplace(name, amount);
    if (!fresh && at->second < amount) at->second = amount;
  }
}

}  // namespace

Quantity quantity_of(const Value& value) {
  std::string written = value.is_string()   ? std::string(value.as_string())
                        : value.is_number() ? json::print(value)
                                            : "0";
  auto parsed = Quantity::parse(trim(written));
  return parsed ? *parsed : Quantity();
}

std::string show_quantity(const Value& value) {
  return quantity_of(value).print();
}

bool is_native_resource(string_view name) {
  return !has_domain(name) || name.find("kubernetes.io/") != string_view::npos;
}
bool is_extended_resource(string_view name) {
  if (is_native_resource(name) || name.starts_with("requests.")) return false;
  return qualified_name(cat("requests.", name)).empty();
}
bool is_huge_page_resource(string_view name) {
  return name.starts_with(kHugePages);
}
bool is_integer_resource(string_view name) {
  return contains(kWholeUnits, name) || is_extended_resource(name);
}
bool is_overcommit_allowed(string_view name) {
  return is_native_resource(name) && !is_huge_page_resource(name);
}

void validate_resource_name(string_view name, const Path& path, FieldErrors& out) {
  if (auto complaints = qualified_name(name); !complaints.empty())
    return complain(path, name, complaints, out);
  if (!has_domain(name) && !contains(kStandardResources, name) && !is_quota_huge_page(name))
    out.push_back(json::invalid(path, name, "must be a standard resource type or fully qualified"));
}

void validate_container_resource_name(string_view name, const Path& path, FieldErrors& out) {
  validate_resource_name(name, path, out);
  if (!has_domain(name)) {
    if (!contains(kContainerResources, name) && !is_huge_page_resource(name))
      out.push_back(json::invalid(path, name, "must be a standard resource for containers"));
  } else if (!is_native_resource(name) && !is_extended_resource(name)) {
    out.push_back(json::invalid(path, name, "doesn't follow extended resource name standard"));
  }
}

bool is_pod_quota_resource(string_view name) {
  static constexpr string_view kNames[] = {"pods",
                                           "cpu",
                                           "memory",
                                           "ephemeral-storage",
                                           "requests.cpu",
                                           "requests.memory",
                                           "requests.ephemeral-storage",
                                           "limits.cpu",
                                           "limits.memory",
                                           "limits.ephemeral-storage"};
  return contains(kNames, name);
}

void validate_quota_resource_name(string_view name, const Path& path, FieldErrors& out) {
  validate_resource_name(name, path, out);
  if (!has_domain(name) && !contains(kQuotaResources, name) && !is_quota_huge_page(name))
    out.push_back(json::invalid(path, name, "must be a standard resource for quota"));
}

void validate_nonnegative_quantity(const Value& quantity, const Path& path, FieldErrors& out) {
  if (quantity_of(quantity).sign() < 0)
    out.push_back(json::invalid(path, show_quantity(quantity), std::string(kMustNotBeNegative)));
}

void validate_resource_value(string_view name, const Value& quantity, const Path& path,
                             FieldErrors& out) {
  validate_nonnegative_quantity(quantity, path, out);
  if (is_integer_resource(name) && quantity_of(quantity).milli_value() % 1000 != 0)
    out.push_back(json::invalid(path, show_quantity(quantity), "must be an integer"));
}

void validate_container_resources(const Value& requirements,
                                  const std::set<std::string>& pod_claims, const Path& path,
                                  FieldErrors& out) {
  validate_requirements(requirements, validate_container_resource_name, pod_claims, path, out);
}

void validate_pod_level_resources(const Value& spec, const Path& spec_path,
                                  const std::set<std::string>& pod_claims, FieldErrors& out) {
  const Value& resources = spec["resources"];
  if (resources.is_null()) return;
  Path path = spec_path / "resources";
  if (text(spec["os"], "name") == "windows") {
    out.push_back(json::forbidden(path, "may not be set for a windows pod"));
    return;
  }
  if (present(resources, "claims"))
    out.push_back(
        json::forbidden(path / "claims", "claims may not be set for Resources at pod-level"));
  validate_requirements(resources, validate_pod_resource_name, pod_claims, path, out);

  auto at_least = [&](ResourceSide side, const char* key, bool huge_pages_only) {
    Value total = aggregate_container_resources(spec, side);
    for (const json::Member& m : total.members()) {
      const Value* own = resources[key].find(m.key());
      if (!own || (huge_pages_only && !is_huge_page_resource(m.key()))) continue;
      if (quantity_of(m.value) > quantity_of(*own))
        out.push_back(json::invalid((path / key).key(m.key()), show_quantity(*own),
                                    cat("must be greater than or equal to aggregate container ",
                                        key, " of ", show_quantity(m.value))));
    }
  };
  at_least(ResourceSide::kRequests, "requests", false);
  at_least(ResourceSide::kLimits, "limits", true);
  each(spec, "containers", path, [&](const Value& container, const Path& at) {
    for (const json::Member& m : container["resources"]["limits"].members())
      if (const Value* own = resources["limits"].find(m.key());
          own && quantity_of(m.value) > quantity_of(*own))
        out.push_back(json::invalid(
            at.key(m.key()) / "limits", show_quantity(m.value),
            cat("must be less than or equal to pod limits of ", show_quantity(*own))));
  });
}

void default_quantity(Value& owner, string_view key) {
  if (owner[key].is_null()) return;
  if (std::string canonical = show_quantity(owner[key]); owner[key].as_string() != canonical)
    owner.set(key, canonical);
}

void default_resource_list(Value& owner, string_view key) {
  if (!owner[key].is_object()) return;
  Value list = owner[key];
  for (const json::Member& m : owner[key].members()) {
    Quantity amount = quantity_of(m.value);
    auto rounded = Quantity::parse(cat(amount.milli_value(), "m"));
    bool beyond_milli = amount.milli_value() == INT64_MAX || amount.milli_value() == INT64_MIN;
    std::string canonical = rounded && !beyond_milli && *rounded != amount ? rounded->print()
                                                                           : amount.print();
    if (m.value.as_string() != canonical) list.set(m.key(), canonical);
  }
  if (!list.same(owner[key])) owner.set(key, std::move(list));
}

void default_resource_requirements(Value& owner, string_view key) {
  edit_member(owner, key, [](Value& requirements) {
    default_resource_list(requirements, "limits");
    default_resource_list(requirements, "requests");
  });
}

void default_requests_from_limits(Value& container) {
  if (!container["resources"]["limits"].is_object()) return;
  Value requests = container["resources"]["requests"];
  if (requests.is_null()) requests = Value::object();
  json::add_missing(requests, container["resources"]["limits"]);
  container.member("resources").set("requests", std::move(requests));
}

Value aggregate_container_resources(const Value& spec, ResourceSide side) {
  const char* key = side == ResourceSide::kRequests ? "requests" : "limits";
  Amounts total, sidecars, init_peak;
  for (const Value& c : spec["containers"].items()) add(total, amounts(c["resources"][key]));
  for (const Value& c : spec["initContainers"].items()) {
    Amounts own = amounts(c["resources"][key]);
    if (text(c, "restartPolicy") == "Always") {
      add(total, own);
      add(sidecars, own);
      own = sidecars;
    } else {
      add(own, sidecars);
    }
    raise(init_peak, own);
  }
  raise(total, init_peak);
  Value out = Value::object();
  for (const auto& [name, amount] : total) out.set(name, amount.print());
  return out;
}

std::string_view pod_qos_class(const Value& spec) {
  constexpr string_view kCompute[] = {"cpu", "memory"};
  Amounts requests, limits;
  bool guaranteed = true;
  auto take = [&](const Value& resources) {
    bool both = true;
    for (string_view name : kCompute) {
      Quantity request = quantity_of(resources["requests"][name]),
               limit = quantity_of(resources["limits"][name]);
      if (request.sign() > 0) add(requests, {{std::string(name), request}});
      if (limit.sign() > 0) add(limits, {{std::string(name), limit}});
      both &= limit.sign() > 0;
    }
    guaranteed &= both;
  };
  const Value& own = spec["resources"];
  if (!own["requests"].empty() || !own["limits"].empty()) {
    take(own);
  } else {
    for (const char* key : {"containers", "initContainers"})
      for (const Value& container : spec[key].items()) take(container["resources"]);
  }
  if (requests.empty() && limits.empty()) return "BestEffort";
  if (guaranteed && requests == limits) return "Guaranteed";
  return "Burstable";
}

}  // namespace cardea::catalog
