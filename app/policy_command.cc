#include "app/policy_command.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "authz/namespace_policy/migrate.h"
#include "authz/namespace_policy/unknown_words.h"
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

About about_check() {
  return {
      "policy check",
      "Reads policy documents (Policy, PolicyBinding, Role, RoleBinding; YAML or JSON) and says "
      "what is wrong with them: errors, and unknown resources, verbs, API groups and fields, "
      "which most often are misspelled. Knows the resources that are built in: kinds of "
      "definitions are unknown here. Exits with 0, with 1 when there is something to say, and with "
      "2 when a file "
      "cannot be read.",
      {"policy check [FILE...] [flags]"}};
}

namespace documents = authz::namespace_policy;

// What there is to say about a document, one line each.
void check_document(const json::Value& document, std::string_view master,
                    const documents::KindNames& kinds, std::vector<std::string>& out) {
  const std::string kind = lower(document["kind"].as_string());
  if (kind.ends_with("list") || document["items"].is_array()) {
    for (const json::Value& item : document["items"].items())
      check_document(item, master, kinds, out);
    return;
  }
  std::string_view space = document["metadata"]["namespace"].as_string();
  if (space.empty()) space = document["namespace"].as_string();
  const documents::Place place{space, master};
  json::FieldErrors errors;
  std::vector<std::string> doubts;
  std::string name;
  const auto& groups = documents::ResourceGroups::built_in();
  auto take = [&](json::FieldErrors more) {
    errors.insert(errors.end(), more.begin(), more.end());
  };
  auto doubt = [&](const documents::Role& role, const std::string& at) {
    for (std::string& d : documents::unknown_words(role, at, kinds)) doubts.push_back(std::move(d));
  };
  if (kind == "policy") {
    documents::PolicyDocument p = documents::read_policy(document, place, errors);
    if (errors.empty()) take(documents::validate(p, place, groups));
    for (const auto& [key, role] : p.roles) doubt(role, cat("roles[", key, "]"));
    name = p.name;
  } else if (kind == "policybinding") {
    documents::PolicyBindingDocument p = documents::read_policy_binding(document, place, errors);
    if (errors.empty()) take(documents::validate(p, place));
    name = p.name;
  } else if (kind == "role") {
    documents::Role role = documents::read_role(document, place, "", errors);
    if (errors.empty()) take(documents::validate(role, place, "", groups));
    doubt(role, "");
    name = role.name;
  } else if (kind == "rolebinding") {
    documents::RoleBinding b = documents::read_role_binding(document, place, "", errors);
    if (errors.empty()) take(documents::validate(b, place, ""));
    name = b.name;
  } else {
    errors.push_back(json::not_supported(
        "kind", document["kind"], {"Policy", "PolicyBinding", "Role", "RoleBinding", "List"}));
  }
  const std::string which = cat(document["kind"].as_string(), " ", space, "/", name, ": ");
  for (const json::FieldError& e : errors) out.push_back(which + e.message());
  for (const std::string& d : doubts) out.push_back(which + d);
}

}  // namespace

int policy_check_command(int argc, char** argv) {
  std::vector<std::string> files;
  std::string master(documents::kDefaultMaster);
  CommandLine line(about_check());
  line.words("FILE", files, "a file of documents (default: standard input, as for `-`)");
  line.value("--master-namespace", master, "NAMESPACE",
             cat("whose roles may be bound from every namespace (default: ", master, ")"));
  if (auto status = line.read(argc, argv)) return *status;
  if (files.empty()) files.emplace_back("-");
  std::vector<json::Value> all;
  for (const std::string& f : files)
    if (!read(f, all)) return 2;
  Snapshot<catalog::Catalog> catalog(catalog::Catalog::builtin());
  feeds::CatalogKinds kinds(catalog);
  std::vector<std::string> said;
  for (const json::Value& document : all) check_document(document, master, kinds, said);
  for (const std::string& s : said) std::printf("%s\n", s.c_str());
  return said.empty() ? 0 : 1;
}

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
