// What a bearer token costs in process: remembered, verified anew beside the signature check alone,
// with the rules of KEP-3331's example, with one and with 64 issuers.
#include <benchmark/benchmark.h>
#include <openssl/evp.h>

#include <memory>
#include <string>
#include <vector>

#include "authn/jwt/jwt_authenticators.h"
#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"

namespace {

using namespace cardea;
using namespace cardea::authn;

constexpr std::int64_t kNow = 1'800'000'000;
constexpr std::string_view kPlain = R"("claimMappings":{"username":{"claim":"sub","prefix":""},)"
                                    R"("groups":{"claim":"groups","prefix":""}})";
// The rules and mappings of KEP-3331's examples.
constexpr std::string_view kRules =
    R"json("claimValidationRules":[{"expression":"claims.hd == 'example.com'",
    "message":"the hd claim must be set to example.com"},
    {"expression":"claims.exp - claims.nbf <= 86400",
      "message":"total token lifetime must not exceed 24 hours"}],
  "claimMappings":{"username":{"expression":"claims.username + ':external-user'"},
    "groups":{"expression":"claims.roles.split(',')"},
    "uid":{"expression":"claims.sub"},"extra":[{"key":"example.com/client-name",
      "valueExpression":"claims.client_name"}]},
  "userValidationRules":[{"expression":"!user.username.startsWith('system:')",
    "message":"username cannot used reserved system: prefix"},
    {"expression":"user.groups.all(group, !group.startsWith('system:'))",
      "message":"groups cannot used reserved system: prefix"}])json";

const SigningKey& key_of(Algorithm algorithm) {
  static const SigningKey rsa = *SigningKey::make_rsa(), p256 = *SigningKey::make_ec(256);
  return algorithm == Algorithm::kEs256 ? p256 : rsa;
}

struct Bench {
  explicit Bench(int issuers = 1, std::string_view rules = kPlain,
                 Algorithm algorithm = Algorithm::kRs256)
      : algorithm(algorithm) {
    auto keys = std::make_shared<KeySet>();
    keys->keys = {key_of(algorithm)};
    std::vector<std::shared_ptr<const JwtIssuer>> list;
    for (int i = 0; i < issuers; ++i) {
      auto config = load_authentication_config(
          cat(R"({"apiVersion":"apiserver.config.k8s.io/v1","kind":"AuthenticationConfiguration",)"
              R"("jwt":[{"issuer":{"url":"https://issuer-)",
              i, R"(.example.com","audiences":["kubernetes"]},)", rules, "}]}"));
      std::vector<ClaimRules> compiled;
      (void)validate(config->jwt[0], {}, "", compiled);
      list.push_back(std::make_shared<JwtIssuer>(
          JwtIssuer::Parts{.config = config->jwt[0],
                           .rules = std::move(compiled[0]),
                           .algorithms = AlgorithmSet::all(),
                           .keys = fixed_keys(keys),
                           .distributed = {},
                           .metrics = std::make_shared<IssuerMetrics>("bench")}));
    }
    jwt = std::make_unique<JwtAuthenticators>(std::make_shared<IssuerSet>(std::move(list)),
                                              std::vector<std::string>{}, clock, &metrics);
  }
  std::string token(int issuer, int serial = 0) const {
    const std::string claims = cat(
        R"({"iss":"https://issuer-)", issuer,
        R"(.example.com","aud":"kubernetes","sub":"5c1e9d0a-0000-4000-8000-00000000000)",
        serial % 10,
        R"(","username":"jane","hd":"example.com","roles":"admin,user","groups":["admin","user"],)"
        R"("client_name":"kubectl","jti":")",
        serial, R"(","iat":)", kNow, R"(,"nbf":)", kNow, R"(,"exp":)", kNow + 3600, "}");
    const std::string input = cat(base64_url(cat(R"({"alg":")", algorithm_name(algorithm),
                                                 R"(","kid":")", key_of(algorithm).id(), R"("})")),
                                  ".", base64_url(claims));
    return cat(input, ".", base64_url(*key_of(algorithm).sign(algorithm, input)));
  }
  void ask(benchmark::State& state, const std::string& token) const {
    Credentials credentials;
    credentials.token = token;
    auto answer = jwt->authenticate(credentials);
    if (!answer || !*answer || !**answer)
      state.SkipWithError(!answer    ? "must wait"
                          : !*answer ? (*answer).error().message.c_str()
                                     : "not mine");
  }

  Algorithm algorithm;
  FakeClock clock{Time(std::chrono::seconds(kNow))};
  AuthenticationMetrics metrics{"bench"};
  std::unique_ptr<JwtAuthenticators> jwt;
};

void remembered(benchmark::State& state) {
  Bench bench(static_cast<int>(state.range(0)));
  const std::string token = bench.token(0);
  for (auto _ : state) bench.ask(state, token);
}

// Every ask is of a token that is not remembered, and is another than the last one.
void anew(benchmark::State& state, std::string_view rules, Algorithm algorithm) {
  Bench bench(static_cast<int>(state.range(0)), rules, algorithm);
  std::vector<std::string> tokens;
  for (int i = 0; i < 64; ++i)
    tokens.push_back(bench.token(i % static_cast<int>(state.range(0)), i));
  std::size_t at = 0;
  for (auto _ : state) {
    bench.jwt->forget_all();
    bench.ask(state, tokens[at++ % tokens.size()]);
  }
}

void verify_alone(benchmark::State& state, Algorithm algorithm) {
  Bench bench(1, kPlain, algorithm);
  std::vector<Jwt> tokens;
  std::vector<std::string> texts;
  for (int i = 0; i < 64; ++i) texts.push_back(bench.token(0, i));
  for (const std::string& text : texts) tokens.push_back(*parse_jwt(text));
  const PublicKey& key = key_of(algorithm);
  std::size_t at = 0;
  for (auto _ : state) {
    const Jwt& jwt = tokens[at++ % tokens.size()];
    if (!key.verify(algorithm, jwt.signing_input, jwt.signature))
      state.SkipWithError("does not verify");
  }
}

void parse_alone(benchmark::State& state) {
  Bench bench;
  const std::string token = bench.token(0);
  for (auto _ : state) benchmark::DoNotOptimize(parse_jwt(token));
}

BENCHMARK(remembered)->Arg(1)->Arg(64);
BENCHMARK(parse_alone);
BENCHMARK_CAPTURE(verify_alone, RS256, Algorithm::kRs256);
BENCHMARK_CAPTURE(anew, RS256, kPlain, Algorithm::kRs256)->Arg(1)->Arg(64);
BENCHMARK_CAPTURE(anew, RS256_with_rules, kRules, Algorithm::kRs256)->Arg(1)->Arg(64);
BENCHMARK_CAPTURE(verify_alone, ES256, Algorithm::kEs256);
BENCHMARK_CAPTURE(anew, ES256, kPlain, Algorithm::kEs256)->Arg(1);

}  // namespace

BENCHMARK_MAIN();
