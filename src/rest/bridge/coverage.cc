#include "rest/bridge/coverage.h"

#include <algorithm>
#include <array>

#include "admission/policy/policy_match.h"
#include "authz/eligibility.h"
#include "base/strings.h"
#include "http/url.h"
#include "json/label_selector.h"

namespace cardea::rest::bridge {
namespace {

using json::Value;

// Their bodies are the object itself.
constexpr std::string_view kParts[] = {"", "status", "ephemeralcontainers", "resize", "approval"};
constexpr std::string_view kConnections[] = {"exec", "attach", "portforward"};
constexpr std::string_view kLeftOut[] = {"authentication.k8s.io", "authorization.k8s.io",
                                         "admissionregistration.k8s.io"};

bool is_among(const auto& list, std::string_view what) {
  return std::ranges::find(list, what) != std::end(list);
}

std::string_view operation_for(const authz::Attributes& a) {
  if (authz::is_connection(a)) return "CONNECT";
  if (a.verb == "create") return "CREATE";
  // An update that turns out to create the object is asked about as `create`, too.
  if (a.verb == "update" || a.verb == "patch") return "UPDATE";
  return "DELETE";  // deletecollection sends each object
}

bool narrows(const Value& selector) {
  return !selector.is_null() && !json::selector_is_empty(selector);
}

// Empty where there is none.
std::string path_of(const Value& client_config) {
  if (const std::string_view url = client_config["url"].as_string(); !url.empty()) {
    auto parsed = http::parse_url(url);
    return parsed ? parsed->target : std::string();
  }
  return std::string(client_config["service"]["path"].as_string());
}

std::string trouble_with(const Value& hook) {
  if (hook["failurePolicy"].as_string() != "Fail")
    return "its failurePolicy is not Fail: requests would pass when it cannot be asked";
  if (narrows(hook["namespaceSelector"])) return "its namespaceSelector leaves namespaces out";
  if (narrows(hook["objectSelector"])) return "its objectSelector leaves objects out";
  if (!hook["matchConditions"].empty()) return "its matchConditions leave requests out";
  const std::string_view effects = hook["sideEffects"].as_string();
  if (effects != "None" && effects != "NoneOnDryRun")
    return "its sideEffects are neither None nor NoneOnDryRun";
  if (hook["admissionReviewVersions"][0].as_string() != "v1")
    return "its admissionReviewVersions do not begin with v1";
  if (path_of(hook["clientConfig"]) != kAdmissionPath)
    return cat("its clientConfig does not lead to ", kAdmissionPath);
  if (hook["rules"].empty()) return "it has no rules";
  return "";
}

}  // namespace

bool is_bridgeable(const authz::Attributes& a) {
  if (!authz::may_be_conditional(a) || is_among(kLeftOut, a.api_group)) return false;
  if (authz::is_connection(a))
    return a.resource == "pods" && is_among(kConnections, a.subresource) &&
           (a.verb == "get" || a.verb == "create");
  if (a.api_group.empty() && a.resource == "bindings") return false;
  return is_among(kParts, a.subresource);
}

Result<Coverage> Coverage::read(const Value& configuration, std::string_view webhook,
                                const Value& api_services) {
  const auto wrong = [&](std::string_view why) {
    return fail(internal_error(cat("the webhook `", webhook, "`: ", why)));
  };
  const Value* found = nullptr;
  for (const Value& hook : configuration["webhooks"].items())
    if (hook["name"].as_string() == webhook) {
      if (found) return wrong("its configuration has two of this name");
      found = &hook;
    }
  if (!found) return wrong("its configuration does not have it");
  if (std::string why = trouble_with(*found); !why.empty()) return wrong(why);
  Coverage out;
  out.rules_ = (*found)["rules"];
  for (const Value& service : api_services["items"].items()) {
    const Value& spec = service["spec"];
    if (spec["service"].is_null())
      out.local_.push_back(
          {std::string(spec["group"].as_string()), std::string(spec["version"].as_string())});
  }
  return out;
}

bool Coverage::covers(const authz::Attributes& a) const {
  if (!is_bridgeable(a)) return false;
  if (std::ranges::none_of(local_, [&](const GroupVersion& g) {
        return g.group == a.api_group && g.version == a.api_version;
      }))
    return false;
  const bool is_namespace = a.api_group.empty() && a.resource == "namespaces";
  const admission::RuleTarget target{.operation = operation_for(a),
                                     .group = a.api_group,
                                     .version = a.api_version,
                                     .resource = a.resource,
                                     .subresource = a.subresource,
                                     .is_namespaced = !a.namespace_name.empty() && !is_namespace};
  // A rule for another version of the same resource would do with matchPolicy Equivalent, but then
  // the webhook gets the object in that version.
  return std::ranges::any_of(
      rules_.items(), [&](const Value& rule) { return admission::rule_matches(rule, target); });
}

}  // namespace cardea::rest::bridge
