#include "advice/permission_page.h"

#include <algorithm>
#include <map>

#include "base/strings.h"
#include "json/print.h"

namespace cardea::advice {

using catalog::Resource;
using json::Value;
using schema::Permission;
using Listed = schema::PermissionTree::Listed;

namespace {

bool is_written(const Resource& r) {
  return !r.storage_prefix.empty() &&
         (r.has_verb("create") || r.has_verb("update") || r.has_verb("patch"));
}

bool is_of_metadata(const Listed& listed) {
  return std::ranges::all_of(listed.fields, [](const auto& g) {
    return g.field == "metadata" || g.field.starts_with("metadata.");
  });
}

std::vector<std::string> fields_of(const Listed& listed) {
  std::vector<std::string> out;
  for (const auto& guarded : listed.fields) out.push_back(guarded.field);
  return out;
}

// Every permission that covers any of the fields too.
std::vector<std::string> enclosing_of(const Listed& listed) {
  std::vector<std::string> out;
  if (listed.permission->excluded) return out;
  for (const auto& guarded : listed.fields)
    for (const Permission* p : guarded.enclosing)
      if (std::string verb = schema::verb_pattern(*p); std::ranges::find(out, verb) == out.end())
        out.push_back(std::move(verb));
  return out;
}

std::string remark(const Listed& listed) {
  if (listed.permission->excluded)
    return "excluded: neither the verb of a request nor any other permission implies it";
  if (listed.permission->name == "identity") return "asked for by create alone";
  if (const std::string& map = listed.permission->map; !map.empty())
    return cat("added by the PermissionMap ", map);
  return "";
}

std::string code(std::string_view text) {
  return cat("`", text, "`");
}

std::string code_list(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& t : texts) out += cat(out.empty() ? "" : ", ", code(t));
  return out;
}

std::string table_row(const Listed& listed) {
  std::string parameter = parameter_text(*listed.permission), note = remark(listed);
  if (!note.empty()) parameter += cat(parameter.empty() ? "" : "; ", note);
  return cat("| ", code(schema::verb_pattern(*listed.permission)), " | ",
             code_list(fields_of(listed)), " | ", parameter, " | ", code_list(enclosing_of(listed)),
             " |\n");
}

constexpr std::string_view
    kTableHead = "| verb | fields | parameter | also covered by |\n|---|---|---|---|\n";

std::string example_block(const std::string& rules) {
  return cat("```json\n", rules, "```\n");
}

// The permissions that a resource has beyond those of every object.
struct Own {
  std::string table, rules;
};

// The rules that let a client write the fields: it reads the object too, before the write or in the
// answer.
std::vector<std::string> rules_for(const Resource& r, const Listed& listed) {
  std::vector<std::string> resources = written_through(r, listed), out,
                           verbs{std::string(schema::kGranularVerb),
                                 example_verb(*listed.permission)};
  if (listed.permission->name == "identity") return {rule_text(r.group, resources, verbs)};
  if (std::ranges::find(resources, r.name) == resources.end())
    out.push_back(rule_text(r.group, {r.name}, {"get"}));
  else
    verbs.insert(verbs.begin(), "get");
  out.push_back(rule_text(r.group, resources, verbs));
  return out;
}

Own own_permissions(const Resource& r) {
  Own out;
  for (const Listed& listed : r.permissions->list()) {
    if (is_of_metadata(listed)) continue;
    out.table += table_row(listed);
    // Once what several of them need.
    for (const std::string& rule : rules_for(r, listed))
      if (!out.rules.contains(cat(rule, "\n"))) out.rules += cat(rule, "\n");
  }
  return out;
}

constexpr std::string_view kIntroduction =
    "# The permissions on fields of every resource\n"
    "\n"
    "Written by `cardea explain-permissions --all --markdown` from the schemas that are compiled "
    "into the server; a test compares\n"
    "the two. [field-permissions.md](field-permissions.md) explains these permissions.\n"
    "`cardea explain-permissions RESOURCE` shows those of one resource, custom ones included.\n"
    "\n"
    "A rule grants a permission as a verb, together with the verb `granular`, and with `get`: "
    "clients read what they change. `[*]`\n"
    "stands for each value of a map and each item of a list. The last column names the more "
    "general permissions that cover the same fields.\n"
    "\n"
    "## Every object\n"
    "\n"
    "Custom resources too.\n"
    "\n";

}  // namespace

std::string parameter_text(const Permission& p) {
  std::string what;
  switch (p.source) {
    case Permission::Source::kNone:
      return "";
    case Permission::Source::kMapKey:
      what = "the key";
      break;
    case Permission::Source::kSetValue:
      what = "the item";
      break;
    case Permission::Source::kListKey:
      what = cat("the item's ", code(p.field));
      break;
    case Permission::Source::kValue:
      what = cat("the value at ", code(p.field), ", as it was and as it becomes");
      break;
    case Permission::Source::kSelf:
      what = "the value, as it becomes; nothing if the field is removed";
      break;
  }
  if (p.ancestor_depth) what += cat(" of ", code(p.ancestor));
  if (p.treatment == Permission::Treatment::kSlashPrefix) what += ", up to its first slash";
  if (p.treatment == Permission::Treatment::kExpression)
    what += cat(", as ", code(p.expression), " makes it");
  return what;
}

std::string example_verb(const Permission& p) {
  if (!p.has_parameter()) return cat(schema::kGranularPrefix, p.name);
  std::string_view parameter = p.treatment == Permission::Treatment::kSlashPrefix ? "example.com"
                               : p.field == "type"                                ? "Ready"
                                                                                  : "example";
  return cat(schema::kGranularPrefix, p.name, "(", parameter, ")");
}

std::vector<std::string> written_through(const Resource& r, const Listed& listed) {
  bool is_status = std::ranges::all_of(listed.fields, [](const auto& g) {
    return g.field == "status" || g.field.starts_with("status.");
  });
  if (is_status && r.subresource("status")) return {r.name + "/status"};
  if (listed.permission->name == "replicaCount" && r.subresource("scale"))
    return {r.name, r.name + "/scale"};
  return {r.name};
}

std::string rule_text(std::string_view group, const std::vector<std::string>& resources,
                      const std::vector<std::string>& verbs) {
  auto list = [](const std::vector<std::string>& texts) {
    std::string out;
    for (const std::string& t : texts) out += cat(out.empty() ? "" : ", ", json::print(Value(t)));
    return cat("[", out, "]");
  };
  return cat("{\"apiGroups\": ", list({std::string(group)}), ", \"resources\": ", list(resources),
             ", \"verbs\": ", list(verbs), "}");
}

std::string explain_permissions(const Resource& r) {
  std::string out = cat(r.qualified_name(), " (", r.kind, ", ", r.api_version(), ")\n");
  auto line = [&out](std::string_view label, const std::string& text) {
    if (!text.empty()) out += cat("    ", label, std::string(12 - label.size(), ' '), text, "\n");
  };
  for (const Listed& listed : r.permissions->list()) {
    out += cat("\n", schema::verb_pattern(*listed.permission), "\n");
    bool first = true;
    for (const std::string& field : fields_of(listed)) {
      line(first ? "fields" : "", field);
      first = false;
    }
    std::string parameter = parameter_text(*listed.permission);
    std::erase(parameter, '`');
    line("parameter", parameter);
    line("covered by", join(enclosing_of(listed), ", "));
    line("note", remark(listed));
    for (const std::string& rule : rules_for(r, listed)) line("rule", rule);
  }
  out += cat("\nFields that are not listed are covered by the verb of the request alone: ",
             rule_text(r.group, {r.name}, {"create", "update", "patch"}), "\n");
  return out;
}

std::string permissions_markdown(const catalog::Catalog& catalog) {
  std::string out(kIntroduction);
  const Resource* any = catalog.find("apps", "v1", "deployments");
  out += kTableHead;
  for (const Listed& listed : any->permissions->list())
    if (is_of_metadata(listed)) out += table_row(listed);
  std::string rules;
  for (const Listed& listed : any->permissions->list())
    if (is_of_metadata(listed)) rules += cat(join(rules_for(*any, listed), "\n"), "\n");
  out += cat("\n", example_block(rules));

  std::vector<std::string> plain;
  for (const catalog::Group& group : catalog.groups()) {
    struct Shown {
      const Resource* first;
      Own own;
      std::vector<std::string> versions;
    };
    std::vector<Shown> shown;
    for (const catalog::Version& version : group.versions)
      for (const Resource* r : version.resources) {
        if (!is_written(*r)) continue;
        Own own = own_permissions(*r);
        // Versions of a resource that have the same permissions are one entry.
        auto at = std::ranges::find_if(shown, [&](const Shown& s) {
          return s.first->name == r->name && s.own.table == own.table;
        });
        if (at == shown.end()) at = shown.insert(at, {r, std::move(own), {}});
        at->versions.push_back(version.name);
      }
    std::ranges::stable_sort(shown, {}, [](const Shown& s) { return s.first->name; });
    std::string text;
    for (const Shown& s : shown) {
      if (s.own.table.empty()) {
        plain.push_back(s.first->qualified_name());
        continue;
      }
      text += cat("\n### ", s.first->name, "\n\n", s.first->kind, " in ", join(s.versions, ", "),
                  ".\n\n", kTableHead, s.own.table, "\n", example_block(s.own.rules));
    }
    if (!text.empty())
      out += cat("\n## ", group.name.empty() ? "The core group" : group.name, "\n", text);
  }
  std::ranges::sort(plain);
  plain.erase(std::unique(plain.begin(), plain.end()), plain.end());
  out +=
      "\n## Resources with only the permissions of every object\n\nAll fields except the metadata "
      "are covered only by the verb of the request.\n\n";
  for (const std::string& name : plain) out += cat("- ", code(name), "\n");
  return out;
}

}  // namespace cardea::advice
