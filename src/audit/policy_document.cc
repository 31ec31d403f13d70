#include <algorithm>

#include "audit/policy.h"
#include "base/names.h"
#include "base/strings.h"
#include "json/parse.h"
#include "json/yaml.h"
#include "schema/wire/decode.h"
#include "schema/wire/file_shape.h"

namespace cardea::audit {

using json::Value;
using schema::Schema;

namespace {

constexpr std::size_t kMaxText = 3u << 20;
constexpr std::string_view kVersion = "audit.k8s.io/v1";
constexpr std::string_view kKind = "Policy";

std::vector<std::string> all_levels() {
  return {"None", "Metadata", "Request", "RequestResponse"};
}
std::vector<std::string> all_stages() {
  return {"RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"};
}

std::unexpected<Error> bad(std::string message) {
  return fail(bad_request(std::move(message)));
}

// The shape of the file.
class Shape : public schema::FileShape {
 public:
  Shape() {
    const Schema* text = scalar(Schema::Type::kString);
    const Schema* flag = scalar(Schema::Type::kBoolean);
    const Schema* texts = list_of(text);
    const Schema* resources = record(
        "GroupResources", {{"group", text}, {"resources", texts}, {"resourceNames", texts}});
    const Schema* rule = record("PolicyRule", {{"level", text},
                                               {"users", texts},
                                               {"userGroups", texts},
                                               {"verbs", texts},
                                               {"resources", list_of(resources)},
                                               {"namespaces", texts},
                                               {"nonResourceURLs", texts},
                                               {"omitStages", texts},
                                               {"omitManagedFields", flag}});
    Schema* metadata = nodes_.make();
    metadata->type = Schema::Type::kObject;
    metadata->preserve_unknown_fields = true;
    root_ = record(kKind, {{"apiVersion", text},
                           {"kind", text},
                           {"metadata", metadata},
                           {"rules", list_of(rule)},
                           {"omitStages", texts},
                           {"omitManagedFields", flag}});
  }
};

Result<void> check_kind(const Value& document) {
  std::string_view version = document["apiVersion"].as_string(),
                   kind = document["kind"].as_string();
  if (kind.empty()) return bad("failed decoding: Object 'Kind' is missing");
  if (version.empty()) return bad("failed decoding: Object 'apiVersion' is missing");
  if (version == kVersion && kind == kKind) return {};
  return bad(cat("failed decoding: no kind ", quoted(kind), " is registered for version ",
                 quoted(version)));
}

std::vector<std::string> texts_in(const Value& list) {
  std::vector<std::string> out;
  for (const Value& v : list.items()) out.emplace_back(v.as_string());
  return out;
}

PolicyDocument::Rule rule_in(const Value& v) {
  PolicyDocument::Rule out{.level = std::string(v["level"].as_string()),
                           .users = texts_in(v["users"]),
                           .user_groups = texts_in(v["userGroups"]),
                           .verbs = texts_in(v["verbs"]),
                           .namespaces = texts_in(v["namespaces"]),
                           .non_resource_urls = texts_in(v["nonResourceURLs"]),
                           .omit_stages = texts_in(v["omitStages"]),
                           .resources = {},
                           .omit_managed_fields = std::nullopt};
  for (const Value& r : v["resources"].items())
    out.resources.push_back({std::string(r["group"].as_string()), texts_in(r["resources"]),
                             texts_in(r["resourceNames"])});
  if (v["omitManagedFields"].is_bool()) out.omit_managed_fields = v["omitManagedFields"].as_bool();
  return out;
}

Value array_of(const std::vector<std::string>& texts) {
  Value out = Value::array();
  for (const std::string& t : texts) out.push_back(t);
  return out;
}

void check_stages(const std::vector<std::string>& stages, const std::string& at,
                  json::FieldErrors& errors) {
  const std::vector<std::string> known = all_stages();
  for (std::size_t i = 0; i < stages.size(); ++i)
    if (std::ranges::find(known, stages[i]) == known.end())
      errors.push_back(json::invalid(cat(at, "[", i, "]"), stages[i],
                                     cat("allowed stages are ", join(known, ","))));
}

void check_urls(const std::vector<std::string>& urls, const std::string& at,
                json::FieldErrors& errors) {
  for (std::size_t i = 0; i < urls.size(); ++i) {
    const std::string& url = urls[i];
    if (url == "*") continue;
    std::string place = cat(at, "[", i, "]");
    if (!url.starts_with('/'))
      errors.push_back(
          json::invalid(place, url, "non-resource URL rules must begin with a '/' character"));
    if (!url.empty() && url.find('*') < url.size() - 1)
      errors.push_back(json::invalid(
          place, url, "non-resource URL wildcards '*' must be the final character of the rule"));
  }
}

void check_resources(const std::vector<PolicyDocument::Resources>& list, const std::string& at,
                     json::FieldErrors& errors) {
  for (const PolicyDocument::Resources& r : list) {
    if (!r.group.empty() && r.group != "*")
      if (Problems problems = dns_subdomain_problems(r.group); !problems.empty())
        errors.push_back(json::invalid(at + ".group", r.group, join(problems, ",")));
    if (!r.resource_names.empty() && r.resources.empty())
      errors.push_back(json::invalid(at + ".resourceNames", array_of(r.resource_names),
                                     "using resourceNames requires at least one resource"));
  }
}

}  // namespace

Result<PolicyDocument> parse_policy(std::string_view text) {
  if (text.size() > kMaxText) return bad(cat("the policy is longer than ", kMaxText, " bytes"));
  bool is_json = json::is_json_configuration(text);
  auto document = json::parse_configuration(text, kMaxText);
  if (!document) return bad(cat("failed decoding: ", document.error().message));
  if (!document->value.is_object()) return bad("failed decoding: the policy must be an object");
  if (auto ok = check_kind(document->value); !ok) return fail(ok.error());
  const Shape shape;
  auto decoded = schema::decode(shape.root(), *document, is_json ? text : std::string_view());
  if (!decoded) return bad(cat("failed decoding: ", decoded.error().message));
  std::vector<std::string> strict = decoded->strict;
  if (!document->duplicate_lines.empty())
    strict.insert(strict.begin(),
                  cat("yaml: unmarshal errors:\n  ", join(document->duplicate_lines, "\n  ")));
  if (!strict.empty()) return bad(cat("failed decoding: ", schema::strict_error(strict)));
  PolicyDocument out;
  for (const Value& v : decoded->value["rules"].items()) out.rules.push_back(rule_in(v));
  out.omit_stages = texts_in(decoded->value["omitStages"]);
  out.omit_managed_fields = decoded->value["omitManagedFields"].as_bool();
  return out;
}

json::FieldErrors validate(const PolicyDocument& document) {
  json::FieldErrors errors;
  const std::vector<std::string> levels = all_levels();
  check_stages(document.omit_stages, "omitStages", errors);
  for (std::size_t i = 0; i < document.rules.size(); ++i) {
    const PolicyDocument::Rule& rule = document.rules[i];
    std::string at = cat("rules[", i, "]");
    if (rule.level.empty())
      errors.push_back(json::required(at + ".level"));
    else if (std::ranges::find(levels, rule.level) == levels.end())
      errors.push_back(json::not_supported(at + ".level", rule.level, levels));
    check_urls(rule.non_resource_urls, at + ".nonResourceURLs", errors);
    check_resources(rule.resources, at + ".resources", errors);
    check_stages(rule.omit_stages, at + ".omitStages", errors);
    if (!rule.non_resource_urls.empty() && (!rule.resources.empty() || !rule.namespaces.empty()))
      errors.push_back(
          json::invalid(at + ".nonResourceURLs", array_of(rule.non_resource_urls),
                        "rules cannot apply to both regular resources and non-resource URLs"));
  }
  return errors;
}

}  // namespace cardea::audit
