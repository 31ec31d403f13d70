#include "upstream/egress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "upstream/proxy_environment.h"

namespace cardea::upstream {
namespace {

using ::testing::HasSubstr;

Result<std::string> no_file(const std::string& path) {
  return fail(bad_request(cat("no file ", path)));
}

Result<Egress> parsed_egress(std::string_view selections) {
  return parse_egress(cat("apiVersion: apiserver.k8s.io/v1beta1\n"
                          "kind: EgressSelectorConfiguration\negressSelections:\n",
                          selections),
                      no_file);
}

TEST(Egress, EachNetworkHasItsWay) {
  const auto egress = parsed_egress(
      "- name: cluster\n"
      "  connection: {proxyProtocol: HTTPConnect, transport: {uds: {udsName: /run/proxy}}}\n"
      "- name: controlplane\n"
      "  connection: {proxyProtocol: Direct}\n"
      "- name: etcd\n"
      "  connection: {proxyProtocol: Direct}\n");
  ASSERT_TRUE(egress) << egress.error().message;
  ASSERT_TRUE(egress->cluster);
  EXPECT_EQ(egress->cluster->unix_socket, "/run/proxy");
  EXPECT_TRUE(egress->names_cluster);
  EXPECT_FALSE(egress->control_plane);
  EXPECT_TRUE(egress->names_control_plane);
}

TEST(Egress, WhatCannotBeServedIsAnError) {
  const std::pair<const char*, const char*> cases[] = {
      {"- name: cluster\n  connection: {proxyProtocol: GRPC}\n", "GRPC is not served"},
      {"- name: cluster\n  connection: {proxyProtocol: HTTPConnect}\n", "transport must be an"},
      {"- name: cluster\n  connection: {}\n", "must be HTTPConnect or Direct"},
      {"- name: cluster\n  connection: {proxyProtocol: Direct, transport: {}}\n",
       "Direct has none"},
      {"- name: cluster\n  connection: {proxyProtocol: HTTPConnect, transport: {}}\n",
       "one of tcp"},
      {"- name: cluster\n  conection: {}\n", "unknown field \"conection\""},
      {"- name: cluster\n  connection: {proxyProtocol: HTTPConnect, transport: {tcp: {url: "
       "'http://a:1/x'}}}\n",
       "a proxy has no path"},
      {"- name: cluster\n  connection: {proxyProtocol: HTTPConnect, transport: {tcp: {url: "
       "'http://a:1', tlsConfig: {}}}}\n",
       "http is plain"},
      {"- name: cluster\n  connection: {proxyProtocol: HTTPConnect, transport: {tcp: {url: "
       "'https://a:1', tlsConfig: {caBundle: /ca}}}}\n",
       "caBundle: no file /ca"},
      {"- name: cluster\n  connection: {proxyProtocol: HTTPConnect, transport: {uds: {udsName: "
       "proxy}}}\n",
       "absolute path"},
  };
  for (const auto& [text, want] : cases) {
    const auto egress = parsed_egress(text);
    ASSERT_FALSE(egress) << text;
    EXPECT_THAT(egress.error().message, HasSubstr(want)) << text;
  }
  EXPECT_FALSE(parse_egress("kind: EgressSelectorConfiguration", no_file));
  EXPECT_FALSE(parse_egress("[", no_file));
}

TEST(NoProxy, HoldsNamesAddressesAndNetworks) {
  const NoProxy list(
      " example.com, .below.test,*.star.test, 10.0.0.0/9,192.0.2.7,2001:db8::/33, "
      "[2001:db9::1]:8443,ported.test:8443, bad/99");
  for (const char* host :
       {"example.com", "EXAMPLE.com.", "a.example.com", "a.below.test", "b.star.test", "10.127.0.1",
        "192.0.2.7", "2001:db8:7fff::1", "localhost", "127.3.2.1", "::1", "[::1]"})
    EXPECT_TRUE(list.holds(host, 443)) << host;
  for (const char* host : {"badexample.com", "below.test", "star.test", "10.128.0.1", "192.0.2.8",
                           "2001:db8:8000::1", "2001:db9::1", "ported.test", "128.0.0.1", "bad"})
    EXPECT_FALSE(list.holds(host, 443)) << host;
  EXPECT_TRUE(list.holds("2001:db9::1", 8443));
  EXPECT_TRUE(list.holds("ported.test", 8443));
  EXPECT_TRUE(NoProxy("*").holds("anything", 1));
  EXPECT_FALSE(NoProxy("").holds("anything", 1));
}

}  // namespace
}  // namespace cardea::upstream
