#pragma once
#include <memory>
#include <string>
#include <vector>

#include "authn/jwt/authentication_config.h"
#include "authz/user.h"
#include "base/result.h"
#include "cel/program.h"
#include "json/field_error.h"

namespace cardea::authn {

using ProgramPtr = std::shared_ptr<const cel::Program>;

// The rules of one issuer's configuration for verified claims: rules about the claims, the
// mapping to a user, rules about the user. Immutable; from any thread. After any error the user
// is not authenticated.
class ClaimRules {
 public:
  // Compiles the expressions of `config`. Errors in claimValidationRules, claimMappings and
  // userValidationRules are added to `errors` with paths that begin with `path`; the result may
  // be used only when no error was added.
  static ClaimRules compile(const JwtConfig& config, const std::string& path,
                            json::FieldErrors& errors);

  // `claims` are the token's, verified; groups that had to be fetched are in their place.
  Result<authz::User> user_of(const json::Value& claims) const;

 private:
  struct CompiledRule {
    std::string expression;
    std::string message;
    ProgramPtr program;
  };
  struct CompiledMapping {
    std::string key;
    std::string expression;
    ProgramPtr program;
  };
  ClaimRules() = default;
  void compile_claim_rules(const JwtConfig& config, const std::string& path,
                           json::FieldErrors& errors, bool& verified);
  void compile_mappings(const JwtConfig& config, const std::string& path, json::FieldErrors& errors,
                        bool verified);
  void compile_user_rules(const JwtConfig& config, const std::string& path,
                          json::FieldErrors& errors);

  Result<std::string> username(const json::Value& claims, const json::Value& typed) const;
  Result<std::vector<std::string>> groups(const json::Value& claims,
                                          const json::Value& typed) const;
  Result<std::string> uid(const json::Value& claims, const json::Value& typed) const;
  Result<void> extra(const json::Value& claims, const json::Value& typed, authz::User& user) const;
  static Result<void> hold(const std::vector<CompiledRule>& rules, const json::Value& variable);

  std::vector<ClaimRule> required_claims_;
  std::vector<CompiledRule> claim_rules_;
  PrefixedClaim username_, groups_, uid_;
  ProgramPtr username_program_, groups_program_, uid_program_;
  std::vector<CompiledMapping> extra_;
  std::vector<CompiledRule> user_rules_;
  bool reads_claims_ = false;  // some expression does
};

}  // namespace cardea::authn
