#include "app/explain_permissions_command.h"

#include <cstdio>
#include <string>

#include "advice/permission_page.h"
#include "app/command_line.h"
#include "app/known_resources.h"
#include "app/kube_client.h"
#include "base/strings.h"

namespace cardea::app {
namespace {

using advice::explain_permissions;
using advice::permissions_markdown;

struct Options {
  std::string resource;
  std::vector<std::string> files;
  ServerChoice server;
  bool all = false, markdown = false;
};

About about() {
  return {
      "explain-permissions",
      "Prints every permission on the fields of a resource: the verb, the fields, where its "
      "parameter comes from, which other permissions cover it, and a rule that grants it. "
      "Built-in resources need no server. The command asks a server about others, or reads a "
      "CustomResourceDefinition. With --kubeconfig or --context it asks about built-in ones too, "
      "and shows what PermissionMaps add. Exits with 0, with 1 when there is no such resource, and "
      "with "
      "2 when the command cannot tell.",
      {"explain-permissions RESOURCE[.VERSION][.GROUP] [flags]",
       "explain-permissions --file CRD [RESOURCE]", "explain-permissions --all --markdown"}};
}

void declare(CommandLine& line, Options& o) {
  line.word("RESOURCE", o.resource, "the plural, singular or short name of a resource");
  line.values("--file", o.files, "FILE",
              "a CustomResourceDefinition in YAML or JSON; may be repeated");
  declare_server(line, o.server);
  line.flag("--all", o.all, "prints every built-in resource, and those of --file");
  line.flag("--markdown", o.markdown, "prints one page of Markdown, such as docs/permissions.md");
}

// What is wrong with the options together; empty when nothing is.
std::string_view problem(const Options& o) {
  if (o.markdown && !o.all) return "`--markdown` needs `--all`";
  if (o.all && !o.resource.empty()) return "`--all` takes no resource";
  if (!o.all && o.resource.empty() && o.files.size() != 1) return "one resource is wanted";
  return "";
}

int cannot(const std::string& why, int status = 2) {
  std::fprintf(stderr, "cardea explain-permissions: %s\n", why.c_str());
  return status;
}

void print_all(const catalog::Catalog& catalog) {
  bool first = true;
  for (const catalog::Group& group : catalog.groups())
    for (const catalog::Version& version : group.versions)
      for (const catalog::Resource* r : version.resources) {
        if (r->storage_prefix.empty()) continue;
        std::printf("%s%s", first ? "" : "\n", explain_permissions(*r).c_str());
        first = false;
      }
}

}  // namespace

int explain_permissions_command(int argc, char** argv) {
  Options o;
  CommandLine line(about());
  declare(line, o);
  if (auto status = line.read(argc, argv)) return *status;
  if (auto wrong = problem(o); !wrong.empty()) return line.misuse(wrong);
  KnownResources known;
  std::string word = o.resource;
  for (const std::string& file : o.files) {
    auto name = known.add_file(file);
    if (!name) return cannot(name.error().message);
    if (word.empty()) word = *name;
  }
  if (o.all) {
    if (o.markdown)
      std::fputs(permissions_markdown(known.catalog()).c_str(), stdout);
    else
      print_all(known.catalog());
    return 0;
  }
  const catalog::Resource* r = known.find(word);
  if (!r && !o.files.empty())
    return cannot(
        cat("there is no resource `", word, "` in the given definitions, nor is it built in"), 1);
  const bool asks = !o.server.kubeconfig.empty() || !o.server.context.empty();
  if (!r || (asks && o.files.empty())) {
    auto server = KubeClient::make(o.server);
    if (!server)
      return cannot(cat("`", word,
                        "` is not built in, and no server can be asked: ", server.error().message));
    auto target = find_target(**server, word);
    if (!target)
      return cannot(target.error().message, target.error().reason == Reason::kNotFound ? 1 : 2);
    auto learned = known.learn(**server, *target);
    if (!learned) return cannot(learned.error().message);
    r = *learned;
    if (!r) return cannot(cat("there is no resource `", word, "`"), 1);
  }
  std::fputs(explain_permissions(*r).c_str(), stdout);
  return 0;
}

}  // namespace cardea::app
