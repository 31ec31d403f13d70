#include "rest/present/debug_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/parse.h"

namespace cardea::rest {
namespace {

using testing::HasSubstr;

class DebugPagesTest : public testing::Test {
 protected:
  struct Text {
    int status = 0;
    std::string type, body;
  };
  Text ask(std::string_view path, std::string_view accept = "") {
    auto info = authz::parse_request_info("GET", path, "");
    http::Request request;
    if (!accept.empty()) request.headers.set("Accept", accept);
    auto answer = pages.answer(request, *info);
    if (!answer) return {};
    if (!*answer) return {.status = -1, .type = "", .body = answer->error().message};
    return {(**answer).status, (**answer).content_type, (**answer).body.text()};
  }

  FakeClock clock{std::chrono::sys_days{std::chrono::year{2026} / 1 / 31}};
  DebugPages pages{clock, {{"bind-address", "10.0.0.1"}, {"v", "2"}}};
};

TEST_F(DebugPagesTest, StatusTellsSinceWhenTheServerRuns) {
  clock.advance(std::chrono::hours(25) + std::chrono::seconds(61));
  const std::string text = ask("/statusz").body;
  EXPECT_THAT(text, HasSubstr("Started: Sat Jan 31 00:00:00 UTC 2026\n"));
  EXPECT_THAT(text, HasSubstr("Up: 25 hr 01 min 01 sec\n"));
  Text document = ask("/statusz", "application/json;v=v1beta1;g=config.k8s.io;as=Statusz");
  EXPECT_EQ(document.type, "application/json;g=config.k8s.io;v=v1beta1;as=Statusz");
  EXPECT_EQ((*json::parse(document.body))["uptimeSeconds"].as_int(), 90061);
}

TEST_F(DebugPagesTest, FlagsAreShownWithTheirValues) {
  EXPECT_THAT(ask("/flagz", "*/*").body, HasSubstr("\nbind-address=10.0.0.1\nv=2\n"));
  Text yaml = ask("/flagz", "application/yaml;v=v1beta1;g=config.k8s.io;as=Flagz");
  EXPECT_THAT(yaml.body, HasSubstr("bind-address: 10.0.0.1"));
}

TEST_F(DebugPagesTest, OtherFormsAreRefused) {
  for (const char* accept :
       {"application/json", "text/html", "application/json;v=v1beta1;g=config.k8s.io;as=Statusz"})
    EXPECT_EQ(ask("/flagz", accept).body,
              "only the following media types are accepted: application/json, application/yaml, "
              "text/plain")
        << accept;
}

TEST_F(DebugPagesTest, ProfilesAreElsewhere) {
  EXPECT_EQ(ask("/debug/pprof/heap").status, 404);
  EXPECT_THAT(ask("/debug/pprof").body, HasSubstr("perf record"));
  EXPECT_EQ(ask("/debug/pprofs").status, 0);
}

}  // namespace
}  // namespace cardea::rest
