#include "app/policy_command.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "authz/namespace_policy/migrate.h"
#include "base/strings.h"
#include "feeds/catalog_kinds.h"
#include "json/yaml.h"

namespace cardea::app {
namespace {

About about() {
  return {"policy migrate",
          "Reads policy documents (Policy, PolicyBinding, Role, RoleBinding; YAML or JSON) and "
          "prints RBAC objects for what RBAC can express and access policies for the rest. Says on "
          "standard error what became of each document, and what is not the same afterwards. Exits "
          "with 0, with 1 when a document is not valid, and with 2 when a file cannot be read.",
          {"policy migrate [FILE...] [flags]"}};
}

constexpr std::size_t kMostBytes = 64 << 20;

// JSON objects may follow each other without anything between them.
void split_objects(std::string_view text, std::vector<std::string>& out) {
  int depth = 0;
  bool in_string = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '{' || c == '[') {
      if (depth++ == 0) begin = i;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      out.emplace_back(text.substr(begin, i + 1 - begin));
    }
  }
  if (depth > 0) out.emplace_back(text.substr(begin));
}

std::vector<std::string> split_documents(const std::string& text) {
  std::vector<std::string> parts(1), out;
  for (std::string_view line : split(text, '\n')) {
    if (line == "---" || line.starts_with("--- ") || line == "---\r")
      parts.emplace_back();
    else
      parts.back() += cat(line, "\n");
  }
  for (const std::string& part : parts) {
    std::string_view content = trim(part);
    if (content.empty()) continue;
    if (content.starts_with('{'))
      split_objects(content, out);
    else
      out.push_back(part);
  }
  return out;
}

// False: the error was printed already.
bool read(const std::string& name, std::vector<json::Value>& out) {
  std::string text;
  if (name == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    std::ifstream file(name, std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cardea policy: cannot read `%s`\n", name.c_str());
      return false;
    }
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  for (const std::string& part : split_documents(text)) {
    auto document = json::parse_strict_configuration(part, kMostBytes, json::FlowStyle::kAllowed);
    if (!document) {
      std::fprintf(stderr, "cardea policy: `%s`: %s\n", name.c_str(),
                   document.error().message.c_str());
      return false;
    }
    out.push_back(std::move(*document));
  }
  return true;
}

int migrate_documents(const std::vector<std::string>& files, const std::string& master) {
  std::vector<json::Value> documents;
  for (const std::string& f : files)
    if (!read(f, documents)) return 2;
  Snapshot<catalog::Catalog> catalog(catalog::Catalog::builtin());
  feeds::CatalogKinds kinds(catalog);
  json::FieldErrors errors;
  authz::namespace_policy::Migration done = authz::namespace_policy::migrate(documents, master,
                                                                             &kinds, errors);
  for (const json::FieldError& e : errors)
    std::fprintf(stderr, "cardea policy: %s\n", e.message().c_str());
  if (!errors.empty()) return 1;
  for (const json::Value& o : done.objects) std::printf("---\n%s", json::print_yaml(o).c_str());
  for (const std::string& n : done.notes) std::fprintf(stderr, "%s\n", n.c_str());
  for (const std::string& c : done.changes) std::fprintf(stderr, "changes: %s\n", c.c_str());
  if (done.changes.empty())
    std::fprintf(stderr, "nothing changes: the objects decide as the policies did\n");
  return 0;
}

}  // namespace

int policy_migrate_command(int argc, char** argv) {
  std::vector<std::string> files;
  std::string master(authz::namespace_policy::kDefaultMaster);
  CommandLine line(about());
  line.words("FILE", files, "a file of documents (default: standard input, as for `-`)");
  line.value("--master-namespace", master, "NAMESPACE",
             cat("whose roles may be bound from every namespace (default: ", master, ")"));
  if (auto status = line.read(argc, argv)) return *status;
  if (files.empty()) files.emplace_back("-");
  return migrate_documents(files, master);
}

}  // namespace cardea::app
