#include "app/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace cardea::app {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

struct Outcome {
  int status;
  std::string out, err;
};

Outcome cardea(std::vector<std::string> args) {
  args.insert(args.begin(), "cardea");
  std::vector<char*> argv;
  for (std::string& a : args) argv.push_back(a.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  int status = run(static_cast<int>(argv.size()), argv.data());
  std::string out = testing::internal::GetCapturedStdout();
  return {status, out, testing::internal::GetCapturedStderr()};
}

std::vector<std::string> words(std::string_view name, std::vector<std::string> more = {}) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= name.size();) {
    std::size_t end = std::min(name.find(' ', at), name.size());
    out.emplace_back(name.substr(at, end - at));
    at = end + 1;
  }
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

TEST(Commands, EveryOneIsListedAndHasHelpInBothWays) {
  Outcome all = cardea({"--help"});
  EXPECT_EQ(all.status, 0);
  EXPECT_EQ(cardea({"help"}).out, all.out);
  EXPECT_EQ(cardea({"-h"}).out, all.out);
  for (const Command& c : commands()) {
    EXPECT_THAT(all.out, HasSubstr(std::string(c.name)));
    Outcome help = cardea(words(c.name, {"--help"}));
    EXPECT_EQ(help.status, 0) << c.name;
    EXPECT_THAT(help.out, HasSubstr("Usage:\n  cardea " + std::string(c.name)));
    EXPECT_THAT(help.err, IsEmpty());
    std::vector<std::string> other = words(c.name);
    other.insert(other.begin(), "help");
    EXPECT_EQ(cardea(other).out, help.out) << c.name;
    EXPECT_EQ(cardea(words(c.name, {"-h"})).out, help.out) << c.name;
  }
}

TEST(Commands, HelpFitsIntoAHundredColumns) {
  for (const Command& c : commands()) {
    std::string text = cardea(words(c.name, {"--help"})).out;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = text.find('\n', at);
      EXPECT_LE(end - at, 100u) << c.name << ": " << text.substr(at, end - at);
      at = end + 1;
    }
  }
}

TEST(Commands, AGroupListsItsOwn) {
  Outcome cel = cardea({"cel", "--help"});
  EXPECT_EQ(cel.status, 0);
  EXPECT_THAT(cel.out, HasSubstr("cel eval"));
  EXPECT_THAT(cel.out, Not(HasSubstr("can-i")));
  EXPECT_EQ(cardea({"help", "cel"}).out, cel.out);
  EXPECT_EQ(cardea({"cel"}).status, 2);
}

TEST(Commands, WhatIsUnknownIsOneLineAndStatus2) {
  EXPECT_EQ(cardea({}).status, 2);
  EXPECT_EQ(cardea({"nosuch"}).err, "cardea: unknown command `nosuch`; try `cardea --help`\n");
  EXPECT_EQ(cardea({"help", "nosuch"}).status, 2);
  EXPECT_EQ(cardea({"--nosuch"}).status, 2);
  EXPECT_EQ(cardea({"cel", "nosuch"}).err,
            "cardea cel: unknown command `nosuch`; try `cardea cel --help`\n");
  for (const Command& c : commands()) {
    if (c.name == "migrate oidc-flags") continue;  // ignores flags of kube-apiserver
    Outcome o = cardea(words(c.name, {"--no-such-flag=1"}));
    EXPECT_EQ(o.status, 2) << c.name;
    EXPECT_EQ(o.err, "cardea " + std::string(c.name) +
                         ": unknown flag `--no-such-flag`; try `cardea " + std::string(c.name) +
                         " --help`\n");
  }
}

TEST(Commands, TheVersionIsAWordAndAFlag) {
  EXPECT_THAT(cardea({"version"}).out, StartsWith("cardea "));
  EXPECT_EQ(cardea({"--version"}).out, cardea({"version"}).out);
}

TEST(Commands, ValuesFollowTheirFlagOrAnEqualsSign) {
  EXPECT_EQ(cardea({"cel", "eval", "x + y", "--var", "x=1", "--var=y=2"}).out, "3\n");
  EXPECT_EQ(cardea({"cel", "eval", "--type", "1 + 1"}).out, "int\n2\n");
  EXPECT_EQ(cardea({"cel", "eval", "1 + 1", "--cost-limit=many"}).status, 2);
  EXPECT_EQ(cardea({"cel", "eval", "1", "2"}).status, 2) << "one expression at a time";
  Outcome o = cardea({"can-i", "get", "pods", "-n=x", "--kubeconfig=/nosuch/file"});
  EXPECT_EQ(o.status, 2);
  EXPECT_THAT(o.err, HasSubstr("/nosuch/file"));
  EXPECT_THAT(cardea({"can-i", "get", "pods", "--as-group=g"}).err, HasSubstr("needs `--as`"));
  EXPECT_THAT(cardea({"can-i", "get"}).err, HasSubstr("a verb and a resource are wanted"));
  EXPECT_EQ(cardea({"can-i", "get", "pods", "--as"}).status, 2);
}

TEST(Commands, AnExpressionMayBeginWithADash) {
  EXPECT_EQ(cardea({"cel", "eval", "-1"}).out, "-1\n");
  EXPECT_EQ(cardea({"cel", "eval", "-x", "--var", "x=1"}).out, "-1\n");
  EXPECT_EQ(cardea({"cel", "eval", "--var", "x=-1", "--", "--x"}).out, "-1\n");
}

TEST(Commands, FlagsOfAKubeApiserverBecomeAFile) {
  Outcome o = cardea({"migrate", "oidc-flags", "--secure-port=1",
                      "--oidc-issuer-url=https://a.example", "--oidc-client-id", "me"});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("https://a.example"));
  EXPECT_EQ(cardea({"migrate", "oidc-flags", "--secure-port=1"}).status, 2);
}

TEST(Commands, ASimilarOneIsSuggested) {
  EXPECT_EQ(cardea({"sevre"}).err, "cardea: unknown command `sevre`; did you mean `serve`\n");
  EXPECT_EQ(cardea({"cel", "evla"}).err,
            "cardea cel: unknown command `evla`; did you mean `eval`\n");
  EXPECT_THAT(cardea({"can-i", "get", "pods", "--namespac=x"}).err,
              HasSubstr("unknown flag `--namespac`; did you mean `--namespace`; try"));
}

TEST(Commands, ShellsCompleteThem) {
  EXPECT_THAT(cardea({"__complete", "who"}).out,
              testing::AllOf(HasSubstr("who-can\t"), HasSubstr("whoami\t")));
  EXPECT_EQ(cardea({"__complete", "auth"}).out, "authn\n");
  EXPECT_THAT(cardea({"__complete", "authn", ""}).out,
              testing::AllOf(HasSubstr("test\t"), HasSubstr("explain\t")));
  EXPECT_THAT(cardea({"__complete", "can-i", "get", "--name"}).out, StartsWith("--namespace\t"));
  EXPECT_EQ(cardea({"__complete", "can-i", "-o", ""}).out, "json\nyaml\ntable\n");
  EXPECT_EQ(cardea({"__complete", "can-i", "--output", "y"}).out, "yaml\n");
  EXPECT_EQ(cardea({"__complete", "can-i", "--namespace", ""}).out, "");
  for (const Command& c : commands())
    EXPECT_EQ(cardea(words("__complete " + std::string(c.name), {""})).status, 0) << c.name;
  for (const char* shell : {"bash", "zsh", "fish"})
    EXPECT_THAT(cardea({"completion", shell}).out, HasSubstr("__complete"));
  EXPECT_EQ(cardea({"completion", "tcsh"}).status, 2);
}

TEST(Commands, AnUnknownFormOfTheAnswerIsRefused) {
  Outcome o = cardea({"whoami", "-o", "xml"});
  EXPECT_EQ(o.status, 2);
  EXPECT_THAT(o.err, HasSubstr("`xml` is not one of json, yaml, table"));
}

}  // namespace
}  // namespace cardea::app
