#include "authn/jwt/authentication_config.h"

#include <gtest/gtest.h>

#include "authn/jwt/authentication_validation.h"
#include "authn/jwt/oidc_flags.h"
#include "base/strings.h"
#include "json/print.h"
#include "json/yaml.h"

namespace cardea::authn {
namespace {

constexpr std::string_view
    kHead = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n";

std::string with_jwt(std::string_view rest,
                     std::string_view issuer = "{url: 'https://a', audiences: [x]}") {
  return cat(kHead, "jwt:\n- issuer: ", issuer, "\n", rest);
}
constexpr std::string_view kUser = "  claimMappings: {username: {claim: sub, prefix: ''}}\n";

std::string load_error(std::string_view text) {
  auto config = load_authentication_config(text);
  return config ? "" : config.error().message;
}
std::string complaint(std::string_view text, const ValidationContext& context = {}) {
  auto config = load_authentication_config(text);
  if (!config) return config.error().message;
  auto errors = validate(*config, context);
  return errors.empty() ? "" : message_of(errors);
}

TEST(AuthenticationConfig, AllVersionsAreTheSame) {
  for (const char* version : {"v1alpha1", "v1beta1", "v1"})
    EXPECT_EQ(load_error(cat("apiVersion: apiserver.config.k8s.io/", version,
                             "\nkind: AuthenticationConfiguration\n")),
              "");
  EXPECT_EQ(
      load_error("apiVersion: apiserver.config.k8s.io/v2\nkind: AuthenticationConfiguration\n"),
      "no kind \"AuthenticationConfiguration\" is registered for version "
      "\"apiserver.config.k8s.io/v2\"");
  EXPECT_EQ(load_error(""), "empty config data");
}

TEST(AuthenticationConfig, UnknownAndRepeatedFieldsAreErrors) {
  EXPECT_EQ(load_error(cat(kHead, "jwt1: []\n")), "strict decoding error: unknown field \"jwt1\"");
  EXPECT_EQ(load_error(with_jwt(kUser, "{url: 'https://a', urls: 1}")),
            "strict decoding error: unknown field \"jwt[0].issuer.urls\"");
  EXPECT_EQ(
      load_error(
          R"({"apiVersion":"apiserver.config.k8s.io/v1","kind":"AuthenticationConfiguration",)"
          R"("jwt":[],"jwt":[]})"),
      "strict decoding error: duplicate field \"jwt\"");
  EXPECT_EQ(load_error(cat(kHead, "jwt: 7\n")),
            "json: cannot unmarshal number into Go struct field AuthenticationConfiguration.jwt of "
            "type []v1.JWTAuthenticator");
}

TEST(AuthenticationConfig, SaysNoMoreThanItSeems) {
  constexpr std::string_view
      kJson = R"({"apiVersion":"apiserver.config.k8s.io/v1","kind":"AuthenticationConfiguration"})";
  EXPECT_EQ(load_error(kJson), "");
  EXPECT_EQ(
      load_error(cat(kJson, "\nanonymous: {enabled: false}\n")),
      "couldn't get version/kind; json parse error: invalid character 'a' after top-level value");
  EXPECT_NE(load_error(cat(kJson, kJson)), "");
  EXPECT_NE(load_error(cat("---\n", kJson, "\nanonymous: {enabled: false}\n")), "");
  EXPECT_NE(load_error(cat(kHead, "---\n", kHead)), "");
  EXPECT_NE(load_error(cat(kHead, "---\nanonymous: {enabled: false}\n")), "");
  EXPECT_NE(load_error(cat(kHead, "<<: {anonymous: {enabled: true}}\n")), "");
  EXPECT_NE(load_error(cat(kHead, "anonymous: {enabled: true,}\n")), "");
  EXPECT_NE(load_error(cat(kJson.substr(0, kJson.size() - 1), ",}")), "");
}

TEST(AuthenticationConfig, IsWrittenAsItWasRead) {
  const std::string text = cat(
      with_jwt("  claimMappings: {username: {claim: sub, prefix: ''}, groups: {expression: "
               "claims.g}, extra: [{key: a.b/c, valueExpression: claims.x}]}\n"
               "  claimValidationRules: [{claim: a, requiredValue: b}]\n  userValidationRules: "
               "[{expression: 'true', message: m}]\n"),
      "anonymous: {enabled: true, conditions: [{path: /livez}]}\n");
  auto config = load_authentication_config(text);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(json::print(document_of(*config)), json::print(json::parse_yaml(text, 1 << 20)->value));
}

TEST(AuthenticationConfig, AnAbsentPrefixIsNotAnEmptyOne) {
  EXPECT_EQ(complaint(with_jwt(kUser)), "");
  EXPECT_EQ(complaint(with_jwt("  claimMappings: {username: {claim: sub}}\n")),
            "jwt[0].claimMappings.username.prefix: Required value: prefix is required when claim "
            "is set. It can be set to an empty string to disable prefixing");
  EXPECT_EQ(
      complaint(with_jwt("  claimMappings: {username: {expression: claims.sub, prefix: ''}}\n")),
      "jwt[0].claimMappings.username.prefix: Invalid value: \"\": may not be specified when "
      "expression is set");
}

TEST(AuthenticationConfig, AnEmailMustBeVerified) {
  auto username = [](std::string_view expression, std::string_view more = "") {
    return complaint(with_jwt(
        cat("  claimMappings: {username: {expression: \"", expression, "\"}", more, "}\n")));
  };
  EXPECT_NE(username("claims.email"), "");
  EXPECT_NE(username("has(claims.email) ? 'a' : 'b'"), "");
  EXPECT_NE(username("claims.?email.orValue('')"), "");
  EXPECT_EQ(username("claims.email_verified ? claims.email : claims.sub"), "");
  EXPECT_EQ(username("claims['email']"), "");
  EXPECT_EQ(username("claims.email",
                     ", extra: [{key: a.b/c, valueExpression: 'string(claims.email_verified)'}]"),
            "");
  EXPECT_NE(username("claims.email", ", groups: {expression: 'string(claims.email_verified)'}"),
            "");
}

TEST(AuthenticationConfig, AtMost64Issuers) {
  std::string text = cat(kHead, "jwt:\n");
  for (int i = 0; i < 65; ++i)
    text += cat("- issuer: {url: 'https://a", i, "', audiences: [x]}\n", kUser);
  EXPECT_EQ(complaint(text), "jwt: Too many: 65: must have at most 64 items");
}

TEST(AuthenticationConfig, IssuersOfServiceAccountsAreTaken) {
  EXPECT_EQ(complaint(with_jwt(kUser), {.disallowed_issuers = {"https://b", "https://a"}}),
            "jwt[0].issuer.url: Invalid value: \"https://a\": URL must not overlap with disallowed "
            "issuers: [https://a https://b]");
}

TEST(OidcFlags, MeanWhatTheyMeanElsewhere) {
  std::vector<std::string> others;
  auto flags = parse_oidc_flags({"--oidc-issuer-url=https://a", "--v=1", "--oidc-client-id", "x",
                                 "--oidc-required-claim=a=b,c=d"},
                                others);
  ASSERT_TRUE(flags) << flags.error().message;
  EXPECT_EQ(others, std::vector<std::string>{"--v=1"});
  const AuthenticationConfig config = config_of(*flags, "");
  EXPECT_EQ(config.jwt[0].mappings.username.prefix, "https://a#");
  EXPECT_EQ(config.jwt[0].claim_rules.size(), 2u);
  EXPECT_EQ(algorithms_of(*flags)->names(), std::vector<std::string>{"RS256"});
  EXPECT_FALSE(check_oidc_flags(*flags, true));
  EXPECT_FALSE(parse_oidc_flags({"--oidc-unknown=1"}, others));
  EXPECT_FALSE(parse_oidc_flags({"--oidc-client-id"}, others));
}

}  // namespace
}  // namespace cardea::authn
