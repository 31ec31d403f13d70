#include "rest/aggregation/forward.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace cardea::rest {
namespace {

http::Request request(http::Headers headers) {
  http::Request out;
  out.method = "GET";
  out.headers = std::move(headers);
  return out;
}

std::string values(const http::Headers& headers, std::string_view name) {
  std::vector<std::string> all;
  for (std::string_view value : headers.get_all(name)) all.emplace_back(value);
  return join(all, "|");
}

TEST(HeadersForServer, NameTheUserAndNobodyElse) {
  authz::User user{.name = "jane", .uid = "7", .groups = {"a", "b c"}};
  user.extra["example.com/Scopes %"] = {"x", "y"};
  auto got = headers_for_server(request({{"X-Remote-User", "admin"},
                                         {"x-remote-GROUP", "system:masters"},
                                         {"X-Remote-Extra-Scopes", "all"},
                                         {"X-Remote-Uid", "0"},
                                         {"Authorization", "Bearer secret"},
                                         {"Impersonate-User", "admin"},
                                         {"Connection", "keep-alive, X-Kept, X-Remote-User"},
                                         {"X-Kept", "no"},
                                         {"Host", "front"},
                                         {"Accept", "application/json"}}),
                                user, false);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(values(*got, "x-remote-user"), "jane");
  EXPECT_EQ(values(*got, "x-remote-uid"), "7");
  EXPECT_EQ(values(*got, "x-remote-group"), "a|b c");
  EXPECT_EQ(values(*got, "x-remote-extra-example.com%2FScopes%20%25"), "x|y");
  EXPECT_EQ(values(*got, "accept"), "application/json");
  for (const char* name : {"x-remote-extra-scopes", "authorization", "impersonate-user",
                           "connection", "x-kept", "host"})
    EXPECT_FALSE(got->has(name)) << name;
}

// An error is never an allow: a user whose name a header changes would arrive as another one.
TEST(HeadersForServer, RefuseUsersThatTheyCannotCarry) {
  auto is_sent = [](const authz::User& user) {
    return headers_for_server(request({}), user, false).has_value();
  };
  EXPECT_TRUE(is_sent({.name = "jane"}));
  EXPECT_TRUE(is_sent({.name = "j\xc3\xa4ne"}));
  for (const char* name : {"", "admin ", " admin", "admin\n", "a\r\nX-Remote-Group: system:masters",
                           "\tadmin", "a\x01"})
    EXPECT_FALSE(is_sent({.name = name})) << quoted(name);
  EXPECT_FALSE(is_sent({.name = "jane", .groups = {"system:masters "}}));
  EXPECT_FALSE(is_sent({.name = "jane", .uid = "1\n"}));
  authz::User extra{.name = "jane"};
  extra.extra["k"] = {"v "};
  EXPECT_FALSE(is_sent(extra));
}

TEST(TargetForServer, IsWhatWasUnderstoodHere) {
  auto target = [](std::string_view path, std::string_view query = "") -> std::string {
    auto info = authz::parse_request_info("GET", path, query);
    if (!info) return "error";
    auto got = target_for_server(*info);
    return got ? *got : cat("refused: ", got.error().message);
  };
  EXPECT_EQ(target("/apis/a.io/v1/things/x"), "/apis/a.io/v1/things/x");
  EXPECT_EQ(target("/apis/a.io/v1/"), "/apis/a.io/v1/");
  EXPECT_EQ(target("/apis/a.io/v1/things/%41%20b"), "/apis/a.io/v1/things/A%20b");
  EXPECT_EQ(target("/apis/a.io/v1/things/x%3Fwatch=1"), "/apis/a.io/v1/things/x%3Fwatch=1");
  EXPECT_EQ(target("/apis/a.io/v1/things", "a=1&b=x%26watch%3D1&a=2"),
            "/apis/a.io/v1/things?a=1&b=x%26watch%3D1&a=2");
  for (const char* path :
       {"/apis/a.io/v1/../v2/things", "/apis/a.io/v1/%2e%2e/things", "/apis/a.io/v1//things",
        "/apis/a.io/v1/things/.", "/apis/a.io/v1/things/..%2fx", "/apis/a.io/v1/things/x/.."})
    EXPECT_TRUE(target(path).starts_with("refused")) << path << " " << target(path);
}

}  // namespace
}  // namespace cardea::rest
