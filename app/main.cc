#include <cstdio>
#include <string_view>

#include "app/can_i_command.h"
#include "app/cel_command.h"
#include "app/explain_permissions_command.h"
#include "app/jwt_authentication.h"
#include "app/policy_command.h"
#include "app/serve.h"
#include "app/suggest_role_command.h"

namespace {

constexpr char kUsage[] =
    "Cardea decides who may do what to a Kubernetes-style API.\n"
    "\n"
    "Usage:\n"
    "  cardea serve [flags]   run an API server (see `cardea serve --help`)\n"
    "  cardea can-i VERB RESOURCE   may I, and on which terms? (see `cardea can-i --help`)\n"
    "  cardea explain-permissions RESOURCE\n"
    "                         which permissions there are on its fields (see `cardea "
    "explain-permissions --help`)\n"
    "  cardea suggest-role --audit-log FILE --user NAME\n"
    "                         the smallest role for what somebody changed (see `cardea "
    "suggest-role --help`)\n"
    "  cardea cel eval EXPR   evaluate an expression (see `cardea cel`)\n"
    "  cardea migrate oidc-flags [flags]\n"
    "                         print the authentication configuration that --oidc-* flags mean\n"
    "  cardea policy migrate [FILE...]\n"
    "                         print what policy documents mean as RBAC objects and access "
    "policies\n"
    "  cardea version         print the version\n";

}  // namespace

int main(int argc, char** argv) {
  std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "serve") return cardea::app::serve(argc - 1, argv + 1);
  if (command == "migrate") return cardea::app::migrate_command(argc - 1, argv + 1);
  if (command == "can-i") return cardea::app::can_i_command(argc - 1, argv + 1);
  if (command == "explain-permissions")
    return cardea::app::explain_permissions_command(argc - 1, argv + 1);
  if (command == "suggest-role") return cardea::app::suggest_role_command(argc - 1, argv + 1);
  if (command == "policy") return cardea::app::policy_command(argc - 1, argv + 1);
  if (command == "cel") return cardea::app::cel_command(argc - 1, argv + 1);
  if (command == "version") {
    std::puts("cardea 0.1 (Kubernetes 1.36)");
    return 0;
  }
  if (command == "--help" || command == "-h" || command == "help") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (command.empty())
    std::fputs(kUsage, stderr);
  else
    std::fprintf(stderr, "cardea: unknown command `%s`; try `cardea --help`\n", argv[1]);
  return 2;
}
