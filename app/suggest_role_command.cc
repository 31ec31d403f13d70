#include "app/suggest_role_command.h"

#include <cstdio>
#include <string>

#include "app/command_line.h"
#include "app/known_resources.h"
#include "app/kube_client.h"
#include "app/logged_changes.h"
#include "app/suggested_role.h"
#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"

namespace cardea::app {
namespace {

constexpr char kUsage[] =
    "Usage:\n"
    "  cardea suggest-role --audit-log FILE --user NAME [flags]\n"
    "\n"
    "Reads an audit log (audit.k8s.io/v1 events, one JSON document in each line) and prints the "
    "smallest roles that cover what\n"
    "the user changed: no verb can be taken away without refusing a change that was made. Beside "
    "each rule stands the broader\n"
    "one that it can replace. Reads and deletes are not about fields and are not part of it. "
    "Events should be of level\n"
    "RequestResponse; what cannot be told exactly is said on standard error. Exits with 0, 1 when "
    "the user changed nothing, 2\n"
    "when it cannot tell.\n"
    "\n"
    "Flags:\n"
    "      --audit-log FILE    may be repeated, oldest first; `-` is standard input\n"
    "      --user NAME         as the log names it: `jane`, `system:serviceaccount:default:bot`\n"
    "      --file FILE         a CustomResourceDefinition in YAML or JSON, for its permissions "
    "(may be repeated)\n"
    "      --excluded VERB     a verb that an UncoveredPermissionSet names (may be repeated)\n"
    "      --kubeconfig FILE   ask this server about custom resources (default: none is asked)\n"
    "      --context NAME      which of its contexts (default: the current one)\n"
    "      --output yaml|json  (default: yaml)\n";

int cannot(const std::string& why) {
  std::fprintf(stderr, "cardea suggest-role: %s\n", why.c_str());
  return 2;
}

// Finds custom resources at a server, where one may be asked. Each is asked for once.
class Finder {
 public:
  Finder(KnownResources& known, std::unique_ptr<KubeClient> server)
      : known_(known), server_(std::move(server)) {}

  const catalog::Resource* find(std::string_view group, std::string_view version,
                                std::string_view resource) {
    if (const catalog::Resource* r = known_.find(group, version, resource)) return r;
    std::string word = cat(resource, ".", version, ".", group);
    if (!asked_.insert(word).second || group.empty()) return nullptr;
    if (server_)
      if (auto target = find_target(*server_, word))
        if (auto learned = known_.learn(*server_, *target)) return *learned;
    std::fprintf(stderr, "%s: its schema is not known; --file or --kubeconfig would tell\n",
                 word.c_str());
    return nullptr;
  }

 private:
  KnownResources& known_;
  std::unique_ptr<KubeClient> server_;
  std::set<std::string> asked_;
};

}  // namespace

int suggest_role_command(int argc, char** argv) {
  std::vector<std::string> logs, files;
  std::string user, output = "yaml";
  schema::ExcludedVerbs excluded;
  ServerChoice choice;
  bool help = false;
  CommandLine line = CommandLine::read(
      argc, argv,
      {{"--audit-log", [&](std::string v) { logs.push_back(std::move(v)); }},
       {"--user", [&](std::string v) { user = std::move(v); }},
       {"--file", [&](std::string v) { files.push_back(std::move(v)); }},
       {"--excluded", [&](std::string v) { excluded.add(v); }},
       {"--kubeconfig", [&](std::string v) { choice.kubeconfig = std::move(v); }},
       {"--context", [&](std::string v) { choice.context = std::move(v); }},
       {"--output", [&](std::string v) { output = std::move(v); }},
       {"-o", [&](std::string v) { output = std::move(v); }}},
      {{"--help", &help}, {"-h", &help}});
  if (help) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (line.wrong.empty() && !line.words.empty())
    line.wrong = cat("`", line.words[0], "` is not understood");
  if (line.wrong.empty() && (logs.empty() || user.empty()))
    line.wrong = "`--audit-log` and `--user` are wanted";
  if (line.wrong.empty() && output != "yaml" && output != "json")
    line.wrong = "`--output` is yaml or json";
  if (!line.wrong.empty()) {
    std::fprintf(stderr, "cardea suggest-role: %s\n%s", line.wrong.c_str(), kUsage);
    return 2;
  }
  KnownResources known;
  for (const std::string& file : files)
    if (auto name = known.add_file(file); !name) return cannot(name.error().message);
  std::unique_ptr<KubeClient> server;
  if (!choice.kubeconfig.empty() || !choice.context.empty()) {
    auto made = KubeClient::make(choice);
    if (!made) return cannot(made.error().message);
    server = std::move(*made);
  }
  Finder finder(known, std::move(server));
  LoggedChanges changes(
      user,
      [&](auto group, auto version, auto resource) {
        return finder.find(group, version, resource);
      },
      std::move(excluded));
  for (const std::string& log : logs) {
    auto text = read_input(log);
    if (!text) return cannot(text.error().message);
    std::size_t number = 0;
    for (std::string_view row : split(*text, '\n')) {
      ++number;
      if (trim(row).empty()) continue;
      auto event = json::parse(row);
      if (!event || !event->is_object())
        return cannot(cat("`", log, "` line ", number,
                          " is no event: ", event ? "it is no object" : event.error().message));
      changes.take(*event);
    }
  }
  for (const std::string& note : changes.notes()) std::fprintf(stderr, "%s\n", note.c_str());
  if (changes.other_requests())
    std::fprintf(stderr,
                 "%zu other requests of `%s` are not about fields, and not part of the role\n",
                 changes.other_requests(), user.c_str());
  if (changes.changes().empty()) {
    std::fprintf(stderr, "cardea suggest-role: `%s` changed nothing in this log\n", user.c_str());
    return 1;
  }
  auto roles = suggest_roles(changes.changes());
  std::string text = output == "json" ? json::print(roles_json(roles, user)) + "\n"
                                      : roles_yaml(roles, user);
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace cardea::app
