#pragma once
// A server for tests of HTTP/2. Included by tests only.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>

#include "base/strings.h"
#include "http/server.h"
#include "net/testing/test_certificates.h"

namespace cardea::http::testing {

// Answers with what a test put there; by default with what it was asked.
class EchoHandler final : public Handler {
 public:
  std::function<void(std::shared_ptr<Exchange>)> answer =
      [](const std::shared_ptr<Exchange>& exchange) {
        const Request& request = exchange->request();
        Response response;
        if (request.body_too_large) response.status = 413;
        response.body = cat(request.method, " ", request.path, " ",
                            request.body.size() > 100 ? "" : request.body);
        exchange->respond(std::move(response));
      };
  std::atomic<bool> wants{true};
  std::function<void(const std::shared_ptr<Exchange>&)> on_head;  // of a request with a body

  void handle(std::shared_ptr<Exchange> exchange) override { answer(std::move(exchange)); }
  bool wants_body(const std::shared_ptr<Exchange>& exchange) const override {
    if (on_head) on_head(exchange);
    return wants;
  }
};

class Http2Server : public ::testing::Test {
 protected:
  void start(ServerOptions options, bool is_tls) {
    server_ = std::make_unique<Server>(loops_, handler_, options);
    std::shared_ptr<net::TlsServer> tls;
    if (is_tls) {
      const auto identity = net::testing::issue({.subject = {{"CN", "server"}}});
      tls = *net::TlsServer::make(
          {.certificates = identity.certificate_pem(), .key = identity.key_pem()});
    }
    const auto port = server_->listen("127.0.0.1", 0, tls, Plain::kHttp1OrHttp2);
    ASSERT_TRUE(port.has_value());
    port_ = *port;
  }

  net::Loops loops_{2};
  EchoHandler handler_;
  std::unique_ptr<Server> server_;
  std::uint16_t port_ = 0;
};

}  // namespace cardea::http::testing
