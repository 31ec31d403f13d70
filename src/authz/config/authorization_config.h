#pragma once
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/field_error.h"
#include "json/value.h"

// AuthorizationConfiguration (apiserver.config.k8s.io): the authorizers and their order, as its
// file says it. Values and pure functions; docs/authorization.md explains the file.
namespace cardea::authz {

struct WebhookConfig {
  std::chrono::nanoseconds authorized_ttl{0}, unauthorized_ttl{0};
  bool cache_authorized = true, cache_unauthorized = true;
  std::chrono::nanoseconds timeout{0};
  std::string review_version;                  // of what is sent: "v1", "v1beta1"
  std::string match_condition_review_version;  // of what match conditions see: "v1"
  std::string failure_policy;                  // "NoOpinion", "Deny"
  std::string connection_type;                 // "KubeConfigFile", "InClusterConfig"
  std::optional<std::string> kubeconfig_file;
  std::vector<std::string> match_conditions;
  // How it may answer with conditions: at most one of the two. A context is one of the
  // kubeconfig's.
  std::optional<std::string> conditions_context;  // conditionsEndpointKubeConfigContext: as lists
  struct ConditionsReview {
    std::string version, context;
    bool operator==(const ConditionsReview&) const = default;
  };
  std::optional<ConditionsReview> conditions_review;  // as trees

  bool operator==(const WebhookConfig&) const = default;
};

struct AuthorizerConfig {
  std::string type, name;
  std::optional<WebhookConfig> webhook;

  bool operator==(const AuthorizerConfig&) const = default;
};

struct AuthorizationConfig {
  std::vector<AuthorizerConfig> authorizers;

  bool operator==(const AuthorizationConfig&) const = default;
  std::vector<std::string> built_in_types() const;  // those that are not webhooks, sorted
};

// Reads YAML or JSON strictly: unknown and repeated fields are errors. Fills in the defaults. An
// empty text is an empty configuration.
Result<AuthorizationConfig> parse_authorization_config(std::string_view text);
// The content of a decoded document, without defaults. Durations that cannot be read are an
// error.
Result<AuthorizationConfig> authorization_config_of(const json::Value& document);

// The known types, the types that may appear several times, and their permitted options.
struct AuthorizerTypes {
  std::vector<std::string> known = {"ABAC", "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook"};
  std::vector<std::string> repeatable = {"Webhook"};
  bool conditions = false;  // whether webhooks may answer with conditions
};

// The errors of the configuration, with paths as in kube-apiserver: `authorizers[0].timeout` is
// a webhook's. Reads the kubeconfig files it names.
json::FieldErrors validate(const AuthorizationConfig& config, const AuthorizerTypes& types);

// The configuration for a server: parsed, valid, built-in authorizers named after their types,
// and none of `required_types` missing. The error names all problems.
Result<AuthorizationConfig> load_authorization_config(
    std::string_view text, std::span<const std::string> required_types = {},
    const AuthorizerTypes& types = {});

}  // namespace cardea::authz
