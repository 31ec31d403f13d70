#include "authn/webhook_authenticator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "authn/testing/shared_clock.h"
#include "base/strings.h"
#include "http/server.h"
#include "json/parse.h"

namespace cardea::authn {
namespace {

using json::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A webhook that gives the answers of the test, and keeps the requests.
class Webhook : public http::Handler {
 public:
  void handle(std::shared_ptr<http::Exchange> exchange) override {
    asked = json::parse(exchange->request().body).value();
    authorization = exchange->request().headers.get("authorization");
    ++calls;
    int status = failures > 0 ? 500 : 200;
    if (failures > 0) --failures;
    exchange->respond({.status = status, .body = http::Body(answer)});
  }
  std::string answer, authorization;
  Value asked;
  int calls = 0, failures = 0;
};

class TokenWebhook : public ::testing::Test {
 protected:
  TokenWebhook() {
    auto port = server_.listen("127.0.0.1", 0);
    upstream::Endpoint upstream{.server = cat("http://127.0.0.1:", *port, "/review"),
                                .token = "ours"};
    client_ = upstream::WebhookClient::make(loops_.at(0), dialer_, upstream,
                                            {.first_wait = std::chrono::milliseconds(1)})
                  .value();
  }
  ~TokenWebhook() override { client_.reset(); }

  std::unique_ptr<Authenticator> make() {
    return webhook_authenticator(client_, {.version = "v1", .audiences = {"api"}}, clock_);
  }

  static Outcome ask(const Authenticator& a, std::string_view token,
                     const std::vector<std::string>* audiences = nullptr) {
    Credentials credentials{.token = token, .audiences = audiences};
    if (auto at_once = a.authenticate(credentials)) return *at_once;
    std::promise<Outcome> answer;
    spawn(a.authenticate_waiting(credentials), [&](Outcome o) { answer.set_value(std::move(o)); });
    return answer.get_future().get();
  }

  static std::string review(std::string_view status) {
    return cat(R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","status":)", status,
               "}");
  }

  Webhook webhook_;
  net::Loops loops_{1};
  net::Dialer dialer_;
  http::Server server_{loops_, webhook_};
  SharedClock clock_{std::chrono::system_clock::from_time_t(1'800'000'000)};
  std::shared_ptr<upstream::WebhookClient> client_;
};

TEST_F(TokenWebhook, TheAnswerNamesTheUser) {
  webhook_.answer = review(
      R"({"authenticated": true, "audiences": ["api"],
          "user": {"username": "jane", "uid": "7", "groups": ["dev"], "extra": {"a/b": ["c"]}}})");
  auto a = make();
  auto outcome = ask(*a, "t");
  ASSERT_TRUE(outcome && *outcome);
  EXPECT_EQ((*outcome)->user.name, "jane");
  EXPECT_EQ((*outcome)->user.uid, "7");
  EXPECT_THAT((*outcome)->user.groups, ElementsAre("dev"));
  EXPECT_THAT((*outcome)->user.extra.at("a/b"), ElementsAre("c"));
  EXPECT_THAT((*outcome)->audiences, ElementsAre("api"));
  EXPECT_EQ(webhook_.asked["apiVersion"].as_string(), "authentication.k8s.io/v1");
  EXPECT_EQ(webhook_.asked["spec"]["token"].as_string(), "t");
  EXPECT_EQ(webhook_.asked["spec"]["audiences"], Value::array({"api"}));
  EXPECT_EQ(webhook_.authorization, "Bearer ours");
}

TEST_F(TokenWebhook, AnswersAreRememberedForTheirTimeAndPerAudience) {
  webhook_.answer = review(R"({"authenticated":true,"user":{"username":"jane"}})");
  auto a = make();
  EXPECT_TRUE(*ask(*a, "t"));
  EXPECT_TRUE(*ask(*a, "t"));
  EXPECT_EQ(webhook_.calls, 1);
  std::vector<std::string> others = {"vault"};
  // An answer without audiences is only for the audience of this server.
  EXPECT_FALSE(*ask(*a, "t", &others));
  EXPECT_EQ(webhook_.calls, 2);
  clock_.advance(std::chrono::seconds(121));
  EXPECT_TRUE(*ask(*a, "t"));
  EXPECT_EQ(webhook_.calls, 3);
}

TEST_F(TokenWebhook, AnErrorIsNeverAnAllow) {
  for (std::string answer :
       {std::string("no json"), std::string("[]"), review("{}"),
        review(R"({"authenticated":"yes","user":{"username":"jane"}})"),
        review(R"({"authenticated":true,"user":{}})"),
        review(R"({"authenticated":true,"audiences":["other"],"user":{"username":"jane"}})"),
        review(R"({"error":"no","user":{"username":"jane"}})"),
        review(R"({"authenticated":true,"error":"cannot be checked","user":{"username":"jane"}})"),
        review(R"({"authenticated":true,"error":7,"user":{"username":"jane"}})"),
        review(R"({"authenticated":true,"user":{"username":"jane","groups":"banned"}})"),
        review(R"({"authenticated":true,"user":{"username":"jane","groups":[7]}})"),
        review(R"({"authenticated":true,"user":{"username":"jane","uid":7}})"),
        review(R"({"authenticated":true,"user":{"username":"jane","extra":{"a":"b"}}})"),
        review(R"({"authenticated":true,"audiences":"api","user":{"username":"jane"}})"),
        std::string(
            R"({"apiVersion": "authentication.k8s.io/v1beta1", "kind": "TokenReview",
               "status": {"authenticated": true, "user": {"username": "jane"}}})")}) {
    webhook_.answer = answer;
    auto outcome = ask(*make(), "t");
    EXPECT_FALSE(outcome && *outcome) << answer;
  }
}

TEST_F(TokenWebhook, AServerInTroubleIsAskedAgainAndNotRemembered) {
  webhook_.answer = review(R"({"authenticated":true,"user":{"username":"jane"}})");
  webhook_.failures = 4;
  auto a = make();
  EXPECT_TRUE(*ask(*a, "t"));
  EXPECT_EQ(webhook_.calls, 5);
  webhook_.failures = 5;
  auto outcome = ask(*a, "u");
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("500"));
  EXPECT_TRUE(*ask(*a, "u"));
}

TEST_F(TokenWebhook, OversizedTokensAreNotPassedOn) {
  auto outcome = ask(*make(), std::string(20'000, 'a'));
  EXPECT_TRUE(outcome && !*outcome);
  EXPECT_EQ(webhook_.calls, 0);
}

}  // namespace
}  // namespace cardea::authn
