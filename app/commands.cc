#include "app/commands.h"

#include <cstdio>
#include <string>
#include <vector>

#include "app/authn_command.h"
#include "app/backup_command.h"
#include "app/can_i_command.h"
#include "app/cel_command.h"
#include "app/command_line.h"
#include "app/completion_command.h"
#include "app/config_command.h"
#include "app/explain_command.h"
#include "app/explain_permissions_command.h"
#include "app/matrix_command.h"
#include "app/migrate_command.h"
#include "app/nearest.h"
#include "app/policy_command.h"
#include "app/serve.h"
#include "app/store_command.h"
#include "app/suggest_role_command.h"
#include "app/version_text.h"
#include "app/who_can_command.h"
#include "app/whoami_command.h"
#include "base/strings.h"

namespace cardea::app {
namespace {

int version_command(int argc, char** argv) {
  CommandLine line(
      {"version", "Prints the version of Cardea and of the Kubernetes it follows.", {}});
  if (auto status = line.read(argc, argv)) return *status;
  std::puts(version_text().c_str());
  return 0;
}

constexpr Command kCommands[] = {
    {"serve", "runs an API server", serve},
    {"can-i", "asks a server whether you may do something, and on which terms", can_i_command},
    {"explain", "explains a decision: what each authorizer says, and what would help",
     explain_command},
    {"who-can", "lists who may do something, and through what", who_can_command},
    {"whoami", "prints the user that a server takes you for", whoami_command},
    {"matrix", "prints what a user may do to each resource", matrix_command},
    {"explain-permissions", "lists the permissions on the fields of a resource",
     explain_permissions_command},
    {"suggest-role", "finds the smallest role for what a user changed", suggest_role_command},
    {"authn test", "checks a token as a server with a configuration would", authn_test_command},
    {"authn explain", "says what an authentication configuration means", authn_explain_command},
    {"config validate", "checks configuration files of the server", config_validate_command},
    {"cel eval", "evaluates an expression", cel_eval_command},
    {"cel conform", "runs files of cases for the expression language", cel_conform_command},
    {"migrate oidc-flags", "prints the authentication configuration that --oidc-* flags mean",
     migrate_oidc_flags_command},
    {"policy check", "prints what is wrong, or perhaps misspelled, in policy documents",
     policy_check_command},
    {"policy migrate", "prints what policy documents mean as RBAC objects and access policies",
     policy_migrate_command},
    {"store backup", "writes all objects of a server to a file", store_backup_command},
    {"store restore", "makes a server's store from a backup", store_restore_command},
    {"store copy", "copies all objects from one store to another", store_copy_command},
    {"store verify", "looks for damage in a server's database, or in a backup",
     store_verify_command},
    {"completion", "prints a script for your shell", completion_command},
    {"version", "prints the version", version_command},
};

// `name`, or what comes after it in a command of several words.
bool is_below(std::string_view command, std::string_view name) {
  return name.empty() || command == name ||
         (command.starts_with(name) && command[name.size()] == ' ');
}

const Command* find(std::string_view name) {
  for (const Command& c : kCommands)
    if (c.name == name) return &c;
  return nullptr;
}

bool is_group(std::string_view name) {
  for (const Command& c : kCommands)
    if (c.name != name && is_below(c.name, name)) return true;
  return false;
}

// The commands of the program, or those of a group such as `cel`.
void list(std::FILE* to, std::string_view group = "") {
  std::string text;
  if (group.empty()) text = "Cardea is access control for Kubernetes-style APIs.\n\n";
  text += cat("Usage:\n  cardea ", group, group.empty() ? "" : " ",
              "COMMAND [flags]\n\nCommands:\n");
  for (const Command& c : kCommands)
    if (is_below(c.name, group))
      text += cat("  ", c.name, std::string(24 - c.name.size(), ' '), c.summary, "\n");
  text += "\n`cardea COMMAND --help` and `cardea help COMMAND` say more about one command.\n";
  if (group.empty()) text += "`cardea --version` prints the version.\n";
  std::fputs(text.c_str(), to);
}

int unknown(std::string_view group, std::string_view word) {
  std::string name = cat("cardea", group.empty() ? "" : " ", group);
  std::vector<std::string> known;
  for (const Command& c : kCommands)
    if (is_below(c.name, group))
      known.emplace_back(c.name.substr(group.empty() ? 0 : group.size() + 1));
  std::string meant = did_you_mean(word, known);
  if (meant.empty()) meant = cat("; try `", name, " --help`");
  std::fprintf(stderr, "%s: unknown command `%s`%s\n", name.c_str(), std::string(word).c_str(),
               meant.c_str());
  return 2;
}

bool asks_for_help(std::string_view word) {
  return word == "--help" || word == "-h";
}

// The command that the first words name, with the rest of the line; or the message if there is
// none.
int dispatch(std::vector<char*> argv) {
  std::string name;
  std::size_t used = 0;
  for (; used < argv.size(); ++used) {
    std::string longer = cat(name, name.empty() ? "" : " ", argv[used]);
    if (!find(longer) && !is_group(longer)) break;
    name = std::move(longer);
    if (const Command* c = find(name))
      return c->run(static_cast<int>(argv.size() - used), argv.data() + used);
  }
  std::string_view next = used < argv.size() ? argv[used] : "";
  if (asks_for_help(next)) {
    list(stdout, name);
    return 0;
  }
  if (used < argv.size()) return unknown(name, next);
  list(stderr, name);
  return 2;
}

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}

int run(int argc, char** argv) {
  std::vector<char*> words(argv + 1, argv + argc);
  std::string_view first = words.empty() ? "" : words[0];
  if (first == "--version") {
    std::puts(version_text().c_str());
    return 0;
  }
  if (first == "__complete") return complete_words(argc - 1, argv + 1);
  if (first != "help") return dispatch(std::move(words));
  // `help COMMAND` is `COMMAND --help`.
  static char help[] = "--help";
  words.erase(words.begin());
  words.push_back(help);
  return dispatch(std::move(words));
}

}  // namespace cardea::app
