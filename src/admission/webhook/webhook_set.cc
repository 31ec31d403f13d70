#include "admission/webhook/webhook_set.h"

#include <algorithm>
#include <set>

#include "http/client.h"

namespace cardea::admission {
namespace {

using json::Value;

std::string first_known_version(const Value& versions) {
  for (const Value& v : versions.items())
    if (v.as_string() == "v1" || v.as_string() == "v1beta1") return std::string(v.as_string());
  return "";
}

Value match_of(const Value& spec) {
  return Value::object({{"resourceRules", spec["rules"]},
                        {"matchPolicy", spec["matchPolicy"]},
                        {"namespaceSelector", spec["namespaceSelector"]},
                        {"objectSelector", spec["objectSelector"]}});
}

// As stored objects have it: what a later version of Kubernetes would fill in is filled in when it
// is read.
std::chrono::seconds timeout_of(const Value& spec) {
  const std::int64_t seconds = spec["timeoutSeconds"].as_int();
  return std::chrono::seconds(std::clamp<std::int64_t>(seconds == 0 ? 10 : seconds, 1, 30));
}

}  // namespace

Webhook::Webhook(std::string config, std::size_t index, const Value& s)
    : configuration(std::move(config)),
      name(s["name"].as_string()),
      id(cat(configuration, "/", name, "/", index)),
      spec(s),
      match(match_of(s)),
      review_version(first_known_version(s["admissionReviewVersions"])),
      fails_open(s["failurePolicy"].as_string() == "Ignore"),
      is_reinvocable(s["reinvocationPolicy"].as_string() == "IfNeeded"),
      is_safe_on_dry_run(s["sideEffects"].as_string() == "None" ||
                         s["sideEffects"].as_string() == "NoneOnDryRun"),
      timeout(timeout_of(s)),
      conditions(name,
                 Value::object({{"matchConditions", s["matchConditions"]},
                                {"failurePolicy", s["failurePolicy"]}}),
                 false) {}
Webhook::~Webhook() = default;

WebhookSet::WebhookSet(const std::unordered_map<std::string, Webhooks>& configurations) {
  std::vector<const std::pair<const std::string, Webhooks>*> ordered;
  for (const auto& c : configurations) ordered.push_back(&c);
  std::ranges::sort(ordered, {}, [](const auto* c) { return std::string_view(c->first); });
  std::vector<std::pair<Entry, std::set<std::string, std::less<>>>> all;
  std::set<std::string, std::less<>> names;
  for (const auto* c : ordered)
    for (const auto& hook : c->second) {
      std::set<std::string, std::less<>> named;
      for (const Value& rule : hook->spec["rules"].items())
        for (const Value& resource : rule["resources"].items())
          named.insert(std::string(split(resource.as_string(), '/')[0]));
      const Entry entry{hook, all.size()};
      if (named.contains("*"))
        any_.push_back(entry);
      else
        names.insert(named.begin(), named.end());
      all.emplace_back(entry, std::move(named));
    }
  // Each list is complete, so that a look-up is one.
  for (const auto& [entry, named] : all)
    for (const std::string& resource : named.contains("*") ? names : named)
      by_resource_[resource].push_back(entry);
}

std::span<const WebhookSet::Entry> WebhookSet::about(std::string_view resource) const {
  const auto at = by_resource_.find(resource);
  return at == by_resource_.end() ? any_ : at->second;
}

}  // namespace cardea::admission
