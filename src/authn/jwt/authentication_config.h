#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

// AuthenticationConfiguration (apiserver.config.k8s.io) as its file says it: the issuers whose
// tokens are accepted. Values; nothing here has been validated. docs/authentication.md explains
// them.
namespace cardea::authn {

struct IssuerConfig {
  std::string url;
  std::string discovery_url;          // "": derived from `url`
  std::string certificate_authority;  // PEM; "": the system's roots
  std::vector<std::string> audiences;
  std::string audience_match_policy;
  std::string egress_selector_type;
};

// A claim, perhaps with a prefix, or an expression. An absent prefix and an empty one differ.
struct PrefixedClaim {
  std::string claim;
  std::optional<std::string> prefix;
  std::string expression;
};

struct ExtraMapping {
  std::string key;
  std::string value_expression;
};

struct ClaimMappings {
  PrefixedClaim username;
  PrefixedClaim groups;
  PrefixedClaim uid;  // has no prefix
  std::vector<ExtraMapping> extra;
};

struct ClaimRule {
  std::string claim;
  std::string required_value;
  std::string expression;
  std::string message;
};

struct UserRule {
  std::string expression;
  std::string message;
};

struct JwtConfig {
  IssuerConfig issuer;
  std::vector<ClaimRule> claim_rules;
  ClaimMappings mappings;
  std::vector<UserRule> user_rules;
};

struct AnonymousConfig {
  bool enabled = false;
  std::vector<std::string> paths;  // of the conditions; empty: every path

  bool operator==(const AnonymousConfig&) const = default;
};

struct AuthenticationConfig {
  std::vector<JwtConfig> jwt;
  std::optional<AnonymousConfig> anonymous;
};

// Reads YAML or JSON strictly: unknown and repeated fields are errors, and so are values of another
// type. The messages are Kubernetes'.
Result<AuthenticationConfig> load_authentication_config(std::string_view text);

// The same for a file; errors name it. `text` stands for its content when given.
Result<AuthenticationConfig> read_authentication_config(
    const std::string& file, std::optional<std::string> text = std::nullopt);

// Whether the section `anonymous` may stand beside an explicit --anonymous-auth (it may not), and
// may be replaced by another at a reload (it may not).
Result<void> check_anonymous(const AuthenticationConfig& config, bool flag_given);
Result<void> check_anonymous_unchanged(const std::optional<AnonymousConfig>& before,
                                       const std::optional<AnonymousConfig>& after);

// The document that load_authentication_config would read as `config`, without what is empty.
json::Value document_of(const AuthenticationConfig& config);

}  // namespace cardea::authn
