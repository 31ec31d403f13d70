#pragma once
#include "base/strings.h"
#include "rest/controllers/controllers.h"
#include "rest/testing/test_server.h"

// Shared parts of the tests of controllers.
namespace cardea::rest {

inline constexpr char kTestCa[] = "-----BEGIN CERTIFICATE-----";

// Runs controllers on a TestServer until the end of the scope.
class RunningControllers {
 public:
  RunningControllers(TestServer& server, const std::vector<std::string>& names,
                     ServerIdentity identity = {}, std::vector<std::string> lasting = {})
      : controllers_({.store = server.store(),
                      .catalog = server.catalog(),
                      .gateway = server.gateway(),
                      .loop = server.loop(),
                      .clock = server.clock(),
                      .log = {}},
                     {.names = names,
                      .lasting = std::move(lasting),
                      .ca = kTestCa,
                      .identity = std::move(identity)}) {
    CARDEA_CHECK(controllers_.start().has_value());
  }

 private:
  Controllers controllers_;
};

inline void make_namespace(TestServer& server, std::string_view name) {
  Loopback::Reply reply = server.send("POST", "/api/v1/namespaces",
                                      cat(R"({"metadata":{"name":")", name, R"("}})"));
  CARDEA_CHECK(reply.ok());
}

}  // namespace cardea::rest
