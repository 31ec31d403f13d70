#include "rest/present/health.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace cardea::rest {
namespace {

struct Text {
  int status = 0;
  std::string body;
};

Text ask(const Health& health, std::string_view path, std::string_view query = "") {
  auto info = authz::parse_request_info("GET", path, query);
  EXPECT_TRUE(info);
  std::optional<Answer> answer = health.answer(*info);
  if (!answer) return {};
  return {answer->status, answer->body.text()};
}

class HealthTest : public testing::Test {
 protected:
  HealthTest() {
    health.add("ping", Health::Of::kLivenessAndReadiness, [] { return std::string(); });
    health.add("store", Health::Of::kReadiness, [this] { return trouble; });
    stage = &health.add_stage("bootstrap");
    stage->reach();
  }

  std::string trouble;
  Health health;
  Health::Stage* stage;
};

TEST_F(HealthTest, IsOneWordUnlessEachCheckIsAskedFor) {
  for (const char* path : {"/livez", "/readyz", "/healthz", "/readyz/", "/readyz/store"})
    EXPECT_EQ(ask(health, path).body, "ok") << path;
  EXPECT_EQ(ask(health, "/readyz", "verbose").body,
            "[+]ping ok\n[+]store ok\n[+]bootstrap ok\nreadyz check passed\n");
  EXPECT_EQ(ask(health, "/livez", "verbose").body, "[+]ping ok\nlivez check passed\n");
  EXPECT_EQ(ask(health, "/readyz/unknown").status, 404);
  EXPECT_EQ(ask(health, "/livez/store").status, 404) << "no check of liveness";
  EXPECT_EQ(ask(health, "/readyzz").status, 0) << "another path";
}

TEST_F(HealthTest, AFailedCheckTellsItsReasonBelowItsOwnPathAlone) {
  trouble = "the disk is full";
  Text all = ask(health, "/readyz");
  EXPECT_EQ(all.status, 500);
  EXPECT_EQ(all.body,
            "[+]ping ok\n[-]store failed: reason withheld\n[+]bootstrap ok\nreadyz check failed\n");
  EXPECT_EQ(ask(health, "/readyz/store").body, "internal server error: the disk is full\n");
  EXPECT_EQ(ask(health, "/livez").status, 200);
}

TEST_F(HealthTest, APartThatTheServerWorksWithoutIsShownAndFailsNothing) {
  std::string off = "the cluster is away";
  health.add("bridge", Health::Of::kNothing, [&] { return off; });
  EXPECT_EQ(ask(health, "/readyz").body, "ok");
  EXPECT_EQ(ask(health, "/readyz", "verbose").body,
            "[+]ping ok\n[+]store ok\n[+]bootstrap ok\n[!]bridge not usable: reason withheld\n"
            "readyz check passed\n");
  EXPECT_EQ(ask(health, "/readyz/bridge").body, "internal server error: the cluster is away\n");
  EXPECT_EQ(ask(health, "/livez/bridge").status, 404);
  off.clear();
  EXPECT_EQ(ask(health, "/readyz/bridge").body, "ok");
}

TEST_F(HealthTest, AStageThatIsLostFailsAgain) {
  stage->lose();
  EXPECT_EQ(ask(health, "/readyz").status, 500);
  EXPECT_EQ(ask(health, "/readyz/bootstrap").body, "internal server error: not ready\n");
}

TEST_F(HealthTest, ChecksCanBeExcludedByName) {
  trouble = "the disk is full";
  EXPECT_EQ(ask(health, "/readyz", "exclude=store").body, "ok");
  EXPECT_EQ(ask(health, "/readyz", "verbose&exclude=store&exclude=foo&exclude=bar").body,
            "[+]ping ok\n[+]store excluded: ok\n[+]bootstrap ok\n"
            "warn: some health checks cannot be excluded: no matches for \"bar\",\"foo\"\n"
            "readyz check passed\n");
}

}  // namespace
}  // namespace cardea::rest
