#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "admission/plugins.h"
#include "json/parse.h"
#include "rest/boot/bootstrap.h"
#include "rest/catalog_holder.h"
#include "rest/definition_server.h"
#include "rest/gateway.h"
#include "rest/guards/content_guard.h"
#include "rest/loopback.h"
#include "rest/policy/canonicalizer.h"
#include "rest/policy/dry_deletion.h"
#include "rest/policy/guard.h"
#include "rest/policy/policy_store.h"
#include "rest/write/field_permissions.h"
#include "rest/write/service_network.h"
#include "store/testing/memory_store.h"

namespace cardea::rest {

// For tests: everything of a server but sockets and disk. A memory store, the built-in catalogue
// with its CustomResourceDefinitions served, the default admission plugins, the gateway, and an API
// client who may do everything. Made and used from the test's own thread.
class TestServer {
 public:
  // `plugins` come after the default ones; `more` are asked after system:masters has been let
  // through.
  explicit TestServer(std::vector<std::unique_ptr<admission::Plugin>> plugins = {},
                      std::vector<std::shared_ptr<const authz::Authorizer>> more = {},
                      bool conditional_authorization = false)
      : admission_(with_defaults(std::move(plugins))),
        authorizer_(std::make_shared<authz::Chain>(authorizers(std::move(more)))) {
    services_.conditional_authorization = conditional_authorization;
    definitions_.start();
  }
  ~TestServer() {
    definitions_.stop();
    watches_.stop();
  }

  store::Store& store() { return objects_; }
  store::Store& store_below() { return *store_; }  // where policy containers are all there is
  CatalogHolder& catalog() { return catalog_; }
  Gateway& gateway() { return gateway_; }
  Services& services() { return services_; }
  // Another door to the same server, for clients who bring credentials.
  std::unique_ptr<Gateway> gateway_with(const authn::AuthenticatorChain& authenticators) {
    return std::make_unique<Gateway>(services_, authenticators, description_, watches_);
  }
  const Clock& clock() const { return clock_; }
  Metrics& metrics() { return metrics_; }
  net::Loop& loop() { return loops_.at(0); }  // where controllers may work
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

  // Whether `holds` comes true. The limit only ends a test that has failed.
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
  static std::vector<std::shared_ptr<const authz::Authorizer>> authorizers(
      std::vector<std::shared_ptr<const authz::Authorizer>> more) {
    more.insert(more.begin(), authz::masters_authorizer());
    return more;
  }
  std::vector<std::unique_ptr<admission::Plugin>> with_defaults(
      std::vector<std::unique_ptr<admission::Plugin>> more) {
    auto list = std::move(admission::select_plugins(admission::Objects(objects_), authorizer_,
                                                    {"NodeRestriction"}, {"ServiceAccount"})
                              .value()
                              .plugins);
    list.push_back(policy::check_dry_deletion(objects_));
    for (auto& plugin : more) list.push_back(std::move(plugin));
    return list;
  }

  SystemClock clock_;
  SystemRandom random_;
  Metrics metrics_;
  std::unique_ptr<store::Store> store_ = store::make_memory_store(clock_);
  policy::PolicyStore objects_{*store_, clock_, random_, "master"};
  policy::PolicyGuard policies_{"master", nullptr};
  ContentGuard contents_;
  policy::PolicyCanonicalizer canonicalizer_{"master"};
  CatalogHolder catalog_{catalog::Catalog::builtin({"FineGrainedAuthorization"})};
  admission::Chain admission_;
  authz::CurrentChain authorizer_;
  authn::AuthenticatorChain authenticators_{
      std::vector<std::shared_ptr<const authn::Authenticator>>()};
  std::unique_ptr<authz::fields::UncoveredFeed>
      uncovered_ = authz::fields::UncoveredFeed::load(*store_).value();
  FieldPermissions field_permissions_{*uncovered_, metrics_.registry()};
  std::unique_ptr<ServiceNetwork>
      network_ = ServiceNetwork::make(*store_, random_, "10.0.0.0/24", "30000-32767").value();
  Services services_{.store = objects_,
                     .catalog = catalog_,
                     .admission = admission_,
                     .authorizer = authorizer_,
                     .clock = clock_,
                     .random = random_,
                     .metrics = metrics_,
                     .allocators = {network_.get()},
                     .guards = {&policies_, &contents_},
                     .canonicalizer = &canonicalizer_,
                     .field_permissions = &field_permissions_};
  net::Loops request_loops_{1};
  WatchHubs watches_{*store_, request_loops_};
  SelfDescription description_{catalog_, {.server_address = "127.0.0.1:6443"}};
  Gateway gateway_{services_, authenticators_, description_, watches_};
  net::Loops loops_{1};
  Loopback api_{gateway_,
                loops_.at(0),
                {.name = "test", .groups = {std::string(authz::kMastersGroup)}},
                "test"};
  DefinitionServer definitions_{*store_, catalog_, api_, clock_};
};

}  // namespace cardea::rest
