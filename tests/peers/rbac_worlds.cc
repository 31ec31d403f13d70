// rbac_worlds [WORLDS] [REQUESTS] [FIRST_SEED]: prints random worlds, one per line as JSON, for
// another evaluator to check: roles, bindings and requests with Cardea's decisions, and rules that
// a user wants to grant with Cardea's refusals.
#include <cstdio>
#include <cstdlib>

#include "authz/rbac/escalation.h"
#include "authz/rbac/rbac_authorizer.h"
#include "authz/testing/random_worlds.h"
#include "json/print.h"

using namespace cardea;
using namespace cardea::authz::rbac;
using json::Value;

int main(int argc, char** argv) {
  auto number = [&](int i, int otherwise) { return argc > i ? std::atoi(argv[i]) : otherwise; };
  int worlds = number(1, 100), requests = number(2, 100), first = number(3, 0);
  for (int seed = first; seed < first + worlds; ++seed) {
    RandomWorld world(static_cast<std::uint64_t>(seed));
    auto policy = std::make_shared<RoleTable>();
    world.fill(*policy);
    Value asked = Value::array(), given = Value::array();
    for (int i = 0; i < requests; ++i) {
      RandomRequest r = world.request();
      authz::Decision d = decide(policy, r.attributes());
      Value groups = Value::array();
      for (const std::string& g : r.user.groups) groups.push_back(g);
      asked.push_back(Value::object({{"user", r.user.name},
                                     {"groups", groups},
                                     {"verb", r.verb},
                                     {"apiGroup", r.api_group},
                                     {"namespace", r.namespace_name},
                                     {"resource", r.resource},
                                     {"subresource", r.subresource},
                                     {"name", r.name},
                                     {"path", r.path},
                                     {"resourceRequest", r.is_resource_request},
                                     {"allowed", d.allowed()},
                                     {"reason", d.reason.text()}}));
      Value object = Value::object({{"rules", world.rules()}});
      auto refusal = check_escalation(*policy, {.user = r.user,
                                                .resource = "roles",
                                                .namespace_name = r.namespace_name,
                                                .request_name = "",
                                                .object = object});
      given.push_back(Value::object({{"user", r.user.name},
                                     {"groups", groups},
                                     {"namespace", r.namespace_name},
                                     {"rules", object["rules"]},
                                     {"refusal", refusal ? refusal->text : std::string()}}));
    }
    Value objects = Value::array();
    for (const Value& o : world.objects()) objects.push_back(o);
    std::puts(
        json::print(
            Value::object(
                {{"seed", seed}, {"objects", objects}, {"requests", asked}, {"gifts", given}}))
            .c_str());
  }
}
