#include "app/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/runtime_config.h"
#include "base/strings.h"
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

TEST(ServeOptions, TheBridgeIsOffUntilItKnowsAClusterAndItsAskers) {
  EXPECT_FALSE(parse({}).options().bridge.is_on());
  EXPECT_EQ(parse({"--bridge-kubeconfig=c"}).status(), 2) << "nobody asks";
  EXPECT_EQ(parse({"--bridge-askers=kube"}).status(), 2) << "no cluster";
  EXPECT_EQ(parse({"--bridge-kubeconfig=c", "--bridge-askers=kube", "--bridge-webhook=x"}).status(),
            2);
  EXPECT_EQ(parse({"--bridge-kubeconfig=c", "--bridge-askers=kube",
                   "--feature-gates=ConditionalAuthorization=false"})
                .status(),
            2);
  for (const char* age : {"--bridge-max-check-age=0s", "--bridge-max-check-age=2h",
                          "--bridge-longest-request=0s", "--bridge-longest-request=x"})
    EXPECT_EQ(parse({age}).status(), 2) << age;
  Outcome o = parse({"--bridge-kubeconfig=c", "--bridge-askers=kube,other"});
  ASSERT_EQ(o.status(), -1) << o.err;
  EXPECT_THAT(o.options().bridge.askers, ElementsAre("kube", "other"));
  EXPECT_EQ(o.options().bridge.configuration, "cardea-bridge");
  EXPECT_EQ(o.options().bridge.webhook, "bridge.cardea.dev");
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

TEST(ServeOptions, OnlyControllersThatAreNamedStayBesideAManager) {
  EXPECT_THAT(parse({}).options().lasting_controllers, IsEmpty());
  EXPECT_THAT(parse({"--controllers=*,-namespace-controller"}).options().lasting_controllers,
              IsEmpty());
  EXPECT_THAT(parse({"--controllers=*,namespace-controller"}).options().lasting_controllers,
              ElementsAre("namespace-controller"));
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
                           "--ui ",
                           "--v "})
    EXPECT_THAT(o.out, HasSubstr(flag));
}

TEST(ServeOptions, MistakesAreToldInWordsOfPeople) {
  EXPECT_THAT(parse({"--secure-port=99999"}).err,
              HasSubstr("--secure-port: `99999` must be between 1 and 65535"));
  EXPECT_THAT(parse({"--secure-port=https"}).err, HasSubstr("must be between 1 and 65535"));
  EXPECT_THAT(parse({"--v=loud"}).err, HasSubstr("`loud` is not a value of --v"));
  EXPECT_THAT(parse({"--secur-port=1"}).err,
              HasSubstr("unknown flag `--secur-port`; did you mean `--secure-port`"));
}

TEST(ServeOptions, TheVersionIsPrintedForWhoeverAsks) {
  Outcome o = parse({"--data-dir=x", "--version"});
  EXPECT_EQ(o.status(), 0);
  EXPECT_THAT(o.out, testing::StartsWith("cardea "));
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

// The flags that `kube-apiserver --help` of 1.36.3 lists.
constexpr std::string_view kFlagsOfKubernetes =
    "--admission-control --admission-control-config-file --advertise-address "
    "--aggregator-reject-forwarding-redirect --allow-metric-labels "
    "--allow-metric-labels-manifest --allow-privileged --anonymous-auth --api-audiences "
    "--audit-log-batch-buffer-size --audit-log-batch-max-size --audit-log-batch-max-wait "
    "--audit-log-batch-throttle-burst --audit-log-batch-throttle-enable "
    "--audit-log-batch-throttle-qps --audit-log-compress --audit-log-format --audit-log-maxage "
    "--audit-log-maxbackup --audit-log-maxsize --audit-log-mode --audit-log-path "
    "--audit-log-truncate-enabled --audit-log-truncate-max-batch-size "
    "--audit-log-truncate-max-event-size --audit-log-version --audit-policy-file "
    "--audit-webhook-batch-buffer-size --audit-webhook-batch-max-size "
    "--audit-webhook-batch-max-wait --audit-webhook-batch-throttle-burst "
    "--audit-webhook-batch-throttle-enable --audit-webhook-batch-throttle-qps "
    "--audit-webhook-config-file --audit-webhook-initial-backoff --audit-webhook-mode "
    "--audit-webhook-truncate-enabled --audit-webhook-truncate-max-batch-size "
    "--audit-webhook-truncate-max-event-size --audit-webhook-version --authentication-config "
    "--authentication-token-webhook-cache-ttl --authentication-token-webhook-config-file "
    "--authentication-token-webhook-version --authorization-config --authorization-mode "
    "--authorization-policy-file --authorization-webhook-cache-authorized-ttl "
    "--authorization-webhook-cache-unauthorized-ttl --authorization-webhook-config-file "
    "--authorization-webhook-version --bind-address --cert-dir --client-ca-file "
    "--contention-profiling --coordinated-leadership-lease-duration "
    "--coordinated-leadership-renew-deadline --coordinated-leadership-retry-period "
    "--cors-allowed-origins --debug-socket-path --default-not-ready-toleration-seconds "
    "--default-unreachable-toleration-seconds --delete-collection-workers "
    "--disable-admission-plugins --disable-http2-serving --disabled-metrics "
    "--egress-selector-config-file --emulated-version --emulation-forward-compatible "
    "--enable-admission-plugins --enable-aggregator-routing --enable-bootstrap-token-auth "
    "--enable-garbage-collector --enable-logs-handler --enable-priority-and-fairness "
    "--encryption-provider-config --encryption-provider-config-automatic-reload "
    "--endpoint-reconciler-type --etcd-cafile --etcd-certfile --etcd-compaction-interval "
    "--etcd-count-metric-poll-period --etcd-db-metric-poll-interval --etcd-healthcheck-timeout "
    "--etcd-keyfile --etcd-prefix --etcd-readycheck-timeout --etcd-servers "
    "--etcd-servers-overrides --event-ttl --external-hostname --feature-gates --goaway-chance "
    "--help --http2-max-streams-per-connection --kubelet-certificate-authority "
    "--kubelet-client-certificate --kubelet-client-key --kubelet-preferred-address-types "
    "--kubelet-timeout --kubernetes-service-node-port --lease-reuse-duration-seconds "
    "--livez-grace-period --log-flush-frequency --log-json-info-buffer-size "
    "--log-json-split-stream --log-text-info-buffer-size --log-text-split-stream "
    "--logging-format --max-connection-bytes-per-sec --max-mutating-requests-inflight "
    "--max-requests-inflight --min-compatibility-version --min-request-timeout --oidc-ca-file "
    "--oidc-client-id --oidc-groups-claim --oidc-groups-prefix --oidc-issuer-url "
    "--oidc-required-claim --oidc-signing-algs --oidc-username-claim --oidc-username-prefix "
    "--peer-advertise-ip --peer-advertise-port --peer-ca-file --permit-address-sharing "
    "--permit-port-sharing --profiling --proxy-client-cert-file --proxy-client-key-file "
    "--request-timeout --requestheader-allowed-names --requestheader-client-ca-file "
    "--requestheader-extra-headers-prefix --requestheader-group-headers "
    "--requestheader-uid-headers --requestheader-username-headers --runtime-config "
    "--runtime-config-emulation-forward-compatible --secure-port "
    "--service-account-extend-token-expiration --service-account-issuer "
    "--service-account-jwks-uri --service-account-key-file --service-account-lookup "
    "--service-account-max-token-expiration --service-account-signing-endpoint "
    "--service-account-signing-key-file --service-cluster-ip-range --service-node-port-range "
    "--show-hidden-metrics-for-version --shutdown-delay-duration --shutdown-send-retry-after "
    "--shutdown-watch-termination-grace-period --storage-backend "
    "--storage-initialization-timeout --storage-media-type "
    "--strict-transport-security-directives --tls-cert-file --tls-cipher-suites "
    "--tls-curve-preferences --tls-min-version --tls-private-key-file --tls-sni-cert-key "
    "--token-auth-file --tracing-config-file --v --version --vmodule --watch-cache "
    "--watch-cache-sizes ";

TEST(ServeOptions, EveryFlagOfKubernetesIsKnown) {
  for (std::string_view flag : split(trim(kFlagsOfKubernetes), ' ')) {
    if (flag == "--help") continue;
    Outcome o = parse({cat(flag, "=x")});
    EXPECT_THAT(o.err, testing::Not(HasSubstr("unknown flag"))) << flag;
  }
}

// The flags of a static pod as kubeadm 1.36 writes it, except for etcd's.
TEST(ServeOptions, ALineFromKubeadmIsUnderstood) {
  Outcome o = parse({"--advertise-address=192.0.2.10",
                     "--allow-privileged=true",
                     "--authorization-mode=Node,RBAC",
                     "--enable-admission-plugins=NodeRestriction",
                     "--enable-bootstrap-token-auth=true",
                     "--kubelet-client-certificate=/etc/kubernetes/pki/kubelet.crt",
                     "--kubelet-client-key=/etc/kubernetes/pki/kubelet.key",
                     "--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname",
                     "--proxy-client-cert-file=/etc/kubernetes/pki/front-proxy-client.crt",
                     "--proxy-client-key-file=/etc/kubernetes/pki/front-proxy-client.key",
                     "--requestheader-allowed-names=front-proxy-client",
                     "--requestheader-client-ca-file=/etc/kubernetes/pki/front-proxy-ca.crt",
                     "--requestheader-extra-headers-prefix=X-Remote-Extra-",
                     "--requestheader-group-headers=X-Remote-Group",
                     "--requestheader-username-headers=X-Remote-User",
                     "--secure-port=6443",
                     "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
                     "--service-account-key-file=/etc/kubernetes/pki/sa.pub",
                     "--service-account-signing-key-file=/etc/kubernetes/pki/sa.key",
                     "--service-cluster-ip-range=10.96.0.0/12",
                     "--tls-cert-file=/etc/kubernetes/pki/apiserver.crt",
                     "--tls-private-key-file=/etc/kubernetes/pki/apiserver.key"});
  ASSERT_EQ(o.status(), -1) << o.err;
  EXPECT_EQ(o.options().serving.advertise_address, "192.0.2.10");
  EXPECT_TRUE(o.options().authentication.bootstrap_tokens);
  EXPECT_THAT(o.options().warnings, IsEmpty());
  EXPECT_EQ(o.options().backends.proxy_client_certificate,
            "/etc/kubernetes/pki/front-proxy-client.crt");
  EXPECT_THAT(o.options().backends.kubelet_preferred_address_types,
              testing::ElementsAre("InternalIP", "ExternalIP", "Hostname"));
}

TEST(ServeOptions, EtcdIsNamedAsKubernetesNamesIt) {
  Outcome o = parse({"--etcd-servers=https://10.0.0.1:2379,https://10.0.0.2:2379",
                     "--etcd-prefix=/mine", "--etcd-cafile=/ca", "--etcd-certfile=/crt",
                     "--etcd-keyfile=/key", "--etcd-compaction-interval=1m",
                     "--authorization-staleness=500ms"});
  ASSERT_EQ(o.status(), -1) << o.err;
  const StorageOptions& storage = o.options().storage;
  EXPECT_THAT(storage.etcd_servers,
              testing::ElementsAre("https://10.0.0.1:2379", "https://10.0.0.2:2379"));
  EXPECT_EQ(storage.etcd_prefix, "/mine");
  EXPECT_EQ(storage.etcd_compaction_interval, std::chrono::minutes(1));
  EXPECT_EQ(storage.authorization_staleness, std::chrono::milliseconds(500));
  EXPECT_FALSE(parse({}).options().storage.is_etcd());
  for (const char* wrong :
       {"--etcd-servers=10.0.0.1:2379", "--etcd-servers=https://a/b", "--etcd-prefix=/",
        "--etcd-certfile=/crt", "--authorization-staleness=0", "--etcd-compaction-interval=x"})
    EXPECT_EQ(parse({wrong}).status(), 2) << wrong;
}

TEST(ServeOptions, OtherApiServersAreReachedAsInKubernetes) {
  Outcome o = parse(
      {"--enable-aggregator-routing", "--aggregator-reject-forwarding-redirect=false"});
  ASSERT_EQ(o.status(), -1) << o.err;
  EXPECT_TRUE(o.options().backends.by_endpoints);
  EXPECT_FALSE(o.options().backends.refuses_redirects);
  Outcome plain = parse({});
  EXPECT_FALSE(plain.options().backends.by_endpoints);
  EXPECT_TRUE(plain.options().backends.refuses_redirects);
  EXPECT_EQ(parse({"--proxy-client-cert-file=a"}).status(), 2) << "a certificate needs its key";
}

TEST(ServeOptions, AFlagThatWouldBeUnsafeToIgnoreIsRefusedWithTheReason) {
  for (const char* flag : {"--etcd-servers-overrides=/events#https://127.0.0.1:2379",
                           "--encryption-provider-config=/etc/keys.yaml",
                           "--authorization-policy-file=/etc/abac.jsonl"}) {
    Outcome o = parse({flag});
    EXPECT_EQ(o.status(), 2) << flag;
    EXPECT_THAT(o.err, HasSubstr(" is refused: ")) << flag;
  }
}

TEST(ServeOptions, AFlagThatSaysWhatHappensAnywayIsNotWarnedAbout) {
  Outcome o = parse({"--watch-cache", "--endpoint-reconciler-type=lease", "--profiling=false",
                     "--enable-garbage-collector=true", "--runtime-config=api/all=true"});
  ASSERT_EQ(o.status(), -1) << o.err;
  EXPECT_THAT(o.options().warnings, IsEmpty());
}

TEST(ServeOptions, TimesAndChancesAreChecked) {
  Outcome o = parse({"--request-timeout=3s", "--min-request-timeout=60", "--goaway-chance=0.001"});
  ASSERT_EQ(o.status(), -1) << o.err;
  EXPECT_EQ(o.options().serving.request_timeout, std::chrono::seconds(3));
  EXPECT_EQ(o.options().serving.min_request_timeout, 60u);
  EXPECT_EQ(o.options().serving.goaway_chance, 0.001);
  EXPECT_EQ(parse({}).options().serving.request_timeout, std::chrono::seconds(60));
  for (const char* wrong :
       {"--request-timeout=0", "--request-timeout=-1s", "--request-timeout=60",
        "--request-timeout=9999h", "--min-request-timeout=-1", "--goaway-chance=0.5",
        "--goaway-chance=-1", "--goaway-chance=nan", "--default-not-ready-toleration-seconds=-1"})
    EXPECT_EQ(parse({wrong}).status(), 2) << wrong;
}

TEST(ServeOptions, SeatsAreChecked) {
  const Outcome plain = parse({});
  EXPECT_TRUE(plain.options().serving.priority_and_fairness);
  EXPECT_EQ(plain.options().serving.max_requests_inflight, 400);
  EXPECT_EQ(plain.options().serving.max_mutating_requests_inflight, 200);
  const Outcome off = parse({"--enable-priority-and-fairness=false", "--max-requests-inflight=0",
                             "--max-mutating-requests-inflight=0"});
  ASSERT_EQ(off.status(), -1) << off.err;
  EXPECT_FALSE(off.options().serving.priority_and_fairness);
  EXPECT_EQ(parse({"--max-requests-inflight=0", "--max-mutating-requests-inflight=0"}).status(), 2);
  EXPECT_EQ(parse({"--max-requests-inflight=-1"}).status(), 2);
  EXPECT_EQ(parse({"--max-mutating-requests-inflight=many"}).status(), 2);
}

TEST(RuntimeConfig, NarrowKeysWinOverWideOnes) {
  auto catalog = catalog::Catalog::builtin();
  auto is_off = [&](const std::vector<std::string>& entries, std::string_view group,
                    std::string_view version, std::string_view name) {
    auto config = RuntimeConfig::parse(entries, *catalog);
    EXPECT_TRUE(config);
    return config->is_off(*catalog->find(group, version, name));
  };
  EXPECT_TRUE(is_off({"batch/v1/jobs=false"}, "batch", "v1", "jobs"));
  EXPECT_FALSE(is_off({"batch/v1/jobs=false"}, "batch", "v1", "cronjobs"));
  EXPECT_FALSE(is_off({"apps/v1", "api/all=false"}, "apps", "v1", "deployments"));
  EXPECT_TRUE(is_off({"apps/v1", "api/all=false"}, "batch", "v1", "jobs"));
  EXPECT_FALSE(is_off({"api/all=false", "api/ga=true"}, "", "v1", "pods"));
  EXPECT_TRUE(is_off({"v1=false"}, "", "v1", "pods"));
  EXPECT_FALSE(is_off({"batch/v1beta1=false"}, "batch", "v1", "jobs"));
  EXPECT_FALSE(is_off({}, "batch", "v1", "jobs"));
}

TEST(RuntimeConfig, WhatCannotBeServedIsRefused) {
  auto catalog = catalog::Catalog::builtin();
  for (const char* wrong : {"apps/v7=true", "nonsense.example.com/v1=false", "apps/v1=maybe",
                            "apps/v1/nonsense=true", "", "api/v9"})
    EXPECT_FALSE(RuntimeConfig::parse({wrong}, *catalog)) << wrong;
}

TEST(ServeOptions, ThePageHasClientsOfItsOwn) {
  Outcome o = parse({"--ui", "--ui-oidc-client-id=a,b", "--ui-oidc-extra-scope=email"});
  ASSERT_EQ(o.status(), -1) << o.err;
  EXPECT_THAT(o.options().ui_oidc_clients, ElementsAre("a", "b"));
  EXPECT_THAT(o.options().ui_oidc_scopes, ElementsAre("email"));
  EXPECT_THAT(parse({"--ui-oidc-client-id=a"}).err, HasSubstr("need --ui"));
}

TEST(ServeOptions, TheHistoryOfDecisionsIsBounded) {
  EXPECT_EQ(parse({}).options().decision_history, 1000u);
  EXPECT_EQ(parse({"--decision-history=0"}).options().decision_history, 0u);
  for (const char* wrong : {"-1", "10001", "many"})
    EXPECT_EQ(parse({cat("--decision-history=", wrong)}).status(), 2) << wrong;
}

TEST(ServeOptions, TheVersionAndSuitesOfTlsAreChecked) {
  Outcome o = parse({"--tls-min-version=VersionTLS13",
                     "--tls-cipher-suites="
                     "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_AES_128_GCM_SHA256"});
  ASSERT_EQ(o.status(), -1) << o.err;
  EXPECT_EQ(o.options().serving.tls_min_version, net::TlsVersion::k13);
  EXPECT_EQ(o.options().serving.tls_cipher_list, "ECDHE-RSA-AES128-GCM-SHA256");
  EXPECT_EQ(parse({"--tls-min-version=VersionTLS14"}).status(), 2);
  EXPECT_THAT(parse({"--tls-cipher-suites=TLS_RSA_WITH_RC4_128_SHA"}).err, HasSubstr("insecure"));
  EXPECT_EQ(parse({"--tls-cipher-suites=NONSENSE"}).status(), 2);
}

TEST(ServeOptions, ACertificateForNamesHasTwoFilesAndNames) {
  Outcome o = parse({"--tls-sni-cert-key=a.crt,a.key", "--tls-sni-cert-key",
                     "b.crt,b.key:example.com,*.example.org"});
  ASSERT_EQ(o.status(), -1) << o.err;
  const auto& named = o.options().serving.named_certificates;
  ASSERT_THAT(named, SizeIs(2));
  EXPECT_EQ(named[0].key, "a.key");
  EXPECT_THAT(named[0].names, IsEmpty());
  EXPECT_THAT(named[1].names, ElementsAre("example.com", "*.example.org"));
  for (const char* wrong : {"a.crt", "a.crt,", "a.crt,a.key:", "a.crt,a.key:a*.com", "a,b,c"})
    EXPECT_EQ(parse({"--tls-sni-cert-key", wrong}).status(), 2) << wrong;
}

TEST(ServeOptions, AddressesAndNamesOfTheServerAreChecked) {
  EXPECT_EQ(parse({"--advertise-address=example.com"}).status(), 2);
  EXPECT_EQ(parse({"--cert-san=a b"}).status(), 2);
  EXPECT_EQ(parse({"--external-hostname=a,IP:192.0.2.1"}).status(), 2);
  EXPECT_EQ(parse({"--shutdown-delay-duration=soon"}).status(), 2);
  Outcome o = parse({"--cert-san=a.example.com,192.0.2.7", "--shutdown-delay-duration=3s",
                     "--logging-format=json"});
  ASSERT_EQ(o.status(), -1) << o.err;
  EXPECT_THAT(o.options().serving.cert_sans, ElementsAre("a.example.com", "192.0.2.7"));
  EXPECT_EQ(o.options().serving.shutdown_delay, std::chrono::seconds(3));
  EXPECT_EQ(o.options().log_format, LogFormat::kJson);
}

}  // namespace
}  // namespace cardea::app
