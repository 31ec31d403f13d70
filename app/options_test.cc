#include "app/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rest/controllers/controllers.h"

namespace cardea::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

struct Outcome {
  std::variant<ServeOptions, int> parsed;
  std::string out, err;
  const ServeOptions& options() const { return std::get<ServeOptions>(parsed); }
  int status() const { return std::holds_alternative<int>(parsed) ? std::get<int>(parsed) : -1; }
};

Outcome parse(std::vector<std::string> args) {
  args.insert(args.begin(), "serve");
  std::vector<char*> argv;
  for (std::string& a : args) argv.push_back(a.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  auto parsed = parse_serve_options(static_cast<int>(argv.size()), argv.data());
  std::string out = testing::internal::GetCapturedStdout();
  return {std::move(parsed), std::move(out), testing::internal::GetCapturedStderr()};
}

TEST(ServeOptions, NoFlagsAreEnough) {
  Outcome o = parse({});
  ASSERT_EQ(o.status(), -1) << o.err;
  EXPECT_EQ(o.options().secure_port, 6443);
  EXPECT_EQ(o.options().http2_max_streams_per_connection, 100u);
  EXPECT_EQ(o.options().controllers, rest::known_controllers());
  EXPECT_THAT(o.options().authorization_modes, ElementsAre("Node", "Access", "Policy", "RBAC"));
  EXPECT_TRUE(o.options().anonymous_auth);
  EXPECT_FALSE(o.options().allow_privileged);
}

TEST(ServeOptions, TheLineThatConversationsAreReplayedAgainstIsUnderstood) {
  Outcome o = parse({"--data-dir", "D", "--secure-port", "7000", "--bind-address", "127.0.0.1",
                     "--token-auth-file", "users.csv", "--authorization-mode=Node,RBAC",
                     "--enable-admission-plugins=NodeRestriction",
                     "--disable-admission-plugins=ServiceAccount",
                     "--controllers=", "--service-cluster-ip-range=10.0.0.0/24",
                     "--service-node-port-range=30000-32767", "--allow-privileged=false"});
  ASSERT_EQ(o.status(), -1) << o.err;
  EXPECT_EQ(o.options().secure_port, 7000);
  EXPECT_THAT(o.options().controllers, IsEmpty());
  EXPECT_THAT(o.options().disable_admission_plugins, ElementsAre("ServiceAccount"));
}

TEST(ServeOptions, AnEmptyValueEndsWithItsFlag) {
  Outcome o = parse({"--controllers=", "--data-dir=D"});
  ASSERT_EQ(o.status(), -1) << o.err;
  EXPECT_THAT(o.options().controllers, IsEmpty());
  EXPECT_EQ(o.options().data_dir, "D");
}

TEST(ServeOptions, SwitchesMayStandAloneOrHaveAValue) {
  EXPECT_TRUE(parse({"--allow-privileged", "--v=2"}).options().allow_privileged);
  EXPECT_TRUE(parse({"--allow-privileged", "true"}).options().allow_privileged);
  EXPECT_FALSE(parse({"--anonymous-auth", "false"}).options().anonymous_auth);
  EXPECT_FALSE(parse({"--anonymous-auth=false"}).options().anonymous_auth);
}

TEST(ServeOptions, ListsMayBeGivenInParts) {
  Outcome o = parse({"--enable-admission-plugins=A,B", "--enable-admission-plugins", "C"});
  EXPECT_THAT(o.options().enable_admission_plugins, ElementsAre("A", "B", "C"));
  EXPECT_THAT(parse({"--controllers=*,-serviceaccount-controller"}).options().controllers,
              SizeIs(rest::known_controllers().size() - 1));
}

TEST(ServeOptions, ConditionsWithoutTheirEnforcerAreRefused) {
  EXPECT_TRUE(parse({"--feature-gates=ConditionalAuthorization=true"})
                  .options()
                  .gates.on("ConditionalAuthorization"));
  Outcome o = parse({"--feature-gates=ConditionalAuthorization=true",
                     "--disable-admission-plugins=AuthorizationConditionsEnforcer"});
  EXPECT_EQ(o.status(), 2);
  EXPECT_THAT(o.err, HasSubstr("AuthorizationConditionsEnforcer"));
  EXPECT_EQ(parse({"--disable-admission-plugins=AuthorizationConditionsEnforcer"}).status(), 2);
  EXPECT_EQ(parse({"--feature-gates=ConditionalAuthorization=false",
                   "--disable-admission-plugins=AuthorizationConditionsEnforcer"})
                .status(),
            -1);
}

TEST(ServeOptions, GatesOpenAndShut) {
  for (std::string gate :
       {"ConditionalAuthorization", "ConstrainedImpersonation", "FineGrainedAuthorization"}) {
    for (bool wanted : {false, true}) {
      Outcome o = parse({"--feature-gates", gate + (wanted ? "=true" : "=false")});
      ASSERT_EQ(o.status(), -1) << o.err;
      EXPECT_EQ(o.options().gates.on(gate), wanted);
      EXPECT_THAT(o.options().warnings, IsEmpty());
    }
    EXPECT_TRUE(parse({}).options().gates.on(gate));
  }
  EXPECT_TRUE(parse({"--feature-gates=StructuredAuthenticationConfiguration=true"})
                  .options()
                  .gates.on("StructuredAuthenticationConfiguration"));
}

TEST(ServeOptions, AnonymousRequestsAreRefusedBesideAlwaysAllow) {
  Outcome o = parse({"--authorization-mode=AlwaysAllow"});
  ASSERT_EQ(o.status(), -1) << o.err;
  EXPECT_FALSE(o.options().anonymous_auth);
  EXPECT_THAT(o.options().warnings, SizeIs(1));
}

TEST(ServeOptions, HelpNamesEveryFlag) {
  Outcome o = parse({"--help"});
  EXPECT_EQ(o.status(), 0);
  for (const char* flag : {"--data-dir",
                           "--bind-address",
                           "--secure-port",
                           "--tls-cert-file",
                           "--tls-private-key-file",
                           "--client-ca-file",
                           "--token-auth-file",
                           "--authorization-mode",
                           "--authorization-config",
                           "--authorization-webhook-config-file",
                           "--policy-master-namespace",
                           "--policy-config",
                           "--enable-admission-plugins",
                           "--disable-admission-plugins",
                           "--controllers",
                           "--feature-gates",
                           "--service-cluster-ip-range",
                           "--service-node-port-range",
                           "--allow-privileged",
                           "--anonymous-auth",
                           "--v "})
    EXPECT_THAT(o.out, HasSubstr(flag));
}

TEST(ServeOptions, WhatMakesNoSenseIsOneLineAndStatusTwo) {
  const std::vector<std::vector<std::string>> kWrong = {
      {"--bogus"},
      {"stray"},
      {"--data-dir"},
      {"--data-dir="},
      {"--data-dir", "a", "--data-dir", "b"},
      {"--secure-port=0"},
      {"--secure-port=99999"},
      {"--secure-port=https"},
      {"--bind-address=localhost"},
      {"--insecure-bench-port=6443"},
      {"--tls-cert-file=c"},
      {"--tls-private-key-file=k"},
      {"--authorization-mode="},
      {"--authorization-mode=Sometimes"},
      {"--authorization-mode=RBAC,Node,RBAC"},
      {"--authorization-mode=AlwaysAllow", "--anonymous-auth=true"},
      {"--authorization-mode=Webhook"},
      {"--authorization-webhook-config-file=w"},
      {"--authorization-mode=Webhook", "--authorization-webhook-config-file=w",
       "--authorization-webhook-version=v2"},
      {"--authorization-mode=Webhook", "--authorization-webhook-config-file=w",
       "--authorization-webhook-cache-authorized-ttl=soon"},
      {"--authorization-config=c", "--authorization-mode=RBAC"},
      {"--authorization-config=c", "--authorization-webhook-config-file=w"},
      {"--enable-admission-plugins=Priority", "--disable-admission-plugins=Priority"},
      {"--controllers=no-such-controller"},
      {"--controllers=*,-no-such-controller"},
      {"--feature-gates=NoSuchGate=true"},
      {"--feature-gates=ConditionalAuthorization"},
      {"--feature-gates=ConditionalAuthorization=maybe"},
      {"--feature-gates=ConditionalAuthorization=true,ConditionalAuthorization=false"},
      {"--feature-gates=StructuredAuthenticationConfiguration=false"},
      {"--allow-privileged=maybe"},
      {"--v=loud"},
      {"--v=-1"},
  };
  for (const auto& args : kWrong) {
    Outcome o = parse(args);
    EXPECT_EQ(o.status(), 2) << args[0];
    EXPECT_THAT(o.err, testing::StartsWith("cardea serve: "));
    EXPECT_EQ(std::ranges::count(o.err, '\n'), 1) << o.err;
    EXPECT_EQ(o.out, "");
  }
}

TEST(ServeOptions, AuthenticationFlagsAreKubernetesOwn) {
  Outcome o = parse(
      {"--service-account-issuer=https://a", "--service-account-issuer=https://b",
       "--service-account-key-file=k1", "--service-account-key-file=k2",
       "--service-account-signing-key-file=s", "--api-audiences=x,y",
       "--service-account-max-token-expiration=24h",
       "--service-account-extend-token-expiration=false", "--requestheader-client-ca-file=ca",
       "--requestheader-allowed-names=front,back", "--requestheader-username-headers=X-Remote-User",
       "--requestheader-group-headers=X-Remote-Group",
       "--requestheader-extra-headers-prefix=X-Remote-Extra-",
       "--requestheader-uid-headers=X-Remote-Uid", "--authentication-token-webhook-config-file=w",
       "--authentication-token-webhook-version=v1",
       "--authentication-token-webhook-cache-ttl=30s"});
  ASSERT_EQ(o.status(), -1) << o.err;
  const AuthenticationOptions& a = o.options().authentication;
  EXPECT_THAT(a.service_account_issuers, ElementsAre("https://a", "https://b"));
  EXPECT_THAT(a.service_account_key_files, ElementsAre("k1", "k2"));
  EXPECT_THAT(a.api_audiences, ElementsAre("x", "y"));
  EXPECT_EQ(a.service_account_max_token_expiration, std::chrono::hours(24));
  EXPECT_FALSE(a.service_account_extend_token_expiration);
  EXPECT_THAT(a.request_header.allowed_names, ElementsAre("front", "back"));
  EXPECT_THAT(a.request_header.username_headers, ElementsAre("X-Remote-User"));
  EXPECT_EQ(a.webhook_version, "v1");
  EXPECT_EQ(a.webhook_cache_ttl, std::chrono::seconds(30));
}

TEST(ServeOptions, AuthenticationFlagsThatMakeNoSenseAreRefused) {
  for (std::string flag :
       {"--service-account-max-token-expiration=30m", "--service-account-max-token-expiration=soon",
        "--service-account-lookup=false",
        "--service-account-issuer=", "--requestheader-client-ca-file=ca",
        "--service-account-issuer=::bad", "--service-account-issuer=1:x",
        "--service-account-jwks-uri=http://keys.example.com/k", "--service-account-jwks-uri=:k",
        "--service-account-jwks-uri=https://", "--authentication-token-webhook-version=v2",
        "--authentication-token-webhook-cache-ttl=-1s"})
    EXPECT_EQ(parse({flag}).status(), 2) << flag;
  for (std::string flag :
       {"--service-account-issuer=kubernetes/serviceaccount",
        "--service-account-issuer=urn:cluster:7", "--service-account-issuer=https://a.example.com",
        "--service-account-jwks-uri=https://a.example.com/keys"})
    EXPECT_EQ(parse({flag}).status(), -1) << flag;
}

TEST(ServeOptions, AuditFlagsThatMakeNoSenseAreSaidInKubernetesWords) {
  auto said = [](std::vector<std::string> flags) {
    Outcome o = parse(std::move(flags));
    EXPECT_EQ(o.status(), 2);
    return o.err;
  };
  EXPECT_THAT(
      said({"--audit-log-mode=loud"}),
      HasSubstr(
          "invalid audit log mode loud, allowed modes are \"batch,blocking,blocking-strict\""));
  EXPECT_THAT(said({"--audit-log-format=xml"}),
              HasSubstr("invalid audit log format xml, allowed formats are \"legacy,json\""));
  EXPECT_THAT(said({"--audit-log-maxage=-1"}),
              HasSubstr("--audit-log-maxage -1 can't be a negative number"));
  EXPECT_THAT(said({"--audit-log-batch-buffer-size=0"}),
              HasSubstr("invalid audit batch log buffer size 0, must be a positive number"));
  EXPECT_THAT(said({"--audit-webhook-batch-throttle-qps=0"}),
              HasSubstr("invalid audit batch webhook throttle QPS 0, must be a positive number"));
  EXPECT_THAT(said({"--audit-webhook-batch-max-wait=soon"}), HasSubstr("`soon` is not a duration"));
  EXPECT_THAT(said({"--audit-log-truncate-enabled", "--audit-log-truncate-max-event-size=100",
                    "--audit-log-truncate-max-batch-size=10"}),
              HasSubstr("invalid audit truncate log max batch size 10, must be greater than max "
                        "event size (100)"));
  EXPECT_THAT(said({"--audit-log-version=audit.k8s.io/v2"}),
              HasSubstr("invalid group version, allowed versions are [\"audit.k8s.io/v1\"]"));
}

TEST(ServeOptions, AuditingIsBatchedByDefaultAndWantsAPolicyAndAPlace) {
  Outcome o = parse({"--audit-policy-file=p", "--audit-log-path=-"});
  ASSERT_EQ(o.status(), -1) << o.err;
  EXPECT_EQ(o.options().audit.log.mode, "batch");
  EXPECT_EQ(o.options().audit.webhook.mode, "batch");
  EXPECT_TRUE(o.options().audit.is_on());
  EXPECT_THAT(o.options().warnings, IsEmpty());
  EXPECT_THAT(parse({"--audit-log-path=-"}).options().warnings,
              ElementsAre("no audit policy file is given: nothing is audited"));
  EXPECT_THAT(parse({"--audit-policy-file=p"}).options().warnings, SizeIs(1));
}

TEST(ServeOptions, TheLogIsTextUnlessJsonIsAskedFor) {
  EXPECT_EQ(parse({}).options().log_format, LogFormat::kText);
  EXPECT_EQ(parse({"--log-format=json"}).options().log_format, LogFormat::kJson);
  Outcome wrong = parse({"--log-format", "xml"});
  EXPECT_EQ(wrong.status(), 2);
  EXPECT_THAT(wrong.err, HasSubstr("--log-format: `xml` is neither text nor json"));
}

TEST(ServeOptions, VerbosityHasTwoNames) {
  for (std::vector<std::string> args :
       {std::vector<std::string>{"--v=2"}, {"--v", "2"}, {"-v", "2"}, {"-v=2"}, {"-v2"}})
    EXPECT_EQ(parse(args).options().verbosity, 2) << args[0];
}

}  // namespace
}  // namespace cardea::app
