#include "app/suggest_role_command.h"

#include <cstdio>
#include <string>

#include "advice/logged_changes.h"
#include "advice/suggested_role.h"
#include "app/command_line.h"
#include "app/known_resources.h"
#include "app/kube_client.h"
#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"

namespace cardea::app {
namespace {

using advice::LoggedChanges;
using advice::suggest_roles;

struct Options {
  std::vector<std::string> logs, files, excluded;
  std::string user, output = "yaml";
  ServerChoice server;
};

About about() {
  return {
      "suggest-role",
      "Reads an audit log (audit.k8s.io/v1 events, one JSON document in each line) and prints "
      "the smallest roles that cover what the user changed: without any one of their verbs, a "
      "change that the user made would be refused. Beside each rule stands the broader rule "
      "that can replace it. Reads and deletes are not about fields, and the roles do not cover "
      "them.\n\nEvents should be of level RequestResponse. What the command cannot tell exactly, "
      "it says on standard error. Exits with 0, with 1 when the user changed nothing, and with "
      "2 when the command cannot tell.",
      {"suggest-role --audit-log FILE --user NAME [flags]"}};
}

void declare(CommandLine& line, Options& o) {
  line.values("--audit-log", o.logs, "FILE",
              "the log; may be repeated, oldest first; `-` is standard input");
  line.value("--user", o.user, "NAME",
             "as the log names the user: jane, system:serviceaccount:default:bot");
  line.values("--file", o.files, "FILE",
              "a CustomResourceDefinition in YAML or JSON, for its permissions; may be repeated");
  line.values("--excluded", o.excluded, "VERB",
              "a verb that an UncoveredPermissionSet names; may be repeated");
  line.value("--kubeconfig", o.server.kubeconfig, "FILE",
             "asks this server about custom resources (default: no server is asked)");
  line.value("--context", o.server.context, "NAME",
             "which context of that file (default: the current one)");
  line.value("-o,--output", o.output, "FORMAT", "yaml or json (default: yaml)");
}

// What is wrong with the options together; empty when nothing is.
std::string_view problem(const Options& o) {
  if (o.logs.empty() || o.user.empty()) return "`--audit-log` and `--user` are required";
  if (o.output != "yaml" && o.output != "json") return "`--output` is yaml or json";
  return "";
}

int cannot(const std::string& why) {
  std::fprintf(stderr, "cardea suggest-role: %s\n", why.c_str());
  return 2;
}

// Finds resources, and asks a server about each of them once, where one may be asked.
class Finder {
 public:
  Finder(KnownResources& known, std::unique_ptr<KubeClient> server)
      : known_(known), server_(std::move(server)) {}

  const catalog::Resource* find(std::string_view group, std::string_view version,
                                std::string_view resource) {
    std::string word = cat(resource, ".", version, ".", group);
    const bool is_first = asked_.insert(word).second;
    const catalog::Resource* r = known_.find(group, version, resource);
    if (!is_first || (!server_ && r)) return r;
    // PermissionMaps may add permissions to those that are known.
    if (r) {
      (void)known_.learn(*server_, {.group = r->group,
                                    .version = r->version,
                                    .resource = r->name,
                                    .subresource = {},
                                    .kind = r->kind,
                                    .namespaced = r->namespaced});
      return known_.find(group, version, resource);
    }
    if (group.empty()) return nullptr;
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
  Options o;
  CommandLine line(about());
  declare(line, o);
  if (auto status = line.read(argc, argv)) return *status;
  if (auto wrong = problem(o); !wrong.empty()) return line.misuse(wrong);
  schema::ExcludedVerbs excluded;
  for (const std::string& verb : o.excluded) excluded.add(verb);
  KnownResources known;
  for (const std::string& file : o.files)
    if (auto name = known.add_file(file); !name) return cannot(name.error().message);
  std::unique_ptr<KubeClient> server;
  if (!o.server.kubeconfig.empty() || !o.server.context.empty()) {
    auto made = KubeClient::make(o.server);
    if (!made) return cannot(made.error().message);
    server = std::move(*made);
  }
  Finder finder(known, std::move(server));
  LoggedChanges changes(
      o.user,
      [&](auto group, auto version, auto resource) {
        return finder.find(group, version, resource);
      },
      std::move(excluded));
  for (const std::string& log : o.logs) {
    auto text = read_input(log);
    if (!text) return cannot(text.error().message);
    std::size_t number = 0;
    for (std::string_view row : split(*text, '\n')) {
      ++number;
      if (trim(row).empty()) continue;
      auto event = json::parse(row);
      if (!event || !event->is_object())
        return cannot(cat("`", log, "` line ", number, " is not an event: ",
                          event ? "it is not an object" : event.error().message));
      changes.take(*event);
    }
  }
  for (const std::string& note : changes.notes()) std::fprintf(stderr, "%s\n", note.c_str());
  if (changes.other_requests())
    std::fprintf(stderr,
                 "%zu other requests of `%s` are not about fields, and not part of the role\n",
                 changes.other_requests(), o.user.c_str());
  if (changes.changes().empty()) {
    std::fprintf(stderr, "cardea suggest-role: `%s` changed nothing in this log\n", o.user.c_str());
    return 1;
  }
  auto roles = suggest_roles(changes.changes());
  std::string text = o.output == "json" ? json::print(roles_json(roles, o.user)) + "\n"
                                        : roles_yaml(roles, o.user);
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace cardea::app
