#include "rest/streams/location.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/parse.h"
#include "rest/streams/address_rules.h"
#include "rest/streams/handed_on.h"

namespace cardea::rest {
namespace {

using json::Value;
using ::testing::Eq;

Value parsed(std::string_view text) {
  return *json::parse(text);
}

const std::vector<std::string> kTypes = {"InternalIP", "Hostname"};

TEST(Location, TheKubeletIsAtThePreferredAddressAndTheNodesPort) {
  const Value node = parsed(R"({"status":{"addresses":[{"type":"Hostname","address":"near"},
      {"type":"InternalIP","address":"10.1.2.3"}],
      "daemonEndpoints":{"kubeletEndpoint":{"Port":1234}}}})");
  EXPECT_EQ(kubelet_of(node, kTypes)->url(), "https://10.1.2.3:1234");
  EXPECT_EQ(kubelet_of(node, {"Hostname"})->url(), "https://near:1234");
  EXPECT_EQ(kubelet_of(node, {"ExternalIP"}).error().message,
            "no preferred addresses found; known addresses: [{Hostname near} {InternalIP "
            "10.1.2.3}]");
  const Value v6 = parsed(
      R"({"status":{"addresses":[{"type":"InternalIP","address":"fd00::1"}]}})");
  EXPECT_EQ(kubelet_of(v6, kTypes)->url(), "https://[fd00::1]:10250") << "the default port";
}

TEST(Location, AnAddressCannotBringAPathOrAnotherHostAlong) {
  for (const char* address :
       {"a/b", "a:1", "user@host", "a b", "", "a?b", "a#b", "[::1]", "a\\b"}) {
    const Value node = Value::object(
        {{"status",
          Value::object({{"addresses", Value::array({Value::object(
                                           {{"type", "InternalIP"}, {"address", address}})})}})}});
    EXPECT_FALSE(kubelet_of(node, kTypes)) << address;
  }
}

TEST(Location, NamesOfProxiesHaveSchemesAndPorts) {
  const auto shown = [](std::string_view text) {
    auto name = proxy_name(text, "pod");
    return name ? name->scheme + " " + name->name + " " + name->port : name.error().message;
  };
  EXPECT_EQ(shown("p"), "http p ");
  EXPECT_EQ(shown("p:8080"), "http p 8080");
  EXPECT_EQ(shown("https:p:web"), "https p web");
  EXPECT_EQ(shown(":p:web"), "http p web");
  EXPECT_EQ(shown("https:p:"), "https p ");
  for (const char* wrong : {"", ":", "ftp:p:1", "a:b:c:d", "https::1", ":1"})
    EXPECT_EQ(shown(wrong), std::string("invalid pod request \"") + wrong + "\"");
}

TEST(Location, AServiceLeadsToAPodsOwnAddress) {
  const Value service = parsed(R"({"spec":{"ports":[{"name":"web","port":80}]}})");
  const Value endpoints = parsed(R"({"subsets":[{"addresses":[
      {"ip":"10.0.0.66","targetRef":{"namespace":"ns","name":"p"}},
      {"ip":"10.0.0.5"},
      {"ip":"10.0.0.5","targetRef":{"namespace":"other","name":"p"}},
      {"ip":"10.0.0.5","targetRef":{"namespace":"ns","name":"gone"}},
      {"ip":"10.0.0.5","targetRef":{"namespace":"ns","name":"p"}}],
      "ports":[{"name":"web","port":8080}]}]})");
  const auto find = [](std::string_view name) {
    return name == "p" ? parsed(R"({"status":{"podIPs":[{"ip":"10.0.0.5"}]}})") : Value();
  };
  const auto first = [](std::size_t) -> std::size_t { return 0; };
  for (const char* text : {"s:web", "s:80"}) {
    const ProxyName name = *proxy_name(text, "service");
    auto place = service_place(endpoints, name, *service_port(service, name), "ns", find, first);
    ASSERT_TRUE(place) << text;
    EXPECT_EQ(place->url(), "http://10.0.0.5:8080");
  }
  const ProxyName name = *proxy_name("s", "service");
  EXPECT_EQ(service_place(endpoints, name, "other", "ns", find, first).error().message,
            "no endpoints available for service \"s\"");
  EXPECT_EQ(service_port(service, *proxy_name("s:81", "service")).error().message,
            "no service port 81 found for service \"s\"");
  const auto nobody = [](std::string_view) { return Value(); };
  EXPECT_FALSE(service_place(endpoints, name, "web", "ns", nobody, first))
      << "an address that is no pod's is somebody else's";
}

TEST(Location, PathsAreCleanedBeforeAnybodyLooksAtThem) {
  EXPECT_EQ(clean_path("/a/b"), "/a/b");
  EXPECT_EQ(clean_path("/a/b/"), "/a/b/");
  EXPECT_EQ(clean_path("/a//b/./c"), "/a/b/c");
  EXPECT_EQ(clean_path("/a/../../b"), "/b");
  EXPECT_EQ(clean_path("/"), "/");
  EXPECT_EQ(clean_path(""), "");
  EXPECT_EQ(clean_path("/.."), "");
}

TEST(Location, NothingEndsAPathOrAQueryEarly) {
  EXPECT_EQ(escape_path("/a b?c#d%2f\r\n;e:@"), "/a%20b%3Fc%23d%252f%0D%0A;e:@");
  EXPECT_EQ(query_of({{"command", "a b&c=d"}, {"command", "+%"}}),
            "command=a+b%26c%3Dd&command=%2B%25");
}

TEST(AddressRules, RefuseWhatTrustsTheMachine) {
  const AddressRules rules = *AddressRules::make({});
  for (const char* address : {"127.0.0.1",
                              "127.9.9.9",
                              "::1",
                              "0.0.0.0",
                              "::",
                              "169.254.169.254",
                              "fe80::1",
                              "224.0.0.1",
                              "ff02::1",
                              "255.255.255.255",
                              "::ffff:127.0.0.1",
                              "::ffff:169.254.169.254",
                              "64:ff9b::a9fe:a9fe",
                              "2002:7f00:1::",
                              "fd00:ec2::254",
                              "100.100.100.200",
                              "0.1.2.3",
                              "x",
                              "",
                              "127.1"})
    EXPECT_FALSE(rules.admits(address)) << address;
  for (const char* address : {"10.0.0.1", "192.168.1.1", "8.8.8.8", "fd00::1", "2001:db8::1"})
    EXPECT_TRUE(rules.admits(address)) << address;
}

TEST(AddressRules, ExceptionsAreAddressesOrNetworks) {
  const AddressRules rules = *AddressRules::make({"127.0.0.0/8", "::1"});
  EXPECT_TRUE(rules.admits("127.0.0.1"));
  EXPECT_TRUE(rules.admits("::1"));
  EXPECT_FALSE(rules.admits("169.254.169.254"));
  EXPECT_FALSE(AddressRules::make({"somewhere"}));
}

TEST(HandedOn, CredentialsStayHere) {
  http::Request request;
  request.headers = {{"Authorization", "Bearer x"},
                     {"Impersonate-User", "root"},
                     {"Impersonate-Extra-Scopes", "all"},
                     {"X-Remote-User", "root"},
                     {"X-Remote-Extra-Foo", "bar"},
                     {"Proxy-Authorization", "x"},
                     {"Connection", "X-Hop, keep-alive"},
                     {"X-Hop", "1"},
                     {"Transfer-Encoding", "chunked"},
                     {"Upgrade", "websocket"},
                     {"X-Forwarded-For", "1.2.3.4"},
                     {"Sec-WebSocket-Protocol",
                      "base64url.bearer.authorization.k8s.io.dG9rZW4, v5.channel.k8s.io"},
                     {"X-Kept", "yes"}};
  const http::Headers out = headers_for_backend(request, true);
  for (const char* name :
       {"authorization", "impersonate-user", "impersonate-extra-scopes", "x-remote-user",
        "x-remote-extra-foo", "proxy-authorization", "x-hop", "transfer-encoding"})
    EXPECT_FALSE(out.has(name)) << name;
  EXPECT_THAT(out.get("sec-websocket-protocol"), Eq("v5.channel.k8s.io"));
  EXPECT_THAT(out.get("x-kept"), Eq("yes"));
  EXPECT_THAT(out.get("upgrade"), Eq("websocket"));
  EXPECT_THAT(out.get("connection"), Eq("Upgrade"));
  EXPECT_FALSE(headers_for_backend(request, false).has("upgrade"));
}

TEST(HandedOn, LinksLeadBackThroughTheProxy) {
  const ProxiedAt at{
      .host = "api:6443", .prefix = "/api/v1/nodes/n/proxy", .backend = "10.0.0.7:10250"};
  const auto seen = [&](std::string_view location) { return location_for_client(location, at); };
  EXPECT_EQ(seen("/next?a=b"), "/api/v1/nodes/n/proxy/next?a=b");
  EXPECT_EQ(seen("next"), "next");
  EXPECT_EQ(seen("https://10.0.0.7:10250/x"), "/api/v1/nodes/n/proxy/x");
  EXPECT_EQ(seen("//10.0.0.7:10250/x"), "/api/v1/nodes/n/proxy/x");
  EXPECT_EQ(seen("https://elsewhere/x"), "https://elsewhere/x");
  EXPECT_EQ(seen("/api/v1/nodes/n/proxy/x"), "/api/v1/nodes/n/proxy/x") << "it is there already";
  EXPECT_EQ(seen("/api/v1/nodes/n/proxyx"), "/api/v1/nodes/n/proxy/api/v1/nodes/n/proxyx");
  EXPECT_EQ(seen(""), "");
}

}  // namespace
}  // namespace cardea::rest
