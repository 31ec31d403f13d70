#include "authn/jwt/jwt_authenticators.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "authn/testing/fake_issuers.h"
#include "authn/testing/shared_clock.h"
#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"

namespace cardea::authn {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kNow = 1'800'000'000;

std::string token_of(const SigningKey& key, const json::Value& claims) {
  const std::string input = cat(base64_url(cat(R"({"alg":"ES256","kid":")", key.id(), R"("})")),
                                ".", base64_url(json::print(claims)));
  return cat(input, ".", base64_url(*key.sign(Algorithm::kEs256, input)));
}

class JwtAuthenticatorsTest : public ::testing::Test {
 protected:
  std::shared_ptr<const JwtIssuer> issuer(const std::string& url, std::string_view more = "") {
    auto config = load_authentication_config(cat(
        R"({"apiVersion":"apiserver.config.k8s.io/v1","kind":"AuthenticationConfiguration",)"
        R"("jwt":[{"issuer":{"url":")",
        url, R"(","audiences":["me"]},"claimMappings":{"username":{"claim":"sub","prefix":"x:"}})",
        more, "}]}"));
    EXPECT_TRUE(config) << config.error().message;
    std::vector<ClaimRules> rules;
    EXPECT_EQ(message_of(validate(config->jwt[0], {}, "", rules)), "[]");
    auto keys = std::make_shared<KeySet>();
    keys->keys = {key_};
    return std::make_shared<JwtIssuer>(JwtIssuer::Parts{.config = config->jwt[0],
                                                        .rules = std::move(rules[0]),
                                                        .algorithms = AlgorithmSet::all(),
                                                        .keys = fixed_keys(keys),
                                                        .distributed = {},
                                                        .metrics = {}});
  }
  std::shared_ptr<const IssuerSet> set(std::vector<std::shared_ptr<const JwtIssuer>> issuers) {
    return std::make_shared<IssuerSet>(std::move(issuers));
  }
  json::Value claims(std::string_view issuer = "https://a") {
    return json::Value::object(
        {{"iss", issuer}, {"sub", "jane"}, {"aud", "me"}, {"exp", kNow + 3600}});
  }
  std::string outcome(const JwtAuthenticators& jwt, const std::string& token,
                      const std::vector<std::string>* audiences = nullptr) {
    Credentials credentials;
    credentials.token = token;
    credentials.audiences = audiences;
    auto answer = jwt.authenticate(credentials);
    if (!answer) return "must wait";
    if (!*answer) return "refused";
    if (!**answer) return "not mine";
    return (**answer)->user.name;
  }

  SigningKey key_ = *SigningKey::make_ec();
  SharedClock clock_{Time(std::chrono::seconds(kNow))};
};

TEST_F(JwtAuthenticatorsTest, KnowsATokenOfItsIssuer) {
  JwtAuthenticators jwt(set({issuer("https://a"), issuer("https://b")}), {"api"}, clock_, nullptr);
  EXPECT_EQ(outcome(jwt, token_of(key_, claims())), "x:jane");
  EXPECT_EQ(outcome(jwt, token_of(key_, claims("https://b"))), "x:jane");
  EXPECT_EQ(outcome(jwt, token_of(key_, claims("https://c"))), "not mine");
  EXPECT_EQ(outcome(jwt, ""), "not mine");
  EXPECT_EQ(outcome(jwt, "opaque"), "not mine");
  EXPECT_EQ(outcome(jwt, std::string(kMaxTokenBytes + 1, 'a')), "not mine");
  EXPECT_EQ(outcome(jwt, token_of(*SigningKey::make_ec(), claims())), "refused");
}

TEST_F(JwtAuthenticatorsTest, AnErrorIsNeverAnAllow) {
  JwtAuthenticators jwt(
      set({issuer("https://a",
                  R"(,"claimValidationRules":[{"expression":"claims.missing == 'x'"}])")}),
      {}, clock_, nullptr);
  EXPECT_EQ(outcome(jwt, token_of(key_, claims())), "refused");
  JwtAuthenticators user(
      set({issuer("https://a",
                  R"(,"userValidationRules":[{"expression":"user.extra['no'][0] == 'x'"}])")}),
      {}, clock_, nullptr);
  EXPECT_EQ(outcome(user, token_of(key_, claims())), "refused");
}

TEST_F(JwtAuthenticatorsTest, ARememberedTokenEndsWithItsExpiry) {
  JwtAuthenticators jwt(set({issuer("https://a")}), {}, clock_, nullptr);
  json::Value short_lived = claims();
  short_lived.set("exp", kNow + 3);
  const std::string token = token_of(key_, short_lived);
  EXPECT_EQ(outcome(jwt, token), "x:jane");
  clock_.advance(3s);
  EXPECT_EQ(outcome(jwt, token), "x:jane");
  clock_.advance(1s);
  EXPECT_EQ(outcome(jwt, token), "refused");
}

TEST_F(JwtAuthenticatorsTest, ARememberedTokenEndsWithItsConfiguration) {
  JwtAuthenticators jwt(set({issuer("https://a")}), {}, clock_, nullptr);
  const std::string token = token_of(key_, claims());
  EXPECT_EQ(outcome(jwt, token), "x:jane");
  jwt.swap(set({}));
  EXPECT_EQ(outcome(jwt, token), "not mine");
  jwt.swap(set({issuer("https://a",
                       R"(,"userValidationRules":[{"expression":"user.username != 'x:jane'"}])")}));
  EXPECT_EQ(outcome(jwt, token), "refused");
}

TEST_F(JwtAuthenticatorsTest, ATokenChangedAnywhereIsNotTheRememberedOne) {
  JwtAuthenticators jwt(set({issuer("https://a")}), {}, clock_, nullptr);
  const std::string token = token_of(key_, claims());
  EXPECT_EQ(outcome(jwt, token), "x:jane");
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_NE(outcome(jwt, changed), "x:jane") << i;
  }
  for (std::size_t length = 0; length < token.size(); ++length)
    EXPECT_NE(outcome(jwt, token.substr(0, length)), "x:jane");
}

TEST_F(JwtAuthenticatorsTest, WhatIsRememberedIsNoMoreThanWhatWasAccepted) {
  auto jwt = std::make_shared<JwtAuthenticators>(set({issuer("https://a")}),
                                                 std::vector<std::string>{}, clock_, nullptr);
  auto remembered = jwt->remembered();
  const std::string token = token_of(key_, claims());
  Credentials credentials;
  credentials.token = token;
  auto knows = [&] { return remembered->authenticate(credentials)->value().has_value(); };
  EXPECT_FALSE(knows());
  EXPECT_EQ(outcome(*jwt, token), "x:jane");
  EXPECT_TRUE(knows());
  clock_.advance(11s);
  EXPECT_FALSE(knows()) << "ten seconds have passed";
  EXPECT_EQ(outcome(*jwt, token), "x:jane");
  EXPECT_TRUE(knows());
  jwt->swap(set({issuer("https://a")}));
  EXPECT_FALSE(knows()) << "another configuration";
}

TEST_F(JwtAuthenticatorsTest, AReviewForOtherAudiencesIsDeclined) {
  JwtAuthenticators jwt(set({issuer("https://a")}), {"api", "api2"}, clock_, nullptr);
  const std::string token = token_of(key_, claims());
  const std::vector<std::string> ours = {"other", "api"}, theirs = {"other"};
  EXPECT_EQ(outcome(jwt, token, &theirs), "not mine");
  EXPECT_EQ(outcome(jwt, token, &ours), "x:jane");
  EXPECT_EQ(outcome(jwt, token, &theirs), "not mine") << "also when it is remembered";
}

// The groups of these tokens are at another address.
class DistributedTest : public JwtAuthenticatorsTest {
 protected:
  static constexpr const char* kGroups = "https://claims/groups";

  DistributedTest() {
    fake_->serve_issuer("https://b", {&key_});
    fake_->serve(kGroups, token_of(key_, with_groups("https://b", "ops")));
    auto config = load_authentication_config(
        R"({"apiVersion":"apiserver.config.k8s.io/v1","kind":"AuthenticationConfiguration",)"
        R"("jwt":[{"issuer":{"url":"https://a","audiences":["me"]},"claimMappings":{)"
        R"("username":{"claim":"sub","prefix":""},"groups":{"claim":"groups","prefix":""}}}]})");
    EXPECT_TRUE(config);
    std::vector<ClaimRules> rules;
    EXPECT_EQ(message_of(validate(config->jwt[0], {}, "", rules)), "[]");
    auto keys = std::make_shared<KeySet>();
    keys->keys = {key_};
    auto issuer = std::make_shared<JwtIssuer>(JwtIssuer::Parts{
        .config = config->jwt[0],
        .rules = std::move(rules[0]),
        .algorithms = AlgorithmSet::all(),
        .keys = fixed_keys(keys),
        .distributed = std::make_shared<DistributedClaims>(loops_.at(0), fake_, clock_),
        .metrics = {}});
    jwt_ = std::make_shared<JwtAuthenticators>(set({issuer}), std::vector<std::string>{}, clock_,
                                               &metrics_);
    json::Value c = claims();
    c.set("_claim_names", json::Value::object({{"groups", "s"}}));
    c.set("_claim_sources",
          json::Value::object({{"s", json::Value::object({{"endpoint", kGroups}})}}));
    token_ = token_of(key_, c);
  }
  json::Value with_groups(std::string_view issuer, std::string_view group) {
    json::Value c = claims(issuer);
    c.set("groups", json::Value::array({group}));
    return c;
  }
  // The group of the answer, or why there is none.
  static Task<bool> ask(std::shared_ptr<const JwtAuthenticators> jwt, std::string token,
                        std::promise<std::string>& answer) {
    Credentials credentials;
    credentials.token = token;
    Outcome outcome = co_await jwt->authenticate_waiting(credentials);
    answer.set_value(!outcome    ? outcome.error().message
                     : !*outcome ? "not mine"
                                 : (*outcome)->user.groups.at(0));
    co_return true;
  }
  void start(std::promise<std::string>& answer) {
    loops_.at(0).post([this, &answer] { spawn(ask(jwt_, token_, answer), [](bool) {}); });
  }

  net::Loops loops_{1};
  std::shared_ptr<FakeIssuers> fake_ = std::make_shared<FakeIssuers>(loops_.at(0));
  AuthenticationMetrics metrics_{"test"};
  std::shared_ptr<JwtAuthenticators> jwt_;
  std::string token_;
};

TEST_F(DistributedTest, ATokenIsRememberedAfterItsClaimsWereFetched) {
  EXPECT_EQ(outcome(*jwt_, token_), "must wait");
  std::promise<std::string> answer;
  start(answer);
  EXPECT_EQ(answer.get_future().get(), "ops");
  EXPECT_EQ(outcome(*jwt_, token_), "jane") << "also on another thread";
  EXPECT_EQ(fake_->asked(kGroups), 1);
  clock_.advance(11s);
  EXPECT_EQ(outcome(*jwt_, token_), "must wait") << "ten seconds have passed";
  jwt_->swap(set({}));
  EXPECT_EQ(outcome(*jwt_, token_), "not mine");
}

TEST_F(DistributedTest, RequestsWithTheSameTokenShareAFetch) {
  fake_->hold();
  std::promise<std::string> answers[5];
  for (auto& answer : answers) start(answer);
  while (fake_->asked(kGroups) == 0 || metrics_.blocked != 4) std::this_thread::yield();
  fake_->let_go();
  for (auto& answer : answers) EXPECT_EQ(answer.get_future().get(), "ops");
  EXPECT_EQ(fake_->asked(kGroups), 1);
}

TEST_F(DistributedTest, AnErrorIsNeverAnAllowAndNotRemembered) {
  fake_->set_down(kGroups, true);
  std::promise<std::string> failed, fine;
  start(failed);
  EXPECT_NE(failed.get_future().get().find("distributed claim"), std::string::npos);
  EXPECT_EQ(outcome(*jwt_, token_), "must wait");
  fake_->set_down(kGroups, false);
  start(fine);
  EXPECT_EQ(fine.get_future().get(), "ops");
}

TEST_F(JwtAuthenticatorsTest, SaysWhyATokenIsKnownToNobody) {
  AuthenticationMetrics metrics("test");
  JwtAuthenticators jwt(set({issuer("https://a")}), {}, clock_, &metrics);
  auto why = [&](const std::string& token, std::vector<std::string> texts = {}) {
    jwt.note_refusal(token, texts);
    return join(texts, "; ");
  };
  EXPECT_EQ(why("opaque", {"invalid bearer token"}),
            "oidc: malformed jwt: it does not have three parts");
  const std::string stranger = token_of(key_, claims("https://secret.example"));
  EXPECT_EQ(why(stranger), "oidc: no configured issuer has the issuer of the token");
  EXPECT_EQ(why(stranger, {R"(oidc: expected audience "a" got ["secret"])"}),
            R"(oidc: expected audience "a")");
}

TEST_F(JwtAuthenticatorsTest, LifetimesAndAudiencesAreHeldTo) {
  JwtAuthenticators jwt(set({issuer("https://a")}), {}, clock_, nullptr);
  for (auto [claim, value] : std::initializer_list<std::pair<std::string_view, json::Value>>{
           {"exp", kNow - 1},
           {"exp", json::Value()},
           {"exp", "soon"},
           {"nbf", kNow + 61},
           {"aud", "other"},
           {"aud", json::Value::array({"x"})},
           {"aud", 7},
           {"sub", 7},
           {"exp", 1e300},
           {"nbf", 1e300}}) {
    json::Value changed = claims();
    changed.set(claim, value);
    const bool far = claim == "exp" && value.is_double();
    EXPECT_EQ(outcome(jwt, token_of(key_, changed)), far ? "x:jane" : "refused")
        << claim << json::print(value);
  }
}

TEST_F(JwtAuthenticatorsTest, ExpressionsSeeClaimsAsKubernetesDoes) {
  auto holds = [&](std::string_view expression) {
    const std::string rule = json::print(json::Value::object({{"expression", expression}}));
    JwtAuthenticators jwt(
        set({issuer("https://a", cat(R"(,"claimValidationRules":[)", rule, "]"))}), {}, clock_,
        nullptr);
    json::Value c = claims();
    for (auto [key, text] : {std::pair{"a.b", R"({"c-d":[{"e/f":"x"}],"n":1,"__k__":"raw"})"},
                             {"list", R"([1,2])"},
                             {"x__y", "1"},
                             {"in", "\"kw\""},
                             {"null", "null"}})
      c.set(key, *json::parse(text));
    return outcome(jwt, token_of(key_, c)) == "x:jane";
  };
  EXPECT_TRUE(holds("claims.a__dot__b.c__dash__d[0].e__slash__f == 'x'"));
  EXPECT_TRUE(holds("claims['a.b']['c-d'][0]['e/f'] == 'x'"));
  EXPECT_TRUE(holds("claims.a__dot__b.__k__ == 'raw'"))
      << "an unknown escape below the top is no escape";
  EXPECT_TRUE(holds("claims.x__underscores__y == 1"));
  EXPECT_TRUE(holds("claims.__in__ == 'kw'"));
  EXPECT_TRUE(
      holds("has(claims.sub) && !has(claims.nothing) && claims.?nothing.orValue('d') == 'd'"));
  EXPECT_TRUE(
      holds("type(claims.exp) == double && claims.exp > 5 && claims.list.all(n, n + 1.0 > 1.0)"));
  EXPECT_TRUE(holds("claims[?'a.b']['n'].orValue(2.0) == 1.0"));
  EXPECT_TRUE(holds("claims.exists(v, v == 'kw')")) << "claims are gone through by value";
  EXPECT_TRUE(holds("'n' in claims.a__dot__b && size(claims.a__dot__b) == 3"));
  EXPECT_TRUE(holds("base64.encode(b'a') == 'YQ=='"));
  EXPECT_FALSE(holds("'sub' in claims"));
  EXPECT_FALSE(holds("size(claims) > 0"));
  EXPECT_FALSE(holds("claims.exp + 1 > 0"));
  EXPECT_FALSE(holds("claims.__foo__ == 'x'"));
}

}  // namespace
}  // namespace cardea::authn
