#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "json/parse.h"
#include "rest/boot/api_server.h"
#include "store/testing/memory_store.h"

namespace cardea::rest {

// For tests: the server that `cardea serve` runs, without sockets and disk. It has a memory store,
// a clock that stands still, and an API client that may do everything. Made and used from the
// test's own thread.
//
// The plugin ServiceAccount is off, so that pods need no account; NodeRestriction is on.
class TestServer {
 public:
  // `plugins` come after all others; `more` are asked after the authorizer of system:masters.
  explicit TestServer(std::vector<std::unique_ptr<admission::Plugin>> plugins = {},
                      std::vector<std::shared_ptr<const authz::Authorizer>> more = {},
                      bool conditional_authorization = true)
      : server_(make(std::move(plugins), std::move(more), conditional_authorization)),
        api_(server_->gateway(), server_->chores(),
             {.name = "test", .groups = {std::string(authz::kMastersGroup)}}, "test") {}

  store::Store& store() { return server_->store(); }
  store::Store& store_below() { return *store_; }  // has only the containers of policies
  CatalogHolder& catalog() { return server_->catalog(); }
  Gateway& gateway() { return server_->gateway(); }
  Services& services() { return server_->services(); }
  // A second gateway of the same server, for clients with credentials.
  std::unique_ptr<Gateway> gateway_with(const authn::AuthenticatorChain& authenticators) {
    return server_->another_gateway(authenticators);
  }
  const Clock& clock() const { return clock_; }
  Metrics& metrics() { return metrics_; }
  net::Loop& loop() { return server_->chores(); }               // where controllers run
  net::Loop& request_loop() { return server_->loops().at(0); }  // where watches can be served
  const Loopback& api() const { return api_; }

  // One request and its answer. `body` is JSON text; empty for none.
  Loopback::Reply send(std::string method, std::string target, std::string_view body = "",
                       std::string content_type = "application/json") {
    json::Value document;
    if (!body.empty()) {
      auto parsed = json::parse(body);
      CARDEA_CHECK(parsed.has_value());
      document = std::move(*parsed);
    }
    return api_.send_and_wait(std::move(method), std::move(target), std::move(document),
                              std::move(content_type));
  }
  json::Value get(std::string target) { return send("GET", std::move(target)).body; }

  // Waits until `holds` is true. The time limit only ends a test that has failed.
  static bool eventually(const std::function<bool()>& holds) {
    auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > limit) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }
  bool eventually_gone(const std::string& target) {
    return eventually([&] { return send("GET", target).status == 404; });
  }

 private:
  std::unique_ptr<ApiServer> make(std::vector<std::unique_ptr<admission::Plugin>> plugins,
                                  std::vector<std::shared_ptr<const authz::Authorizer>> more,
                                  bool conditional_authorization) {
    more.insert(more.begin(), authz::masters_authorizer());
    auto chain = std::make_shared<authz::Chain>(std::move(more));
    auto server = ApiServer::make(
        {.store = *store_,
         .clock = clock_,
         .random = random_,
         .metrics = metrics_,
         .calls = calls_.at(0),
         .dialer = dialer_,
         .authenticators = authenticators_,
         .make_chain =
             [&](const auto&) { return std::make_shared<const authz::CurrentChain>(chain); },
         .features = {.conditional_authorization = conditional_authorization},
         .enabled_plugins = {"NodeRestriction"},
         .disabled_plugins = {"ServiceAccount"},
         .more_plugins = std::move(plugins),
         .request_loops = 1,
         .secret = "of a test",
         .server_id = "test-server",
         .decision_history = 8});
    CARDEA_CHECK(server.has_value());
    return std::move(*server);
  }

  FakeClock clock_{std::chrono::sys_days{std::chrono::year{2026} / 1 / 31}};
  SystemRandom random_;
  Metrics metrics_;
  net::Loops calls_{1};
  net::Dialer dialer_;
  std::unique_ptr<store::Store> store_ = store::make_memory_store(clock_);
  authn::AuthenticatorChain authenticators_{
      std::vector<std::shared_ptr<const authn::Authenticator>>()};
  std::unique_ptr<ApiServer> server_;
  Loopback api_;
};

}  // namespace cardea::rest
