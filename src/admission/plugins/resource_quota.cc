#include <algorithm>
#include <set>

#include "admission/plugins.h"
#include "admission/plugins/quota_usage.h"
#include "base/strings.h"
#include "json/print.h"
#include "schema/ownership/managed_fields.h"

namespace cardea::admission {
namespace {

using json::Value;

std::string print_amounts(const Amounts& amounts) {
  std::vector<std::string> parts;
  for (const auto& [name, amount] : amounts) parts.push_back(cat(name, "=", amount.print()));
  return join(parts, ",");
}

Amounts only(const Amounts& all, const Amounts& names) {
  Amounts out;
  for (const auto& [name, amount] : all)
    if (names.contains(name)) out.emplace(name, amount);
  return out;
}

// Refuses a write that would exceed a quota of the namespace, and charges all others. The charge is
// part of the object's own transaction, on the condition that the quota has not changed since it
// was read: so usage is exact, however many clients write at once.
class ResourceQuota : public Plugin {
 public:
  ResourceQuota(Objects objects, const Settings& settings)
      : objects_(objects), limited_(settings.limited_resources) {}
  std::string_view name() const override { return "ResourceQuota"; }

  bool handles(const Review& r) const override {
    bool is_update = r.operation == Operation::kUpdate;
    if ((r.operation != Operation::kCreate && !is_update) || r.namespace_name.empty() ||
        r.resource.storage_prefix.empty())
      return false;
    bool is_core = r.resource.group.empty();
    if (is_core && r.resource.name == "namespaces") return false;
    if ((is_core || r.resource.group == "events.k8s.io") && r.resource.name == "events")
      return false;
    if (is_core && r.resource.name == "pods")
      return is_update ? r.subresource == "resize" : r.subresource.empty();
    if (!r.subresource.empty()) return false;
    bool changes_later = (is_core && (r.resource.name == "services" ||
                                      r.resource.name == "persistentvolumeclaims")) ||
                         (r.resource.group == "resource.k8s.io" &&
                          r.resource.name == "resourceclaims");
    return !is_update || changes_later;
  }

  Task<Result<void>> validate(const Review& r) const override { co_return charge(r); }

 private:
  struct Pertinent {
    store::RecordPtr record;
    Value quota;
    Amounts hard, used;
  };

  Result<void> charge(const Review& r) const {
    auto records = objects_.records(r.catalog, "", "resourcequotas", r.namespace_name);
    if (!records) return fail(records.error());
    if (records->empty() && limited_.empty()) return {};
    std::vector<Pertinent> pertinent;
    for (auto& [record, quota] : *records) {
      Pertinent p{record, quota, {}, {}};
      Result<bool> concerns = is_pertinent(r, p);
      if (!concerns) return fail(concerns.error());
      if (*concerns) pertinent.push_back(std::move(p));
    }
    if (auto ok = check_covered(r, *records, pertinent); !ok) return ok;
    if (pertinent.empty()) return {};
    Amounts delta = usage_of(r.resource, r.object, r.now);
    for (const auto& [name, amount] : delta)
      if (amount.sign() < 0)
        return fail(forbidden(r, cat("quota usage is negative for resource(s): ", name)));
    if (r.old_object) subtract(delta, usage_of(r.resource, *r.old_object, r.now));
    std::erase_if(delta, [](const auto& entry) { return entry.second.sign() == 0; });
    if (delta.empty()) return {};
    for (Pertinent& p : pertinent)
      if (auto ok = charge_one(r, p, delta); !ok) return ok;
    return {};
  }

  // What the configuration of the server limits needs a quota that covers it.
  Result<void> check_covered(const Review& r, const auto& records,
                             const std::vector<Pertinent>& pertinent) const {
    std::set<std::string> uncovered;
    std::vector<Value> scopes;
    for (const LimitedResource& limited : limited_) {
      if (limited.group != r.resource.group || limited.resource != r.resource.name) continue;
      for (const auto& [name, amount] : usage_of(r.resource, r.object, r.now))
        if (amount.sign() > 0 && std::ranges::any_of(limited.contains, [&](const auto& part) {
              return name.contains(part);
            }))
          uncovered.insert(name);
      for (const Value& scope : limited.scopes.items())
        if (in_scope(scope, r.resource, r.object)) scopes.push_back(scope);
    }
    for (const Pertinent& p : pertinent)
      for (const auto& [name, amount] : p.hard) uncovered.erase(name);
    if (!uncovered.empty())
      return fail(forbidden(r, cat("insufficient quota to consume: ",
                                   join({uncovered.begin(), uncovered.end()}, ","))));
    std::erase_if(scopes, [&](const Value& scope) {
      return std::ranges::any_of(records, [&](const auto& entry) {
        return covers_scope(entry.second, scope["scopeName"].as_string(), r);
      });
    });
    if (scopes.empty()) return {};
    std::vector<std::string> shown;
    for (const Value& scope : scopes) shown.push_back(print_scope(scope));
    return fail(
        internal_error(cat("insufficient quota to match these scopes: [", join(shown, " "), "]")));
  }

  static bool covers_scope(const Value& quota, std::string_view scope, const Review& r) {
    for (const Value& name : quota["spec"]["scopes"].items())
      if (name.as_string() == scope) return true;
    for (const Value& requirement : quota["spec"]["scopeSelector"]["matchExpressions"].items())
      if (requirement["scopeName"].as_string() == scope &&
          in_scope(requirement, r.resource, r.object))
        return true;
    return false;
  }

  // `{PriorityClass In [costly]}`
  static std::string print_scope(const Value& scope) {
    std::vector<std::string> values;
    for (const Value& v : scope["values"].items()) values.emplace_back(v.as_string());
    return cat("{", scope["scopeName"].as_string(), " ", scope["operator"].as_string(), " [",
               join(values, " "), "]}");
  }

  // Never below nothing: giving back is the controller's business.
  static void subtract(Amounts& from, const Amounts& what) {
    for (auto& [name, amount] : from)
      if (auto at = what.find(name); at != what.end())
        amount = at->second < amount ? amount - at->second : Quantity();
  }

  static Result<bool> is_pertinent(const Review& r, Pertinent& p) {
    p.hard = read_amounts(p.quota["status"]["hard"]);
    p.used = read_amounts(p.quota["status"]["used"]);
    std::vector<std::string> names;
    for (const auto& [name, amount] : p.hard)
      if (is_charged_as(r.resource, name)) names.push_back(name);
    if (names.empty() || !in_scopes(p.quota, r.resource, r.object)) return false;
    std::string_view quota_name = p.quota["metadata"]["name"].as_string();
    if (r.resource.group.empty() && r.resource.name == "pods")
      if (std::string missing = missing_of_pod(r.object, names); !missing.empty())
        return fail(forbidden(r, cat("failed quota: ", quota_name, ": ", missing)));
    for (const std::string& name : names)
      if (!p.used.contains(name))
        return fail(forbidden(
            r, cat("status unknown for quota: ", quota_name, ", resources: ", join(names, ","))));
    return true;
  }

  static Result<void> charge_one(const Review& r, Pertinent& p, const Amounts& delta) {
    Amounts requested = only(delta, p.hard), exceeded;
    if (requested.empty()) return {};
    Amounts now_used = p.used;
    add_amounts(now_used, requested);
    for (const auto& [name, amount] : requested)
      if (now_used[name] > p.hard[name]) exceeded.emplace(name, amount);
    if (!exceeded.empty())
      return fail(forbidden(r, cat("exceeded quota: ", p.quota["metadata"]["name"].as_string(),
                                   ", requested: ", print_amounts(exceeded),
                                   ", used: ", print_amounts(only(p.used, exceeded)),
                                   ", limited: ", print_amounts(only(p.hard, exceeded)))));
    if (r.dry_run) return {};
    Value next = p.quota;
    next.member("status").set("used", write_amounts(now_used));
    const catalog::Resource& quotas = *r.catalog.find("", "v1", "resourcequotas");
    schema::FieldSet reset = schema::reset_fields("", "ResourceQuota", "status", false, true);
    next = schema::track_update(&p.quota, std::move(next), *quotas.schema,
                                {.manager = "kube-apiserver",
                                 .api_version = "v1",
                                 .subresource = "status",
                                 .now = r.now,
                                 .reset_fields = &reset});
    r.relies_on.push_back({std::string(p.record->key()), p.record->mod_revision});
    r.also_writes.push_back({std::string(p.record->key()), json::print_object(next)});
    return {};
  }

  Objects objects_;
  const std::vector<LimitedResource> limited_;
};

}  // namespace

std::unique_ptr<Plugin> resource_quota(Objects objects, const Settings& settings) {
  return std::make_unique<ResourceQuota>(objects, settings);
}

}  // namespace cardea::admission
