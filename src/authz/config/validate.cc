#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "authz/config/authorization_config.h"
#include "authz/webhook/match_conditions.h"
#include "base/names.h"
#include "base/strings.h"
#include "base/time_parse.h"
#include "json/print.h"

namespace cardea::authz {

using json::FieldErrors;

namespace {

using namespace std::chrono_literals;

bool contains(const std::vector<std::string>& list, const std::string& what) {
  return std::ranges::find(list, what) != list.end();
}

void check_one_of(const std::string& value, const std::string& at,
                  const std::vector<std::string>& choices, FieldErrors& out) {
  if (value.empty())
    out.push_back(json::required(at));
  else if (!contains(choices, value))
    out.push_back(json::not_supported(at, value, choices));
}

void check_ttl(std::chrono::nanoseconds ttl, const std::string& at, FieldErrors& out) {
  if (ttl == 0ns)
    out.push_back(json::required(at));
  else if (ttl < 0ns)
    out.push_back(json::invalid(at, print_duration(ttl), "must be > 0s"));
}

void check_file(const std::optional<std::string>& file, const std::string& at, FieldErrors& out) {
  struct stat info{};
  if (!file || file->empty())
    out.push_back(json::required(at));
  else if (!file->starts_with('/'))
    out.push_back(json::invalid(at, *file, "must be an absolute path"));
  else if (::stat(file->c_str(), &info) != 0)
    out.push_back(json::invalid(
        at, *file, cat("error loading file: stat ", *file, ": ", lower(std::strerror(errno)))));
  else if (!S_ISREG(info.st_mode))
    out.push_back(json::invalid(at, *file, "must be a regular file"));
}

void check_connection(const WebhookConfig& w, const std::string& at, FieldErrors& out) {
  if (w.connection_type.empty()) {
    out.push_back(json::required(at + ".type"));
  } else if (w.connection_type == "InClusterConfig") {
    if (w.kubeconfig_file)
      out.push_back(json::invalid(at + ".kubeConfigFile", *w.kubeconfig_file,
                                  "can only be set when type=KubeConfigFile"));
  } else if (w.connection_type == "KubeConfigFile") {
    check_file(w.kubeconfig_file, at + ".kubeConfigFile", out);
  } else {
    // kube-apiserver shows the whole block where it means its type.
    json::Value shown = json::Value::object({{"Type", w.connection_type}, {"KubeConfigFile", {}}});
    if (w.kubeconfig_file) shown.set("KubeConfigFile", *w.kubeconfig_file);
    std::string text = cat("{\"Type\":", json::print(shown["Type"]),
                           ",\"KubeConfigFile\":", json::print(shown["KubeConfigFile"]), "}");
    out.push_back(json::shown_as(
        json::not_supported(at + ".type", std::move(shown), {"InClusterConfig", "KubeConfigFile"}),
        std::move(text)));
  }
}

void check_conditions(const WebhookConfig& w, const std::string& at, const AuthorizerTypes& types,
                      FieldErrors& out) {
  constexpr std::string_view
      kOff = "may not be specified when the ConditionalAuthorization feature gate is disabled";
  constexpr std::string_view kNoFile = "can only be set when connectionInfo.type=KubeConfigFile";
  bool has_file = w.connection_type == "KubeConfigFile";
  if (w.conditions_context) {
    std::string where = at + ".conditionsEndpointKubeConfigContext";
    if (!types.conditions)
      out.push_back(json::forbidden(where, std::string(kOff)));
    else if (!has_file)
      out.push_back(json::forbidden(where, std::string(kNoFile)));
    else if (w.conditions_context->empty())
      out.push_back(json::required(where));
  }
  if (!w.conditions_review) return;
  std::string where = at + ".conditionsReview";
  if (!types.conditions) {
    out.push_back(json::forbidden(where, std::string(kOff)));
    return;
  }
  if (w.conditions_context)
    out.push_back(json::forbidden(
        where, "may not be specified together with conditionsEndpointKubeConfigContext"));
  if (!has_file && !w.conditions_review->context.empty())
    out.push_back(json::forbidden(where + ".kubeConfigContextName", std::string(kNoFile)));
  check_one_of(w.conditions_review->version, where + ".version", {"v1alpha1"}, out);
}

void check_webhook(const WebhookConfig& w, const std::string& at, const AuthorizerTypes& types,
                   FieldErrors& out) {
  if (w.timeout == 0ns)
    out.push_back(json::required(at + ".timeout"));
  else if (w.timeout < 0ns || w.timeout > 30s)
    out.push_back(
        json::invalid(at + ".timeout", print_duration(w.timeout), "must be > 0s and <= 30s"));
  check_ttl(w.authorized_ttl, at + ".authorizedTTL", out);
  check_ttl(w.unauthorized_ttl, at + ".unauthorizedTTL", out);
  check_one_of(w.review_version, at + ".subjectAccessReviewVersion", {"v1", "v1beta1"}, out);
  std::string match_version = at + ".matchConditionSubjectAccessReviewVersion";
  if (!w.match_condition_review_version.empty())
    check_one_of(w.match_condition_review_version, match_version, {"v1"}, out);
  else if (!w.match_conditions.empty())
    out.push_back(json::required(match_version, "required if match conditions are specified"));
  check_one_of(w.failure_policy, at + ".failurePolicy", {"NoOpinion", "Deny"}, out);
  check_connection(w, at + ".connectionInfo", out);
  check_conditions(w, at, types, out);
  auto compiled = MatchConditions::compile(w.match_conditions, at + ".matchConditions");
  if (!compiled) out.insert(out.end(), compiled.error().begin(), compiled.error().end());
}

}  // namespace

FieldErrors validate(const AuthorizationConfig& config, const AuthorizerTypes& types) {
  FieldErrors out;
  if (config.authorizers.empty())
    out.push_back(json::required("authorizers", "at least one authorization mode must be defined"));
  std::set<std::string> seen_types, seen_names;
  for (std::size_t i = 0; i < config.authorizers.size(); ++i) {
    const AuthorizerConfig& a = config.authorizers[i];
    std::string at = cat("authorizers[", i, "]");
    if (a.type.empty()) {
      out.push_back(json::required(at + ".type"));
      continue;
    }
    if (!contains(types.known, a.type)) {
      std::vector<std::string> known = types.known;
      std::ranges::sort(known);
      out.push_back(json::not_supported(at + ".type", a.type, known));
      continue;
    }
    if (!seen_types.insert(a.type).second && !contains(types.repeatable, a.type)) {
      out.push_back(json::duplicate(at + ".type", a.type));
      continue;
    }
    if (a.name.empty())
      out.push_back(json::required(at + ".name"));
    else if (seen_names.contains(a.name))
      out.push_back(json::duplicate(at + ".name", a.name));
    else if (Problems problems = dns_subdomain_problems(a.name); !problems.empty())
      out.push_back(json::invalid(at + ".name", a.name,
                                  cat("authorizer name is invalid: ", join(problems, ", "))));
    seen_names.insert(a.name);
    if (a.type == "Webhook") {
      if (a.webhook)
        check_webhook(*a.webhook, at, types, out);
      else
        out.push_back(json::required(at + ".webhook", "required when type=Webhook"));
    } else if (a.webhook) {
      out.push_back(
          json::invalid(at + ".webhook", "non-null", "may only be specified when type=Webhook"));
    }
  }
  return out;
}

}  // namespace cardea::authz
