// Reloads while issuers are down. An issuer that did not change does not delay the reload, and the
// new configuration takes effect without waiting for it.
#include "authn/jwt/authentication_reload.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "authn/testing/fake_issuers.h"
#include "authn/testing/shared_clock.h"

namespace cardea::authn {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kNow = 1'800'000'000;

class AuthenticationReloadTest : public ::testing::Test {
 protected:
  AuthenticationReloadTest() {
    issuers_->serve_issuer("https://a", {&key_});
    issuers_->serve_issuer("https://b", {&key_});
    issuers_->serve_issuer("https://c", {&key_});
    std::filesystem::create_directories(folder_);
  }
  ~AuthenticationReloadTest() override {
    reload_.reset();
    jwt_.reset();
    std::filesystem::remove_all(folder_);
  }

  static std::string entry(std::string_view url,
                           std::string_view prefix = "x:", std::string_view discovery = "") {
    return cat(R"({"issuer":{"url":")", url, "\"",
               discovery.empty() ? "" : cat(R"(,"discoveryURL":")", discovery, "\""),
               R"(,"audiences":["me"]},"claimMappings":{"username":{"claim":"sub","prefix":")",
               prefix, R"("}}})");
  }
  static std::string file_of(const std::vector<std::string>& entries) {
    return cat(R"({"apiVersion":"apiserver.config.k8s.io/v1",)"
               R"("kind":"AuthenticationConfiguration","jwt":[)",
               join(entries, ","), "]}");
  }
  void write(const std::string& text) {
    std::ofstream(path_ + ".new") << text;
    std::filesystem::rename(path_ + ".new", path_);
  }
  void start(const std::string& text, std::chrono::milliseconds patience = 1h) {
    parts_.make_fetcher = [this](const std::string&) -> Result<std::shared_ptr<Fetcher>> {
      return issuers_;
    };
    auto config = load_authentication_config(text);
    jwt_ = std::make_shared<JwtAuthenticators>(build_issuers(*config, parts_).value(),
                                               std::vector<std::string>{}, clock_, &metrics_);
    write(text);
    reload_ = std::make_unique<AuthenticationReload>(
        AuthenticationReload::Options{.file = path_,
                                      .text = text,
                                      .anonymous = config->anonymous,
                                      .patience = patience,
                                      .poll = 1h,
                                      .reread = 1ms},
        parts_, *jwt_, metrics_);
  }
  void take(const std::string& text) {
    write(text);
    reload_->look();
  }

  template <typename T>
  static T wait(Task<T> task) {
    std::promise<T> answer;
    spawn(std::move(task), [&](T value) { answer.set_value(std::move(value)); });
    return answer.get_future().get();
  }
  std::string user(std::string_view issuer) { return user_by(key_, issuer); }
  std::string user_by(const SigningKey& key, std::string_view issuer) {
    json::Value claims = json::Value::object(
        {{"iss", issuer}, {"sub", "jane"}, {"aud", "me"}, {"exp", kNow + 1'000'000}});
    const std::string input = cat(base64_url(cat(R"({"alg":"ES256","kid":")", key.id(), R"("})")),
                                  ".", base64_url(json::print(claims)));
    const std::string token = cat(input, ".", base64_url(*key.sign(Algorithm::kEs256, input)));
    Credentials credentials;
    credentials.token = token;
    auto outcome = jwt_->authenticate(credentials);
    if (!outcome) outcome = wait(jwt_->authenticate_waiting(credentials));
    if (!*outcome) return "refused";
    return **outcome ? (**outcome)->user.name : "not mine";
  }
  void await_healthy() {
    for (const auto& issuer : jwt_->issuers()->issuers())
      if (!issuer->keys()->health().empty()) (void)wait(issuer->keys()->ready());
  }

  SigningKey key_ = *SigningKey::make_ec();
  SharedClock clock_{Time(std::chrono::seconds(kNow))};
  net::Loops loops_{1};
  net::Dialer dialer_;
  AuthenticationMetrics metrics_{"test"};
  std::shared_ptr<FakeIssuers> issuers_ = std::make_shared<FakeIssuers>(loops_.at(0));
  IssuerParts parts_{.loop = loops_.at(0),
                     .dialer = dialer_,
                     .clock = clock_,
                     .metrics = metrics_,
                     .log = {},
                     .context = {}};
  std::string folder_ = cat(std::filesystem::temp_directory_path().string(), "/cardea-reload-",
                            ::getpid()),
              path_ = folder_ + "/authentication.json";
  std::shared_ptr<JwtAuthenticators> jwt_;
  std::unique_ptr<AuthenticationReload> reload_;
};

TEST_F(AuthenticationReloadTest, AnIssuerIsRemovedWhileAnotherOneIsDown) {
  start(file_of({entry("https://a"), entry("https://b")}));
  await_healthy();
  EXPECT_EQ(user("https://a"), "x:jane");
  EXPECT_EQ(user("https://b"), "x:jane");
  issuers_->set_down("https://b", true);
  take(file_of({entry("https://b")}));
  EXPECT_EQ(user("https://a"), "not mine");
  EXPECT_EQ(user("https://b"), "x:jane") << "keeps what it had";
  EXPECT_EQ(metrics_.reloads(true), 1u);
}

TEST_F(AuthenticationReloadTest, AnIssuerIsRemovedWhileAnotherOneWasNeverFound) {
  issuers_->set_down("https://b", true);
  start(file_of({entry("https://a"), entry("https://b")}));
  take(file_of({entry("https://b", "y:")}));
  EXPECT_EQ(user("https://a"), "not mine");
  EXPECT_EQ(metrics_.reloads(true), 1u);
  EXPECT_NE(jwt_->issuers()->health(), "");
}

TEST_F(AuthenticationReloadTest, WhatElseIsSaidOfAnIssuerThatIsDownIsTakenOver) {
  start(file_of({entry("https://a")}));
  await_healthy();
  EXPECT_EQ(user("https://a"), "x:jane");
  issuers_->set_down(true);
  take(file_of({entry("https://a", "y:")}));
  EXPECT_EQ(user("https://a"), "y:jane");
}

TEST_F(AuthenticationReloadTest, ANewIssuerIsWaitedForAndNeverReplacesWhatWorksBefore) {
  start(file_of({entry("https://a")}), 50ms);
  issuers_->set_down("https://c", true);
  take(file_of({entry("https://c")}));
  EXPECT_EQ(user("https://a"), "x:jane");
  EXPECT_GE(metrics_.reloads(false), 1u);
  issuers_->set_down("https://c", false);
  reload_->look();
  EXPECT_EQ(user("https://a"), "not mine");
  EXPECT_EQ(user("https://c"), "x:jane");
}

TEST_F(AuthenticationReloadTest, AnIssuerThatIsToBeFoundElsewhereIsANewOne) {
  start(file_of({entry("https://a")}), 50ms);
  await_healthy();
  issuers_->serve("https://elsewhere/a",
                  R"({"issuer":"https://other","jwks_uri":"https://a/keys"})");
  take(file_of({entry("https://a", "x:", "https://elsewhere/a")}));
  EXPECT_GE(metrics_.reloads(false), 1u) << "what is said there was not looked at";
}

TEST_F(AuthenticationReloadTest, ANewerFileEndsTheWaitingForAnOlderOne) {
  start(file_of({entry("https://a"), entry("https://b")}));
  await_healthy();
  issuers_->set_down("https://c", true);
  write(file_of({entry("https://a"), entry("https://b"), entry("https://c")}));
  std::thread looking([&] { reload_->look(); });  // would otherwise wait for an hour
  while (issuers_->asked("https://c/.well-known/openid-configuration") == 0)
    std::this_thread::yield();
  write(file_of({entry("https://b")}));
  looking.join();
  EXPECT_EQ(user("https://a"), "not mine");
  EXPECT_EQ(user("https://b"), "x:jane");
  EXPECT_EQ(metrics_.reloads(true), 1u);
}

TEST_F(AuthenticationReloadTest, AKeyThatWasWithdrawnDoesNotSurviveAReload) {
  start(file_of({entry("https://a")}));
  await_healthy();
  EXPECT_EQ(user("https://a"), "x:jane");
  SigningKey next = *SigningKey::make_ec();
  issuers_->serve_issuer("https://a", {&next});
  take(file_of({entry("https://a", "y:")}));
  EXPECT_EQ(user("https://a"), "refused");
  EXPECT_EQ(user_by(next, "https://a"), "y:jane");
}

TEST_F(AuthenticationReloadTest, OldKeysServeWhileNewOnesCannotBeFetchedAndNotForever) {
  start(file_of({entry("https://a")}));
  await_healthy();
  EXPECT_EQ(user("https://a"), "x:jane");
  issuers_->set_down(true);
  take(file_of({entry("https://a", "y:")}));
  EXPECT_EQ(user("https://a"), "y:jane");
  clock_.advance(24h);
  EXPECT_EQ(user("https://a"), "refused");
}

TEST_F(AuthenticationReloadTest, NobodyIsLetInByOldKeysWhileTheNewOnesAreOnTheirWay) {
  start(file_of({entry("https://a")}));
  await_healthy();
  EXPECT_EQ(user("https://a"), "x:jane");
  SigningKey next = *SigningKey::make_ec();
  issuers_->serve_issuer("https://a", {&next});
  issuers_->hold();
  take(file_of({entry("https://a", "y:")}));
  std::string told;
  std::thread asking([&] { told = user("https://a"); });
  issuers_->let_go();
  asking.join();
  EXPECT_EQ(told, "refused");
}

}  // namespace
}  // namespace cardea::authn
