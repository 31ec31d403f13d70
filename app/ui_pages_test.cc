#include "app/ui_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"

namespace cardea::app {
namespace {

using testing::HasSubstr;
using testing::Not;

http::Response ask(std::string_view path, std::string_view method = "GET",
                   http::Headers headers = {}) {
  http::Request request;
  request.method = method;
  request.path = path;
  request.headers = std::move(headers);
  return UiPages::answer(request);
}

TEST(UiPages, EveryFileIsServedWithItsTypeAndAllGuards) {
  ASSERT_FALSE(ui_files().empty());
  for (const EmbeddedFile& file : ui_files()) {
    http::Response answer = ask(cat("/ui/", file.name));
    EXPECT_EQ(answer.status, 200) << file.name;
    EXPECT_EQ(answer.body.text(), file.bytes) << file.name;
    EXPECT_NE(answer.headers.get("content-type"), "application/octet-stream") << file.name;
    EXPECT_EQ(answer.headers.get("x-content-type-options"), "nosniff");
    const std::string policy(answer.headers.get("content-security-policy"));
    for (const char* part : {"default-src 'none'", "script-src 'self';", "style-src 'self';",
                             "frame-ancestors 'none'", "require-trusted-types-for 'script'"})
      EXPECT_THAT(policy, HasSubstr(part));
    EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  }
}

TEST(UiPages, TheIssuersWherePeopleSignInAreListedAndReachedAndNobodyElse) {
  const UiSignIn sign_in{.issuers = {{.url = "https://login.example.com/realm",
                                      .origin = "https://login.example.com",
                                      .client_id = "cardea-ui"}},
                         .scopes = {"email"}};
  http::Request request;
  request.method = "GET";
  request.path = "/ui/sign-in.json";
  http::Response list = UiPages::answer(request, sign_in);
  EXPECT_EQ(list.body.text(),
            R"({"issuers":[{"clientId":"cardea-ui","issuer":"https://login.example.com/realm",)"
            R"("scopes":["openid","email"]}]})");
  EXPECT_EQ(list.headers.get("cache-control"), "no-store");
  request.path = "/ui/";
  http::Response page = UiPages::answer(request, sign_in);
  EXPECT_THAT(std::string(page.headers.get("content-security-policy")),
              HasSubstr("connect-src 'self' https://login.example.com; "));
  EXPECT_THAT(std::string(ask("/ui/").headers.get("content-security-policy")),
              HasSubstr("connect-src 'self'; "));
  EXPECT_EQ(ask("/ui/sign-in.json").body.text(), R"({"issuers":[]})");
  // A browser that kept the page from before must not keep its policy.
  EXPECT_NE(page.headers.get("etag"), ask("/ui/").headers.get("etag"));
}

TEST(UiPages, OnlyOriginsThatFitIntoAPolicyAreNamed) {
  EXPECT_EQ(origin_of("https://login.example.com/a/b"), "https://login.example.com");
  EXPECT_EQ(origin_of("https://127.0.0.1:8443"), "https://127.0.0.1:8443");
  EXPECT_EQ(origin_of("https://[::1]:8443/x"), "https://[::1]:8443");
  for (const char* wrong : {"http://login.example.com", "https://a;script-src *", "https://a b/",
                            "https://*", "https://a'unsafe-inline'", "login.example.com", ""})
    EXPECT_EQ(origin_of(wrong), "") << wrong;
}

TEST(UiPages, TheFolderIsItsIndex) {
  EXPECT_EQ(ask("/ui/").body.text(), ask("/ui/index.html").body.text());
  EXPECT_EQ(ask("/ui").status, 301);
  EXPECT_EQ(ask("/ui").headers.get("location"), "/ui/");
}

TEST(UiPages, NoSpellingLeavesTheFolder) {
  for (const char* path : {"/ui/../etc/passwd", "/ui/..%2f..%2fetc/passwd", "/ui/%2e%2e/api",
                           "/ui//etc/passwd", "/ui/..\\..\\x", "/ui/./app.js", "/ui//app.js",
                           "/ui/app.js/", "/ui/app.js%00", "/ui/nothing"}) {
    EXPECT_EQ(ask(path).status, 404) << path;
    EXPECT_TRUE(ask(path).headers.has("content-security-policy")) << path;
  }
}

TEST(UiPages, PathsThatOnlyLookSimilarAreOfTheApi) {
  for (const char* path : {"/", "/uix", "/api/ui/", "/UI/", "//ui/", "/%75i/"})
    EXPECT_FALSE(UiPages::is_own(path)) << path;
}

TEST(UiPages, OnlyReading) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE"}) {
    EXPECT_EQ(ask("/ui/", method).status, 405) << method;
    EXPECT_EQ(ask("/ui/", method).headers.get("allow"), "GET, HEAD");
  }
  EXPECT_EQ(ask("/ui/", "HEAD").status, 200);
}

TEST(UiPages, AKnownFileIsNotSentAgain) {
  const std::string tag(ask("/ui/app.js").headers.get("etag"));
  http::Response again = ask("/ui/app.js", "GET", {{"If-None-Match", tag}});
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body.size(), 0u);
  EXPECT_EQ(again.headers.get("etag"), tag);
  EXPECT_EQ(ask("/ui/style.css", "GET", {{"If-None-Match", tag}}).status, 200);
}

}  // namespace
}  // namespace cardea::app
