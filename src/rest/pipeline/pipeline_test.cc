#include "rest/pipeline/pipeline.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <future>

#include "base/strings.h"
#include "rest/testing/test_server.h"

namespace cardea::rest::pipeline {
namespace {

using authz::Decision;

// Recognises the bearer of the token `good` as jane, and counts its calls.
class Bearer : public authn::Authenticator {
 public:
  std::optional<Result<std::optional<authn::Identity>>> authenticate(
      const authn::Credentials& credentials) const override {
    ++asked;
    if (waits) return std::nullopt;
    return answer(credentials);
  }
  Task<Result<std::optional<authn::Identity>>> authenticate_waiting(
      authn::Credentials credentials) const override {
    bool later = co_await continue_on(*waits);
    (void)later;
    co_return answer(credentials);
  }
  static Result<std::optional<authn::Identity>> answer(const authn::Credentials& credentials) {
    if (credentials.token != "good") return fail(Error::of(Reason::kUnauthorized, "no such token"));
    return authn::Identity{.user = {.name = "jane"}, .authenticator = "bearer"};
  }
  net::Loop* waits = nullptr;
  mutable int asked = 0;
};

class OneVerb : public authz::Authorizer {
 public:
  std::string_view name() const override { return "one-verb"; }
  std::optional<Decision> authorize(const authz::Attributes& a) const override {
    ++asked;
    return a.user.name == "jane" && a.verb == allowed ? Decision::allow() : Decision::no_opinion();
  }
  std::string allowed;
  mutable int asked = 0;
};

class FakeExchange : public http::Exchange {
 public:
  explicit FakeExchange(net::Loop& loop) : Exchange(loop) {}
  void respond(http::Response response) override { status.set_value(response.status); }
  std::shared_ptr<http::Stream> stream(http::Response) override { return nullptr; }
  void on_close(net::Callback) override {}
  void withhold_body() override { withheld.set_value(); }
  std::promise<int> status;
  std::promise<void> withheld;
};

class Pipeline : public ::testing::Test {
 protected:
  std::shared_ptr<FakeExchange> exchange(std::string method, std::string path, std::string token) {
    auto out = std::make_shared<FakeExchange>(server_.loop());
    out->request().method = std::move(method);
    out->request().target = out->request().path = std::move(path);
    out->request().headers.add("Authorization", "Bearer " + token);
    out->request().headers.add("Content-Type", "application/json");
    return out;
  }
  // Both calls of the HTTP server: with the head, and then with the whole request unless it was
  // refused at its head.
  std::pair<bool, int> serve(Gateway& gateway, const std::shared_ptr<FakeExchange>& e,
                             std::string_view body) {
    std::promise<bool> wants;
    server_.loop().post([&] {
      bool wanted = gateway.wants_body(e);
      if (wanted)
        e->request().body = body;
      else
        e->request().body_withheld = true;
      // The policy changes while the body is being sent.
      if (after_head) after_head();
      gateway.handle(e);
      wants.set_value(wanted);
    });
    bool wanted = wants.get_future().get();
    return {wanted, e->status.get_future().get()};
  }

  std::shared_ptr<OneVerb> role_ = std::make_shared<OneVerb>();
  std::shared_ptr<Bearer> bearer_ = std::make_shared<Bearer>();
  TestServer server_{{}, {role_}};
  authn::AuthenticatorChain authenticators_{{bearer_}};
  std::function<void()> after_head;
};

constexpr const char* kSpaces = "/api/v1/namespaces";
constexpr std::string_view
    kSpace = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}})";

TEST_F(Pipeline, TheWayToTheDecisionIsGoneOnceAlsoWhenTheBodyComesLater) {
  auto gateway = server_.gateway_with(authenticators_);
  role_->allowed = "create";
  after_head = [&] { role_->allowed = ""; };
  EXPECT_EQ(serve(*gateway, exchange("POST", kSpaces, "good"), kSpace), std::pair(true, 201));
  EXPECT_EQ(bearer_->asked, 1);
  EXPECT_EQ(role_->asked, 1);
}

TEST_F(Pipeline, WhatIsRefusedAtItsHeadNeedsNoBody) {
  auto gateway = server_.gateway_with(authenticators_);
  EXPECT_EQ(serve(*gateway, exchange("POST", kSpaces, "good"), kSpace), std::pair(false, 403));
  EXPECT_EQ(serve(*gateway, exchange("POST", kSpaces, "bad"), kSpace), std::pair(false, 401));
  // A refusal stays, whatever becomes allowed while it is answered: the body has been dropped.
  after_head = [&] { role_->allowed = "create"; };
  EXPECT_EQ(serve(*gateway, exchange("POST", kSpaces, "good"), kSpace), std::pair(false, 403));
  EXPECT_EQ(server_.send("GET", "/api/v1/namespaces/n").status, 404);
}

TEST_F(Pipeline, WhoeverHasToBeWaitedForIsAskedOnceToo) {
  auto gateway = server_.gateway_with(authenticators_);
  bearer_->waits = &server_.loop();
  role_->allowed = "create";
  EXPECT_EQ(serve(*gateway, exchange("POST", kSpaces, "good"), kSpace), std::pair(true, 201));
  EXPECT_EQ(bearer_->asked, 2) << "at once, and then waiting";
  EXPECT_EQ(serve(*gateway, exchange("POST", kSpaces, "bad"), kSpace), std::pair(true, 401));
  EXPECT_EQ(role_->asked, 1);
}

TEST_F(Pipeline, ARefusalThatIsWaitedForDoesNotWaitForTheBody) {
  auto gateway = server_.gateway_with(authenticators_);
  bearer_->waits = &server_.loop();
  auto refused = exchange("POST", kSpaces, "bad");
  std::promise<bool> wants;
  server_.loop().post([&] { wants.set_value(gateway->wants_body(refused)); });
  EXPECT_TRUE(wants.get_future().get());
  refused->withheld.get_future().get();
  server_.loop().post([&] { gateway->handle(refused); });
  EXPECT_EQ(refused->status.get_future().get(), 401);
}

// The text that was written to a log up to now.
class Written {
 public:
  Written() { CARDEA_CHECK(::pipe(pipe_) == 0); }
  ~Written() {
    ::close(pipe_[0]);
    ::close(pipe_[1]);
  }
  int fd() const { return pipe_[1]; }
  std::string text() const {
    std::string out(1 << 16, '\0');
    out.resize(static_cast<std::size_t>(::read(pipe_[0], out.data(), out.size())));
    return out;
  }

 private:
  int pipe_[2];
};

TEST_F(Pipeline, TheLogTellsOfRequestsAndNotOfTheirSecrets) {
  Written written;
  Log log(server_.clock(), LogFormat::kText, LogLevel::kRequest, written.fd());
  auto gateway = server_.gateway_with(authenticators_);
  gateway->set_log(&log);
  role_->allowed = "create";
  server_.send("POST", kSpaces, kSpace);
  auto secret = exchange("POST", "/api/v1/namespaces/n/secrets", "good");
  secret->request().target += "?token=in-the-query";
  secret->request().query = "token=in-the-query";
  secret->request().headers.add("Cookie", "in-a-cookie");
  EXPECT_EQ(serve(*gateway, secret,
                  R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},)"
                  R"("data":{"k":"aW4tdGhlLWJvZHk="}})")
                .second,
            201);
  EXPECT_EQ(serve(*gateway, exchange("GET", kSpaces, "guessed"), "").second, 401);
  std::string text = written.text();
  EXPECT_NE(
      text.find(R"(debug request method="POST" path="/api/v1/namespaces/n/secrets" status="201" )"
                R"(user="jane" microseconds=")"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find(R"(authenticator="bearer")"), std::string::npos) << text;
  EXPECT_NE(text.find("warning unable to authenticate the request"), std::string::npos) << text;
  for (std::string_view hidden :
       {"good", "guessed", "in-the-query", "in-a-cookie", "aW4tdGhlLWJvZHk", "Bearer"})
    EXPECT_EQ(text.find(hidden), std::string::npos) << hidden << " in " << text;
}

TEST_F(Pipeline, TheHttpServerLearnsWhetherTheSenderIsKnown) {
  authn::AuthenticatorChain anonymous({bearer_, authn::anonymous_authenticator()});
  auto gateway = server_.gateway_with(anonymous);
  auto is_stranger = [&](const std::shared_ptr<FakeExchange>& e) {
    serve(*gateway, e, "");
    return e->request().from_stranger;
  };
  EXPECT_FALSE(is_stranger(exchange("GET", kSpaces, "good")));
  EXPECT_TRUE(is_stranger(exchange("GET", kSpaces, "bad")));
  auto without = exchange("GET", kSpaces, "");
  without->request().headers.remove("Authorization");
  EXPECT_TRUE(is_stranger(without));
}

TEST_F(Pipeline, EndsWhereAStationSaysNo) {
  auto travelled = [&](std::string method, std::string path, std::string token) {
    auto e = exchange(std::move(method), std::move(path), std::move(token));
    auto journey = std::make_shared<Journey>();
    std::promise<void> done;
    impersonation::Impersonator impersonator;
    server_.loop().post([&] {
      spawn(travel({server_.services(), authenticators_, impersonator, true}, *e, *journey),
            [&](bool) { done.set_value(); });
    });
    done.get_future().get();
    return journey;
  };
  auto nobody = travelled("GET", kSpaces, "bad");
  EXPECT_TRUE(nobody->asked && !nobody->recognised && nobody->end && !nobody->end->is_refusal);
  EXPECT_EQ(nobody->why_unrecognised, "[invalid bearer token, no such token]");
  auto refused = travelled("GET", kSpaces, "good");
  EXPECT_TRUE(refused->acting && refused->decided && refused->end && refused->end->is_refusal);
  EXPECT_EQ(refused->sender().name, "jane");
  role_->allowed = "list";
  auto allowed = travelled("GET", kSpaces, "good");
  EXPECT_TRUE(allowed->decided && allowed->decided->verdict.permit && !allowed->end);
  auto lost = travelled("GET", "/api/v1/watch", "good");
  EXPECT_TRUE(!lost->asked && lost->end);
}

}  // namespace
}  // namespace cardea::rest::pipeline
