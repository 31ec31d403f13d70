#include "upstream/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"

namespace cardea::upstream {
namespace {

using ::testing::HasSubstr;

std::string config(std::string_view cluster, std::string_view user) {
  return cat("apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster: {", cluster,
             "}\nusers:\n- name: u\n  user: {", user,
             "}\ncontexts:\n- name: other\n  context: {cluster: nowhere, user: u}\n- name: x\n  "
             "context: {cluster: c, user: u}\ncurrent-context: x\n");
}

TEST(Kubeconfig, TheCurrentContextNamesServerAuthorityAndCredentials) {
  auto u = parse_kubeconfig(
      config("server: 'https://auth:8443/review', certificate-authority-data: Q0E=, "
             "tls-server-name: auth.example",
             "client-certificate-data: Q0VSVA==, client-key-data: S0VZ, token: t"),
      "");
  ASSERT_TRUE(u) << u.error().message;
  EXPECT_EQ(u->server, "https://auth:8443/review");
  EXPECT_EQ(u->tls_server_name, "auth.example");
  EXPECT_EQ(u->tls.server_cas, "CA");
  EXPECT_EQ(u->tls.certificates, "CERT");
  EXPECT_EQ(u->tls.key, "KEY");
  EXPECT_EQ(u->token, "t");
}

TEST(Kubeconfig, AnotherContextCanBeAskedFor) {
  auto u = parse_kubeconfig(config("server: 'https://a'", "token: t"), "", "other");
  ASSERT_FALSE(u);
  EXPECT_THAT(u.error().message, HasSubstr("`nowhere`"));
}

TEST(Kubeconfig, SaysNoMoreThanItSeems) {
  const std::string good = config("server: 'https://a'", "token: t");
  constexpr std::string_view kFlow =
      "{clusters: [{name: c, cluster: {server: 'https://a'}}], contexts: [{name: x, context: "
      "{cluster: c}}], "
      "current-context: x}\n";
  EXPECT_TRUE(parse_kubeconfig(good, ""));
  EXPECT_TRUE(parse_kubeconfig(kFlow, "")) << "flow style is YAML";
  for (const std::string& text : {cat(good, "---\n", good), cat(kFlow, "current-context: y\n"),
                                  cat(good, "current-context: other\n"), cat(good, "<<: {a: b}\n"),
                                  config("server: 'https://a', server: 'https://b'", "token: t"),
                                  config("server: 'https://a',", "token: t")})
    EXPECT_FALSE(parse_kubeconfig(text, "")) << text;
}

TEST(Kubeconfig, WhatCannotBeDoneIsAnError) {
  const std::pair<std::string, std::string> kWrong[] = {
      {config("server: 'https://a'", "exec: {command: x}"), "exec"},
      {config("server: 'https://a'", "auth-provider: {name: x}"), "auth-provider"},
      {config("server: 'https://a', proxy-url: socks5://p:1", ""), "proxy-url"},
      {config("", "token: t"), "server"},
      {config("server: 'ftp://a'", "token: t"), "ftp://a"},
      {config("server: 'https://a', certificate-authority-data: '*'", ""), "base64"},
      {config("server: 'https://a', certificate-authority: /does/not/exist", ""),
       "/does/not/exist"},
      {config(
           "server: 'https://a', certificate-authority-data: Q0E=, insecure-skip-tls-verify: true",
           ""),
       "exclude"},
      {config("server: 'https://a'", "client-certificate-data: Q0E="), "go together"},
      {config("server: 'https://a'", "tokenFile: /does/not/exist"), "/does/not/exist"},
      {"a: [", "kubeconfig"},
      {"text", "not a mapping"},
      {"apiVersion: v1", "current-context"},
  };
  for (const auto& [text, why] : kWrong) {
    auto u = parse_kubeconfig(text, "");
    ASSERT_FALSE(u) << text;
    EXPECT_THAT(u.error().message, HasSubstr(why));
  }
}

}  // namespace
}  // namespace cardea::upstream
