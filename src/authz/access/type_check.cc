#include "authz/access/type_check.h"

#include <algorithm>
#include <map>

#include "authz/access/environment.h"
#include "base/strings.h"
#include "cel/environments.h"

namespace cardea::authz::access {
namespace {

constexpr std::size_t kMostChecked = 32;

// Declares the records of a graph of schemas, each node once.
class Declares {
 public:
  explicit Declares(cel::Environment& environment) : environment_(environment) {}

  std::string type_of(const schema::Schema* s) {
    using Type = schema::Schema::Type;
    if (!s) return "dyn";
    switch (s->type) {
      case Type::kString: return s->format == "date-time" || s->format == "byte" ? "dyn" : "string";
      case Type::kBoolean: return "bool";
      case Type::kInteger: return "int";
      case Type::kNumber: return "double";
      case Type::kArray: return cat("list(", type_of(s->items), ")");
      case Type::kObject: break;
      default: return "dyn";
    }
    if (s->preserve_unknown_fields) return "dyn";
    if (s->properties.empty()) return s->additional ? cat("map(string, ", type_of(s->additional), ")") : "dyn";
    auto known = names_.find(s);
    if (known != names_.end()) return known->second;
    std::string name = cat("served.T", names_.size());
    names_.emplace(s, "." + name);
    std::vector<std::pair<std::string, std::string>> fields;
    for (const schema::Property& p : s->properties) fields.emplace_back(p.name, type_of(p.schema));
    std::vector<std::pair<std::string_view, std::string_view>> views(fields.begin(), fields.end());
    environment_.record(name, std::move(views));
    return "." + name;
  }

 private:
  cel::Environment& environment_;
  std::map<const schema::Schema*, std::string> names_;
};

std::string first_issue(const cel::CompileError& error) { return error.issues.empty() ? error.text : error.issues[0].message; }

}  // namespace

std::vector<std::string> type_warnings(const Policy& policy, const json::Value& object, const catalog::Catalog& catalog) {
  std::vector<std::string> out;
  if (!policy.program()) return out;
  std::string_view text = object["spec"]["expression"].as_string();
  std::size_t checked = 0;
  for (const catalog::Group& group : catalog.groups())
    for (const catalog::Version& version : group.versions)
      for (const catalog::Resource* r : version.resources) {
        bool is_named = std::ranges::any_of(policy.rules(), [&](const rbac::PolicyRule& rule) {
          return std::ranges::find(rule.api_groups, group.name) != rule.api_groups.end() && std::ranges::find(rule.resources, r->name) != rule.resources.end();
        });
        if (!is_named || ++checked > kMostChecked) continue;
        cel::Environment environment = language_without_objects();
        std::string type = Declares(environment).type_of(r->schema);
        environment.variable("object", type).variable("oldObject", type);
        auto compiled = cel::compile(text, std::move(environment).share());
        if (!compiled) out.push_back(cat(r->api_version(), ", Kind=", r->kind, ": ", first_issue(compiled.error())));
      }
  return out;
}

}  // namespace cardea::authz::access
