#include "conformance/test_issuer.h"

#include <mutex>

#include "base/strings.h"
#include "http/server.h"
#include "json/print.h"
#include "net/testing/test_certificates.h"

namespace cardea::conformance {

struct TestIssuer::State final : http::Handler {
  struct Document {
    std::string body, bearer;
  };
  std::mutex mutex;
  std::map<std::string, Document> documents;
  net::Loops loops{1};
  http::Server server{loops, *this};

  void handle(std::shared_ptr<http::Exchange> exchange) override {
    std::lock_guard lock(mutex);
    const http::Request& request = exchange->request();
    auto found = documents.find(request.path);
    if (found == documents.end())
      return exchange->respond({.status = 404, .headers = {}, .body = "not found"});
    if (!found->second.bearer.empty() &&
        request.headers.get("authorization") != cat("Bearer ", found->second.bearer))
      return exchange->respond({.status = 401, .headers = {}, .body = "who are you?"});
    exchange->respond({.status = 200,
                       .headers = {{"Content-Type", "application/json"}},
                       .body = found->second.body});
  }
};

TestIssuer::TestIssuer() : state_(std::make_unique<State>()) {
  const auto authority = net::testing::issue({.subject = {{"CN", "test CA"}}, .authority = true});
  const auto identity = net::testing::issue(
      {.subject = {{"CN", "issuer"}}, .alternative_names = "IP:127.0.0.1"}, &authority);
  auto tls = net::TlsServer::make(
      {.certificates = identity.certificate_pem(), .key = identity.key_pem()});
  auto port = state_->server.listen("127.0.0.1", 0, *tls);
  url_ = cat("https://127.0.0.1:", *port);
  ca_ = authority.certificate_pem();
}

TestIssuer::~TestIssuer() {
  state_->server.stop(std::chrono::seconds(0));
}

void TestIssuer::serve(const std::string& path, std::string body, std::string bearer) {
  std::lock_guard lock(state_->mutex);
  state_->documents[path] = {std::move(body), std::move(bearer)};
}

void TestIssuer::clear() {
  std::lock_guard lock(state_->mutex);
  state_->documents.clear();
}

std::string sign_token(const authn::SigningKey& key, std::string_view alg,
                       const json::Value& claims, const json::Value& header) {
  json::Value head = json::Value::object({{"alg", alg}, {"kid", key.id()}});
  for (const json::Member& m : header.members()) {
    if (m.value.is_null())
      head.erase(m.key());
    else
      head.set(m.key(), m.value);
  }
  const std::string input = cat(base64_url(json::print(head)), ".",
                                base64_url(json::print(claims)));
  auto algorithm = authn::algorithm_named(alg);
  return cat(input, ".", algorithm ? base64_url(key.sign(*algorithm, input).value_or("x")) : "eA");
}

}  // namespace cardea::conformance
