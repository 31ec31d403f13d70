// What recognising a service account's token costs: seen before, new, and the signature check
// alone.
//   service_account_bench [TOKENS]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "authn/jwt/jwt.h"
#include "authn/service_account/tokens.h"
#include "base/strings.h"
#include "store/testing/memory_store.h"

namespace {

using namespace cardea;

// The fastest of five passes over all tokens, per token.
template <typename Work>
double measure(const char* what, std::size_t count, Work work) {
  double best = 1e9;
  for (int pass = 0; pass < 5; ++pass) {
    auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < count; ++i) work(i);
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
                  static_cast<double>(count));
  }
  std::printf("%-44s %8.2f us %10.0f /s\n", what, best * 1e6, 1 / best);
  return best;
}

void put(store::Store& store, std::string key, std::string_view name, std::string_view uid) {
  std::string text = cat(R"({"kind":"X","metadata":{"name":")", name, R"(","uid":")", uid,
                         R"("}})");
  (void)store::commit_sync(store, {{}, {store::Put{std::move(key), std::move(text)}}});
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = argc > 1 ? static_cast<std::size_t>(std::atoi(argv[1])) : 6000;
  SystemClock clock;
  SystemRandom random;
  auto store = store::make_memory_store(clock);
  put(*store, "/registry/serviceaccounts/ns/sa", "sa", "u1");
  put(*store, "/registry/pods/ns/p", "p", "u2");
  authn::ServiceAccountOptions options{.issuers = {"https://one"}, .audiences = {"https://one"}};
  auto tokens = std::make_shared<authn::ServiceAccountTokens>(
      options, *authn::SigningKey::make_ec(), std::vector<authn::PublicKey>(), clock, random);
  auto authenticator = authn::service_account_authenticator(tokens, *store, clock);
  authn::ServiceAccountClaims claims{.namespace_name = "ns",
                                     .account = {"sa", "u1"},
                                     .pod = authn::ObjectRef{"p", "u2"},
                                     .audiences = {"https://one"}};
  std::vector<std::string> all;
  std::vector<authn::Jwt> parsed;
  for (std::size_t i = 0; i < count; ++i) all.push_back(tokens->issue(claims)->token);
  for (const std::string& token : all) parsed.push_back(*authn::parse_jwt(token));
  auto authenticate = [&](std::size_t i) {
    auto outcome = authenticator->authenticate({.token = all[i]});
    if (!outcome || !*outcome || !**outcome) std::abort();
  };
  double alone = measure("signature alone (ES256)", count, [&](std::size_t i) {
    if (!tokens->verifier_of(parsed[i])) std::abort();
  });
  double uncached = measure("new token", count, authenticate);
  double cached = measure("token seen before", count, [&](std::size_t) { authenticate(0); });
  std::printf(
      "new token above its signature: %.2f us (target < 5); seen before: %.2f us (target < 2)\n",
      (uncached - alone) * 1e6, cached * 1e6);
  return 0;
}
