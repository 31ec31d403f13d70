#include "app/explain_permissions_command.h"

#include <cstdio>
#include <string>

#include "app/command_line.h"
#include "app/known_resources.h"
#include "app/kube_client.h"
#include "app/permission_page.h"
#include "base/strings.h"

namespace cardea::app {
namespace {

constexpr char kUsage[] =
    "Usage:\n"
    "  cardea explain-permissions RESOURCE[.VERSION][.GROUP] [flags]\n"
    "  cardea explain-permissions --file CRD [RESOURCE]\n"
    "  cardea explain-permissions --all --markdown\n"
    "\n"
    "Prints every permission on the fields of a resource: the verb, the fields, where its "
    "parameter comes from, which other\n"
    "permissions cover it, and a rule that grants it. Built-in resources need no server; others "
    "are asked for at one, or read\n"
    "from a CustomResourceDefinition. Exits with 0, 1 when there is no such resource, 2 when it "
    "cannot tell.\n"
    "\n"
    "Flags:\n"
    "      --file FILE        a CustomResourceDefinition in YAML or JSON (may be repeated)\n"
    "      --kubeconfig FILE  how to reach the server (default: $KUBECONFIG, else ~/.kube/config)\n"
    "      --context NAME     which of its contexts (default: the current one)\n"
    "      --all              every built-in resource, and those of --file\n"
    "      --markdown         all as one page of Markdown: docs/permissions.md is made so\n";

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
  std::vector<std::string> files;
  ServerChoice choice;
  bool all = false, markdown = false, help = false;
  CommandLine line = CommandLine::read(
      argc, argv,
      {{"--file", [&](std::string v) { files.push_back(std::move(v)); }},
       {"--kubeconfig", [&](std::string v) { choice.kubeconfig = std::move(v); }},
       {"--context", [&](std::string v) { choice.context = std::move(v); }}},
      {{"--all", &all}, {"--markdown", &markdown}, {"--help", &help}, {"-h", &help}});
  if (help) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (line.wrong.empty() && markdown && !all) line.wrong = "`--markdown` needs `--all`";
  if (line.wrong.empty() && all && !line.words.empty()) line.wrong = "`--all` takes no resource";
  if (line.wrong.empty() && !all &&
      (line.words.size() > 1 || (line.words.empty() && files.size() != 1)))
    line.wrong = "one resource is wanted";
  if (!line.wrong.empty()) {
    std::fprintf(stderr, "cardea explain-permissions: %s\n%s", line.wrong.c_str(), kUsage);
    return 2;
  }
  KnownResources known;
  std::string word = line.words.empty() ? "" : line.words[0];
  for (const std::string& file : files) {
    auto name = known.add_file(file);
    if (!name) return cannot(name.error().message);
    if (word.empty()) word = *name;
  }
  if (all) {
    if (markdown)
      std::fputs(permissions_markdown(known.catalog()).c_str(), stdout);
    else
      print_all(known.catalog());
    return 0;
  }
  const catalog::Resource* r = known.find(word);
  if (!r && !files.empty())
    return cannot(
        cat("there is no resource `", word, "` in the given definitions, nor is it built in"), 1);
  if (!r) {
    auto server = KubeClient::make(choice);
    if (!server)
      return cannot(cat("`", word,
                        "` is not built in, and no server can be asked: ", server.error().message));
    auto target = find_target(**server, word);
    if (!target)
      return cannot(target.error().message, target.error().reason == Reason::kBadRequest ? 1 : 2);
    auto learned = known.learn(**server, *target);
    if (!learned) return cannot(learned.error().message);
    r = *learned;
    if (!r) return cannot(cat("there is no resource `", word, "`"), 1);
  }
  std::fputs(explain_permissions(*r).c_str(), stdout);
  return 0;
}

}  // namespace cardea::app
