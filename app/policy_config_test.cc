#include "app/policy_config.h"

#include <gtest/gtest.h>

#include <fstream>

namespace cardea::app {
namespace {

// The settings from a file with this text.
Result<rest::NamespacePolicySettings> settings(std::string_view text) {
  ServeOptions options;
  options.policy_config_file = testing::TempDir() + "policy-config";
  std::ofstream(options.policy_config_file) << text;
  return namespace_policy_settings(options);
}

TEST(PolicyConfig, IsReadHoweverShortItIs) {
  auto read = settings("nodeNames: {k: node-a}\n");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->node_names.at("k"), "node-a");
  read = settings("resourceGroups:\n  mine: [widgets]\n");
  ASSERT_TRUE(read) << read.error().message;
  std::vector<std::string> kinds;
  EXPECT_TRUE(read->groups->expand({"resourcegroup:mine"}, kinds));
  EXPECT_EQ(kinds, std::vector<std::string>{"widgets"});
}

TEST(PolicyConfig, WhatHasNoMeaningIsRefused) {
  EXPECT_FALSE(settings("nodeName: {k: n}\n"));
  EXPECT_FALSE(settings("nodeNames: {k: ''}\n"));
  EXPECT_FALSE(settings("resourceGroups:\n  mine: [\"resourcegroup:mine\"]\n"));
}

}  // namespace
}  // namespace cardea::app
