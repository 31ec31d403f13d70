#include "admission/admission_config.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace cardea::admission {
namespace {

constexpr std::string_view
    kHead = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n";
constexpr std::string_view kPodSecurity =
    "- name: PodSecurity\n  configuration:\n"
    "    apiVersion: pod-security.admission.config.k8s.io/v1\n    kind: PodSecurityConfiguration\n";

Result<Settings> read(std::string_view plugins, const std::string& file = "") {
  Settings out;
  auto read_file = [&](const std::string& path) -> Result<std::string> {
    if (path == "file.yaml") return file;
    return fail(bad_request(cat("no ", path)));
  };
  if (auto ok = read_admission_config(cat(kHead, plugins), read_file, out); !ok)
    return fail(ok.error());
  return out;
}

TEST(AdmissionConfig, ReadsDefaultsAndExemptions) {
  auto settings = read(cat(kPodSecurity,
                           "    defaults: {enforce: baseline, warn: restricted, "
                           "warn-version: v1.30}\n"
                           "    exemptions: {usernames: [a], namespaces: [b, c]}\n"));
  ASSERT_TRUE(settings) << settings.error().message;
  const PodSecuritySettings& s = settings->pod_security;
  EXPECT_EQ(s.enforce.print(), "baseline:latest");
  EXPECT_EQ(s.audit.print(), "privileged:latest");
  EXPECT_EQ(s.warn.print(), "restricted:v1.30");
  EXPECT_TRUE(s.users.contains("a"));
  EXPECT_EQ(s.namespaces.size(), 2u);
}

TEST(AdmissionConfig, ReadsLimitedResourcesFromAnotherFile) {
  auto settings = read("- name: ResourceQuota\n  path: file.yaml\n",
                       "apiVersion: apiserver.config.k8s.io/v1\nkind: ResourceQuotaConfiguration\n"
                       "limitedResources:\n- resource: pods\n  matchContains: [pods]\n");
  ASSERT_TRUE(settings) << settings.error().message;
  ASSERT_EQ(settings->limited_resources.size(), 1u);
  EXPECT_EQ(settings->limited_resources[0].contains[0], "pods");
}

TEST(AdmissionConfig, WhatWouldNotBeEnforcedIsRefused) {
  const std::string_view wrong[] = {
      "- name: ImagePolicyWebhook\n  path: file.yaml\n",
      "- name: Nonsense\n  path: file.yaml\n",
      "- name: PodSecurity\n",
      "- name: PodSecurity\n  path: gone.yaml\n",
      "- {name: PodSecurity, extra: 1}\n",
      "  a: b\n",
  };
  for (std::string_view plugins : wrong) EXPECT_FALSE(read(plugins)) << plugins;
  for (std::string_view inside :
       {"    defaults: {enforce: strict}\n", "    defaults: {enforce: 1}\n",
        "    defaults: {enforce-version: '1.30'}\n", "    defaults: {inforce: baseline}\n",
        "    exemptions: {users: [a]}\n", "    exemptions: {usernames: a}\n",
        "    exemptions: {usernames: ['']}\n", "    default: {}\n", "    defaults: [baseline]\n"})
    EXPECT_FALSE(read(cat(kPodSecurity, inside))) << inside;
  EXPECT_FALSE(read(cat(kPodSecurity, kPodSecurity))) << "twice";
  Settings out;
  for (std::string_view text :
       {"", "kind: AdmissionConfiguration\n",
        "apiVersion: apiserver.config.k8s.io/v2\nkind: AdmissionConfiguration\n"})
    EXPECT_FALSE(read_admission_config(text, {}, out)) << text;
  EXPECT_EQ(read("- name: ImagePolicyWebhook\n  path: file.yaml\n").error().message,
            "the configuration of plugin ImagePolicyWebhook is refused: this server does not have "
            "the plugin, so images would not be checked; use a ValidatingWebhookConfiguration");
}

}  // namespace
}  // namespace cardea::admission
