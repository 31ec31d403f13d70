#include "conformance/conformance.h"

#include <gtest/gtest.h>

namespace cardea::conformance {
namespace {

void expect_no_difference(Counts (*run)(const std::string&), const std::string& file) {
  const std::string path = path_of(file);
  if (path.empty())
    GTEST_SKIP() << file
                 << " is not beside the repository and $CARDEA_CONFORMANCE names no folder with it";
  Counts counts = run(path);
  EXPECT_GT(counts.passed, 0);
  EXPECT_EQ(counts.failed, 0);
}

TEST(Conformance, RequestInfo) {
  expect_no_difference(run_requestinfo, "requestinfo.json");
}
TEST(Conformance, AuthenticationConfigurations) {
  expect_no_difference(run_authn_config, "authn-config-validation.json");
}
TEST(Conformance, TokensOfIssuers) {
  expect_no_difference(run_oidc_claims, "oidc-claims.json");
}
TEST(Conformance, Rbac) {
  expect_no_difference(run_rbac, "rbac.json");
}
TEST(Conformance, DefaultRoles) {
  expect_no_difference(run_bootstrap_policy, "bootstrap-policy.json");
}
TEST(Conformance, NodeAuthorizer) {
  expect_no_difference(run_node_authorizer, "node-authorizer.json");
}
TEST(Conformance, AuthorizationConfiguration) {
  expect_no_difference(run_authz_config, "authz-config-validation.json");
}
TEST(Conformance, AccessReviews) {
  expect_no_difference(run_sar, "sar.json");
}
TEST(Conformance, FieldPermissions) {
  expect_no_difference(run_granular, "granular-design-vectors.json");
}
TEST(Conformance, ConditionalAuthorization) {
  expect_no_difference(run_conditional, "conditional-authz.json");
}
TEST(Conformance, Impersonation) {
  expect_no_difference(run_impersonation, "impersonation.json");
}
TEST(Conformance, OwnersOfFields) {
  expect_no_difference(run_ownership, "http");
}
TEST(Conformance, ChangedFields) {
  expect_no_difference(run_smd_compare, "smd-compare.json");
}
TEST(Conformance, Protobuf) {
  expect_no_difference(run_protobuf, "protobuf");
}

}  // namespace
}  // namespace cardea::conformance
