#include "rest/at_rest/encryption.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"

namespace cardea::rest {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kSecret16 = base64(std::string(16, 'k')),
                  kSecret32 = base64(std::string(32, 'k'));
constexpr std::string_view kAt = "/registry/secrets/default/a";

std::string config(const std::string& providers, const std::string& resources = "[secrets]") {
  return cat("{kind: EncryptionConfiguration, apiVersion: apiserver.config.k8s.io/v1, resources: ",
             "[{resources: ", resources, ", providers: [", providers, "]}]}");
}
std::string with_key(std::string_view provider, const std::string& secret,
                     std::string_view name = "one") {
  return cat("{", provider, ": {keys: [{name: ", name, ", secret: \"", secret, "\"}]}}");
}
Encryption read(const std::string& providers, const std::string& resources = "[secrets]") {
  auto out = Encryption::read(config(providers, resources));
  EXPECT_TRUE(out) << out.error().message;
  return std::move(*out);
}

class EveryProvider : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Encryption, EveryProvider,
                         testing::Values("aescbc", "aesgcm", "secretbox"));

TEST_P(EveryProvider, OpensWhatItSealed) {
  const Encryption e = read(with_key(GetParam(), kSecret32));
  for (std::size_t size : {0, 1, 15, 16, 17, 1000}) {
    const std::string text(size, 'x');
    auto sealed = e.seal("secrets", kAt, text);
    ASSERT_TRUE(sealed);
    EXPECT_THAT(*sealed, StartsWith(cat("k8s:enc:", GetParam(), ":v1:one:")));
    EXPECT_NE(*sealed, *e.seal("secrets", kAt, text)) << "each has a beginning of its own";
    EXPECT_EQ(e.open("secrets", kAt, *sealed).value(), text);
  }
}

TEST_P(EveryProvider, AnErrorIsNeverAPlainText) {
  const Encryption e = read(with_key(GetParam(), kSecret32));
  const Encryption other = read(with_key(GetParam(), base64(std::string(32, 'o'))));
  const std::string sealed = *e.seal("secrets", kAt, "open sesame");
  const std::size_t prefix = sealed.rfind(":one:") + 5;
  auto with_other = other.open("secrets", kAt, sealed);
  EXPECT_FALSE(with_other && *with_other == "open sesame");
  for (std::size_t cut = 0; cut < sealed.size(); ++cut) {
    auto opened = e.open("secrets", kAt, sealed.substr(0, cut));
    EXPECT_FALSE(opened && *opened == "open sesame") << cut;
    if (cut < prefix + 16) EXPECT_FALSE(opened) << cut;
  }
  EXPECT_FALSE(e.open("secrets", kAt, "open sesame")) << "identity is not configured";
  EXPECT_FALSE(e.open("configmaps", kAt, sealed)) << "no key is configured for it";
}

TEST(Encryption, WhatIsBoundToItsKeyDoesNotOpenElsewhere) {
  const Encryption e = read(with_key("aesgcm", kSecret16));
  const std::string sealed = *e.seal("secrets", kAt, "x");
  EXPECT_TRUE(e.open("secrets", kAt, sealed));
  EXPECT_FALSE(e.open("secrets", "/registry/secrets/default/b", sealed));
  std::string changed = sealed;
  changed.back() = static_cast<char>(changed.back() ^ 1);
  EXPECT_FALSE(e.open("secrets", kAt, changed));
}

TEST(Encryption, TheFirstProviderWritesAndAllRead) {
  const Encryption before = read(with_key("aescbc", kSecret32));
  const Encryption after = read(cat(with_key("secretbox", kSecret32, "two"), ", ",
                                    with_key("aescbc", kSecret32), ", {identity: {}}"));
  EXPECT_THAT(after.seal("secrets", kAt, "x").value(), StartsWith("k8s:enc:secretbox:v1:two:"));
  EXPECT_EQ(after.open("secrets", kAt, *before.seal("secrets", kAt, "x")).value(), "x");
  EXPECT_EQ(after.open("secrets", kAt, "plain").value(), "plain");
  const Encryption off = read(cat("{identity: {}}, ", with_key("aescbc", kSecret32)));
  EXPECT_EQ(off.seal("secrets", kAt, "x").value(), "x");
  EXPECT_EQ(off.open("secrets", kAt, *before.seal("secrets", kAt, "x")).value(), "x");
  EXPECT_FALSE(off.open("secrets", kAt, *after.seal("secrets", kAt, "x")));
}

TEST(Encryption, ResourcesAreNamedAsInKubernetes) {
  const std::string key = with_key("aesgcm", kSecret32);
  auto seals = [](const Encryption& e, std::string_view resource) {
    return e.seal(resource, kAt, "x").value() != "x";
  };
  const Encryption some = read(key, "[configmaps, widgets.example.com, '*.apps']");
  EXPECT_TRUE(seals(some, "configmaps") && seals(some, "widgets.example.com") &&
              seals(some, "deployments.apps"));
  EXPECT_FALSE(seals(some, "secrets") || seals(some, "widgets.other.com") || seals(some, "pods"));
  const Encryption core = read(key, "['*.']");
  EXPECT_TRUE(seals(core, "pods"));
  EXPECT_FALSE(seals(core, "deployments.apps"));
  EXPECT_TRUE(seals(read(key, "['*.*']"), "deployments.apps"));
}

TEST(Encryption, AConfigurationThatWouldNotProtectIsRefused) {
  const std::string good = with_key("aescbc", kSecret32);
  for (const std::string& text : {
           std::string("kind: EncryptionConfiguration"),
           config(""),
           config(good, "[]"),
           config("{}"),
           config("{aescbc: {keys: []}}"),
           config(with_key("aescbc", base64("short"))),
           config(with_key("secretbox", kSecret16)),
           config(with_key("aesgcm", "no base64!")),
           config(with_key("aesgcm", kSecret32, "'a:b'")),
           config(with_key("rot13", kSecret32)),
           config("{aescbc: {key: []}}"),
           config("{kms: {apiVersion: v1, name: k, endpoint: 'unix:///k.sock'}}"),
           config("{identity: {}, aescbc: {keys: []}}"),
           cat(config(good), "\n---\n", config(good)),
           // What kube-apiserver refuses, and would lie there in plain text.
           config(good, "[Secrets]"),
           config(good, "['*']"),
           config(good, "['secrets.*']"),
           config(good, "[events.events.k8s.io]"),
           config(good, "[secrets, secrets]"),
           config(good, "['*.', secrets]"),
           config(cat("{identity: null}, ", good)),
           config(cat("{identity: x}, ", good)),
           cat("{kind: EncryptionConfiguration, apiVersion: apiserver.config.k8s.io/v1, "
               "resources: ",
               "[{resources: ['*.*'], providers: [{identity: {}}]}, {resources: [secrets], ",
               "providers: [", good, "]}]}"),
       })
    EXPECT_FALSE(Encryption::read(text)) << text;
  EXPECT_THAT(read(good, "[secrets.]").seal("secrets", kAt, "x").value(),
              StartsWith("k8s:enc:aescbc:v1:one:"));
  EXPECT_THAT(
      Encryption::read(config(with_key("secretbox", kSecret16))).error().message,
      HasSubstr("resources[0].providers[0].secretbox.keys: the secret of `one` must be 32"));
}

}  // namespace
}  // namespace cardea::rest
