#include "app/suggest_role_command.h"

#include <cstdio>
#include <string>

#include "advice/impersonation_use.h"
#include "advice/logged_changes.h"
#include "advice/suggested_role.h"
#include "app/command_line.h"
#include "app/known_resources.h"
#include "app/kube_client.h"
#include "app/progress.h"
#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"
#include "json/yaml.h"

namespace cardea::app {
namespace {

using advice::LoggedChanges;
using advice::suggest_roles;

struct Options {
  std::vector<std::string> logs, files, excluded;
  std::string user, output = "yaml";
  bool is_impersonation = false;
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
      "2 when the command cannot tell.\n\nWith --impersonation it says which senders still act as "
      "others by the verb `impersonate`, and prints the constrained roles, with their bindings, "
      "that would replace it. Events of level Metadata are enough. It exits with 1 when there are "
      "none.",
      {"suggest-role --audit-log FILE --user NAME [flags]",
       "suggest-role --impersonation --audit-log FILE [--user NAME]"}};
}

void declare(CommandLine& line, Options& o) {
  line.values("--audit-log", o.logs, "FILE",
              "the log; may be repeated, oldest first; `-` is standard input");
  line.value("--user", o.user, "NAME",
             "as the log names the user: jane, system:serviceaccount:default:bot");
  line.flag("--impersonation", o.is_impersonation,
            "roles that replace the verb `impersonate`, of all senders or of --user");
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
  if (o.is_impersonation && o.logs.empty()) return "`--audit-log` is required";
  if (!o.is_impersonation && (o.logs.empty() || o.user.empty()))
    return "`--audit-log` and `--user` are required";
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

// Reads the events of the logs, the oldest first. The error names the line.
Result<void> read_events(const std::vector<std::string>& logs,
                         const std::function<void(const json::Value&)>& take) {
  for (const std::string& log : logs) {
    auto text = read_input(log);
    if (!text) return fail(text.error());
    std::size_t number = 0;
    Progress progress(cat("reading ", log), Progress::Unit::kBytes);
    for (std::string_view row : split(*text, '\n')) {
      ++number;
      progress.show(static_cast<std::size_t>(row.data() - text->data()), text->size());
      if (trim(row).empty()) continue;
      auto event = json::parse(row);
      if (!event || !event->is_object())
        return fail(bad_request(cat("`", log, "` line ", number, " is not an event: ",
                                    event ? "it is not an object" : event.error().message)));
      take(*event);
    }
  }
  return {};
}

int suggest_constrained_roles(const Options& o) {
  advice::ImpersonationUse use(o.user);
  auto read = read_events(o.logs, [&](const json::Value& event) { use.take(event); });
  if (!read) return cannot(read.error().message);
  if (use.constrained() > 0)
    std::fprintf(stderr, "%zu requests use constrained impersonation already\n", use.constrained());
  for (const auto& [name, sender] : use.senders()) {
    std::vector<std::string> users(sender.users.begin(), sender.users.end());
    const std::size_t more = users.size() > 5 ? users.size() - 5 : 0;
    users.resize(users.size() - more);
    std::fprintf(stderr, "`%s` made %zu requests by the verb `impersonate`, as %s%s\n",
                 name.c_str(), sender.requests, join(users, ", ").c_str(),
                 more ? cat(" and ", more, " others").c_str() : "");
    if (sender.impossible > 0)
      std::fprintf(stderr, "  no constrained role allows %zu of them\n", sender.impossible);
  }
  if (use.senders().empty()) {
    std::fprintf(stderr,
                 "cardea suggest-role: nobody relies on the verb `impersonate` in this log\n");
    return 1;
  }
  json::Value list = json::Value::array({});
  std::string yaml;
  for (const json::Value& object : use.objects()) {
    yaml += cat(yaml.empty() ? "" : "---\n", json::print_yaml(object));
    list.push_back(object);
  }
  const json::Value whole = json::Value::object(
      {{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(list)}});
  std::fputs(o.output == "json" ? (json::print(whole) + "\n").c_str() : yaml.c_str(), stdout);
  return 0;
}

}  // namespace

int suggest_role_command(int argc, char** argv) {
  Options o;
  CommandLine line(about());
  declare(line, o);
  if (auto status = line.read(argc, argv)) return *status;
  if (auto wrong = problem(o); !wrong.empty()) return line.misuse(wrong);
  if (o.is_impersonation) return suggest_constrained_roles(o);
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
  auto read = read_events(o.logs, [&](const json::Value& event) { changes.take(event); });
  if (!read) return cannot(read.error().message);
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
