// Validation of claimValidationRules, claimMappings and userValidationRules; what passes is
// compiled on the way.
#include <algorithm>
#include <set>

#include "authn/jwt/claim_rules.h"
#include "base/names.h"
#include "base/strings.h"
#include "cel/environments.h"
#include "cel/syntax/parser.h"

namespace cardea::authn {
namespace {

using json::FieldErrors;

// Does the expression select `claims.NAME` anywhere, be it inside has() or as `claims.?NAME`? What
// is written `claims['NAME']` is not seen, and is not meant to be: Kubernetes looks no further.
bool selects_claim(const cel::Expr* e, std::string_view name) {
  if (!e) return false;
  if (e->kind == cel::Expr::Kind::kSelect && e->name == name && e->target &&
      e->target->kind == cel::Expr::Kind::kIdent && e->target->name == "claims")
    return true;
  if (selects_claim(e->target, name)) return true;
  for (const cel::Expr* arg : e->args)
    if (selects_claim(arg, name)) return true;
  return false;
}

struct Compiled {
  ProgramPtr program;
  std::shared_ptr<const cel::Ast> ast;
  bool selects(std::string_view name) const { return ast && selects_claim(ast->root, name); }
};

std::shared_ptr<const cel::Environment> claims_environment() {
  static const std::shared_ptr<const cel::Environment> one = cel::claims_environment().share();
  return one;
}
std::shared_ptr<const cel::Environment> user_environment() {
  static const std::shared_ptr<const cel::Environment> one = cel::user_environment().share();
  return one;
}

Compiled compile_expression(const std::string& expression,
                            const std::shared_ptr<const cel::Environment>& environment, bool rule,
                            const std::string& path, FieldErrors& errors) {
  auto program = cel::compile(expression, environment);
  if (!program) {
    errors.push_back(
        json::invalid(path, expression, cat("compilation failed: ", program.error().text)));
    return {};
  }
  if (rule && !cel::same_type((*program)->type(), environment->types().simple(cel::Type::kBool))) {
    errors.push_back(json::invalid(path, expression, "must evaluate to bool"));
    return {};
  }
  return {*program, cel::parse(expression, environment->parsing).ast};
}

Compiled compile_claim_or_expression(const PrefixedClaim& mapping, bool needed, bool has_prefix,
                                     const std::string& path, FieldErrors& errors) {
  Compiled compiled;
  if (!mapping.expression.empty() && !mapping.claim.empty()) {
    errors.push_back(json::invalid(path, "", "claim and expression can't both be set"));
  } else if (mapping.expression.empty() && mapping.claim.empty()) {
    if (needed) errors.push_back(json::required(path, "claim or expression is required"));
  } else if (!mapping.expression.empty()) {
    compiled = compile_expression(mapping.expression, claims_environment(), false,
                                  path + ".expression", errors);
  }
  if (!has_prefix || mapping.expression.empty() == mapping.claim.empty()) return compiled;
  if (!mapping.expression.empty() && mapping.prefix)
    errors.push_back(json::invalid(path + ".prefix", *mapping.prefix,
                                   "may not be specified when expression is set"));
  if (!mapping.claim.empty() && !mapping.prefix)
    errors.push_back(json::required(path + ".prefix",
                                    "prefix is required when claim is set. It can be set to an "
                                    "empty string to disable prefixing"));
  return compiled;
}

bool is_path_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("/-._~%!$&'()*+,;=:").find(c) != std::string_view::npos;
}

void check_extra_key(const std::string& key, const std::string& path, FieldErrors& errors) {
  const std::size_t slash = key.find('/');
  const std::string host = key.substr(0, slash);
  const std::string rest = slash == key.npos ? "" : key.substr(slash + 1);
  if (key.empty()) {
    errors.push_back(json::required(path));
  } else if (host.empty() || rest.empty()) {
    errors.push_back(
        json::invalid(path, key, "must be a domain-prefixed path (such as \"acme.io/foo\")"));
  } else {
    for (const std::string& problem : dns_subdomain_problems(host))
      errors.push_back(json::invalid(path, host, problem));
    if (!std::ranges::all_of(rest, is_path_character))
      errors.push_back(json::invalid(
          path, rest,
          R"(Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+'))"));
  }
  if (lower(key) != key) errors.push_back(json::invalid(path, key, "must be lowercase"));
  for (std::string_view domain : {"k8s.io", "kubernetes.io"})
    if (host == domain || host.ends_with(cat(".", domain)))
      errors.push_back(json::invalid(
          path, key, "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use"));
}

}  // namespace

void ClaimRules::compile_claim_rules(const JwtConfig& config, const std::string& base,
                                     FieldErrors& errors, bool& verified) {
  std::set<std::string> claims, expressions;
  for (std::size_t i = 0; i < config.claim_rules.size(); ++i) {
    const ClaimRule& rule = config.claim_rules[i];
    const std::string path = cat(base, "claimValidationRules[", i, "]");
    if (!rule.claim.empty() && !rule.expression.empty()) {
      errors.push_back(json::invalid(path, rule.claim, "claim and expression can't both be set"));
    } else if (rule.claim.empty() && rule.expression.empty()) {
      errors.push_back(json::required(path, "claim or expression is required"));
    } else if (!rule.claim.empty()) {
      if (!rule.message.empty())
        errors.push_back(json::invalid(path + ".message", rule.message,
                                       "may not be specified when claim is set"));
      if (!claims.insert(rule.claim).second)
        errors.push_back(json::duplicate(path + ".claim", rule.claim));
      required_claims_.push_back(rule);
    } else {
      if (!rule.required_value.empty())
        errors.push_back(json::invalid(path + ".requiredValue", rule.required_value,
                                       "may not be specified when expression is set"));
      if (!expressions.insert(rule.expression).second) {
        errors.push_back(json::duplicate(path + ".expression", rule.expression));
        continue;
      }
      Compiled compiled = compile_expression(rule.expression, claims_environment(), true,
                                             path + ".expression", errors);
      verified = verified || compiled.selects("email_verified");
      claim_rules_.push_back({rule.expression, rule.message, compiled.program});
    }
  }
}

void ClaimRules::compile_mappings(const JwtConfig& config, const std::string& base,
                                  FieldErrors& errors, bool verified) {
  const ClaimMappings& mappings = config.mappings;
  const Compiled username = compile_claim_or_expression(mappings.username, true, true,
                                                        base + "claimMappings.username", errors);
  username_ = mappings.username;
  username_program_ = username.program;
  groups_ = mappings.groups;
  groups_program_ = compile_claim_or_expression(mappings.groups, false, true,
                                                base + "claimMappings.groups", errors)
                        .program;
  uid_ = mappings.uid;
  uid_program_ = compile_claim_or_expression(mappings.uid, false, false, base + "claimMappings.uid",
                                             errors)
                     .program;
  verified = verified || username.selects("email_verified");

  std::set<std::string> keys;
  for (std::size_t i = 0; i < mappings.extra.size(); ++i) {
    const ExtraMapping& extra = mappings.extra[i];
    const std::string path = cat(base, "claimMappings.extra[", i, "]");
    check_extra_key(extra.key, path + ".key", errors);
    if (!keys.insert(extra.key).second) {
      errors.push_back(json::duplicate(path + ".key", extra.key));
      continue;
    }
    if (extra.value_expression.empty()) {
      errors.push_back(json::required(path + ".valueExpression"));
      continue;
    }
    Compiled compiled = compile_expression(extra.value_expression, claims_environment(), false,
                                           path + ".valueExpression", errors);
    verified = verified || compiled.selects("email_verified");
    extra_.push_back({extra.key, extra.value_expression, compiled.program});
  }
  if (username.selects("email") && !verified)
    errors.push_back(
        json::invalid(base + "claimMappings.username.expression", mappings.username.expression,
                      "claims.email_verified must be used in claimMappings.username.expression or "
                      "claimMappings.extra[*].valueExpression or "
                      "claimValidationRules[*].expression when claims.email is used in "
                      "claimMappings.username.expression"));
}

void ClaimRules::compile_user_rules(const JwtConfig& config, const std::string& base,
                                    FieldErrors& errors) {
  std::set<std::string> expressions;
  for (std::size_t i = 0; i < config.user_rules.size(); ++i) {
    const UserRule& rule = config.user_rules[i];
    const std::string path = cat(base, "userValidationRules[", i, "].expression");
    if (rule.expression.empty()) {
      errors.push_back(json::required(path));
    } else if (!expressions.insert(rule.expression).second) {
      errors.push_back(json::duplicate(path, rule.expression));
    } else {
      Compiled compiled = compile_expression(rule.expression, user_environment(), true, path,
                                             errors);
      user_rules_.push_back({rule.expression, rule.message, compiled.program});
    }
  }
}

ClaimRules ClaimRules::compile(const JwtConfig& config, const std::string& path,
                               FieldErrors& errors) {
  ClaimRules rules;
  bool verified = false;  // whether an expression that compiles looks at claims.email_verified
  rules.compile_claim_rules(config, path, errors, verified);
  rules.compile_mappings(config, path, errors, verified);
  rules.compile_user_rules(config, path, errors);
  rules.reads_claims_ = !rules.claim_rules_.empty() || rules.username_program_ ||
                        rules.groups_program_ || rules.uid_program_ || !rules.extra_.empty();
  return rules;
}

}  // namespace cardea::authn
