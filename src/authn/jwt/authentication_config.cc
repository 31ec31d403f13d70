#include "authn/jwt/authentication_config.h"

#include <filesystem>
#include <span>

#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"
#include "json/yaml.h"
#include "net/file_watch.h"

namespace cardea::authn {
namespace {

constexpr std::size_t kMaxConfigBytes = 8u << 20;

// What the document may look like: one row per field, in the terms of the Go types whose names
// clients see in errors.
struct Shape;
struct Field {
  std::string_view name;
  enum Type { kString, kBool, kStrings, kObject, kObjects } type;
  const Shape* shape = nullptr;
};
struct Shape {
  std::string_view go_name;
  std::span<const Field> fields;
};

constexpr Field kIssuerFields[] = {{"url", Field::kString},
                                   {"discoveryURL", Field::kString},
                                   {"certificateAuthority", Field::kString},
                                   {"audiences", Field::kStrings},
                                   {"audienceMatchPolicy", Field::kString},
                                   {"egressSelectorType", Field::kString}};
constexpr Shape kIssuer{"Issuer", kIssuerFields};
constexpr Field kClaimRuleFields[] = {{"claim", Field::kString},
                                      {"requiredValue", Field::kString},
                                      {"expression", Field::kString},
                                      {"message", Field::kString}};
constexpr Shape kClaimRule{"ClaimValidationRule", kClaimRuleFields};
constexpr Field kPrefixedFields[] = {
    {"claim", Field::kString}, {"prefix", Field::kString}, {"expression", Field::kString}};
constexpr Shape kPrefixed{"PrefixedClaimOrExpression", kPrefixedFields};
constexpr Field kUidFields[] = {{"claim", Field::kString}, {"expression", Field::kString}};
constexpr Shape kUid{"ClaimOrExpression", kUidFields};
constexpr Field kExtraFields[] = {{"key", Field::kString}, {"valueExpression", Field::kString}};
constexpr Shape kExtra{"ExtraMapping", kExtraFields};
constexpr Field kMappingFields[] = {{"username", Field::kObject, &kPrefixed},
                                    {"groups", Field::kObject, &kPrefixed},
                                    {"uid", Field::kObject, &kUid},
                                    {"extra", Field::kObjects, &kExtra}};
constexpr Shape kMappings{"ClaimMappings", kMappingFields};
constexpr Field kUserRuleFields[] = {{"expression", Field::kString}, {"message", Field::kString}};
constexpr Shape kUserRule{"UserValidationRule", kUserRuleFields};
constexpr Field kJwtFields[] = {{"issuer", Field::kObject, &kIssuer},
                                {"claimValidationRules", Field::kObjects, &kClaimRule},
                                {"claimMappings", Field::kObject, &kMappings},
                                {"userValidationRules", Field::kObjects, &kUserRule}};
constexpr Shape kJwt{"JWTAuthenticator", kJwtFields};
constexpr Field kConditionFields[] = {{"path", Field::kString}};
constexpr Shape kCondition{"AnonymousAuthCondition", kConditionFields};
constexpr Field kAnonymousFields[] = {{"enabled", Field::kBool},
                                      {"conditions", Field::kObjects, &kCondition}};
constexpr Shape kAnonymous{"AnonymousAuthConfig", kAnonymousFields};
constexpr Field kRootFields[] = {{"apiVersion", Field::kString},
                                 {"kind", Field::kString},
                                 {"jwt", Field::kObjects, &kJwt},
                                 {"anonymous", Field::kObject, &kAnonymous}};
constexpr Shape kRoot{"AuthenticationConfiguration", kRootFields};

// Holds a document against its shape. The first wrong type ends it; unknown fields are collected.
class ShapeCheck {
 public:
  void object(const json::Value& v, const Shape& shape, const std::string& path,
              const std::string& fields) {
    for (const json::Member& m : v.members()) {
      if (!problem.empty()) return;
      const std::string here = path.empty() ? std::string(m.key()) : cat(path, ".", m.key());
      const Field* field = nullptr;
      for (const Field& f : shape.fields)
        if (f.name == m.key()) field = &f;
      if (!field)
        unknown.push_back(cat("unknown field ", cardea::quoted(here)));
      else if (!m.value.is_null())
        value(m.value, *field, shape, here,
              fields.empty() ? std::string(m.key()) : cat(fields, ".", m.key()));
    }
  }
  std::vector<std::string> unknown;
  std::string problem;

 private:
  void wrong(const json::Value& v, const Shape& in, const std::string& fields,
             std::string_view go_type) {
    problem = cat("json: cannot unmarshal ", json::go_kind(v), " into Go struct field ", in.go_name,
                  ".", fields, " of type ", go_type);
  }
  void value(const json::Value& v, const Field& field, const Shape& in, const std::string& path,
             const std::string& fields) {
    switch (field.type) {
      case Field::kString:
        if (!v.is_string()) wrong(v, in, fields, "string");
        return;
      case Field::kBool:
        if (!v.is_bool()) wrong(v, in, fields, "bool");
        return;
      case Field::kStrings:
        if (!v.is_array()) return wrong(v, in, fields, "[]string");
        for (const json::Value& item : v.items())
          if (!item.is_string() && !item.is_null()) return wrong(item, in, fields, "string");
        return;
      case Field::kObject:
        if (!v.is_object()) return wrong(v, in, fields, cat("v1.", field.shape->go_name));
        return object(v, *field.shape, path, fields);
      case Field::kObjects:
        if (!v.is_array()) return wrong(v, in, fields, cat("[]v1.", field.shape->go_name));
        for (std::size_t i = 0; i < v.size(); ++i) {
          const json::Value& item = v[i];
          if (item.is_null()) continue;
          if (!item.is_object()) return wrong(item, in, fields, cat("v1.", field.shape->go_name));
          object(item, *field.shape, cat(path, "[", i, "]"), fields);
        }
    }
  }
};

std::string text(const json::Value& v) {
  return std::string(v.as_string());
}

PrefixedClaim prefixed(const json::Value& v) {
  PrefixedClaim out{
      .claim = text(v["claim"]), .prefix = std::nullopt, .expression = text(v["expression"])};
  if (v["prefix"].is_string()) out.prefix = text(v["prefix"]);
  return out;
}

JwtConfig jwt_config(const json::Value& v) {
  JwtConfig out;
  const json::Value& issuer = v["issuer"];
  out.issuer = {.url = text(issuer["url"]),
                .discovery_url = text(issuer["discoveryURL"]),
                .certificate_authority = text(issuer["certificateAuthority"]),
                .audiences = {},
                .audience_match_policy = text(issuer["audienceMatchPolicy"]),
                .egress_selector_type = text(issuer["egressSelectorType"])};
  for (const json::Value& audience : issuer["audiences"].items())
    out.issuer.audiences.push_back(text(audience));
  for (const json::Value& rule : v["claimValidationRules"].items())
    out.claim_rules.push_back({text(rule["claim"]), text(rule["requiredValue"]),
                               text(rule["expression"]), text(rule["message"])});
  const json::Value& mappings = v["claimMappings"];
  out.mappings.username = prefixed(mappings["username"]);
  out.mappings.groups = prefixed(mappings["groups"]);
  out.mappings.uid = prefixed(mappings["uid"]);
  for (const json::Value& extra : mappings["extra"].items())
    out.mappings.extra.push_back({text(extra["key"]), text(extra["valueExpression"])});
  for (const json::Value& rule : v["userValidationRules"].items())
    out.user_rules.push_back({text(rule["expression"]), text(rule["message"])});
  return out;
}

Result<json::Document> read_document(std::string_view text) {
  auto document = json::parse_configuration(text, kMaxConfigBytes);
  if (!document && json::is_json_configuration(text))
    return fail(bad_request(
        cat("couldn't get version/kind; json parse error: ", document.error().message)));
  return document;
}

constexpr std::string_view kGroup = "apiserver.config.k8s.io/";

Result<void> check_kind(const json::Value& root, std::string_view source) {
  if (!root.is_object() && !root.is_null())
    return fail(bad_request(cat(
        "couldn't get version/kind; json parse error: json: cannot unmarshal ", json::go_kind(root),
        R"( into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; )"
        R"(Kind string "json:\"kind,omitempty\"" })")));
  for (std::string_view field : {"apiVersion", "kind"})
    if (!root[field].is_null() && !root[field].is_string())
      return fail(
          bad_request(cat("couldn't get version/kind; json parse error: json: cannot unmarshal ",
                          json::go_kind(root[field]), " into Go struct field TypeMeta.", field,
                          " of type string")));
  const std::string_view version = root["apiVersion"].as_string(), kind = root["kind"].as_string();
  if (kind.empty()) return fail(bad_request(cat("Object 'Kind' is missing in '", source, "'")));
  if (version.empty())
    return fail(bad_request(cat("Object 'apiVersion' is missing in '", source, "'")));
  const std::string_view name = version.starts_with(kGroup) ? version.substr(kGroup.size()) : "";
  if (kind != "AuthenticationConfiguration" ||
      (name != "v1alpha1" && name != "v1beta1" && name != "v1"))
    return fail(bad_request(cat("no kind ", cardea::quoted(kind), " is registered for version ",
                                cardea::quoted(version))));
  return {};
}

}  // namespace

Result<AuthenticationConfig> load_authentication_config(std::string_view source) {
  if (source.empty()) return fail(bad_request("empty config data"));
  auto document = read_document(source);
  if (!document) return fail(std::move(document.error()));
  const json::Value& root = document->value;
  if (auto known = check_kind(root, source); !known) return fail(std::move(known.error()));
  ShapeCheck check;
  check.object(root, kRoot, "", "");
  if (!check.problem.empty()) return fail(bad_request(std::move(check.problem)));
  std::vector<std::string> strict;
  for (const std::string& line : document->duplicate_lines)
    strict.push_back(cat("yaml: unmarshal errors:\n  ", line));
  if (document->duplicate_lines.empty())
    for (const std::string& path : document->duplicates)
      strict.push_back(cat("duplicate field ", cardea::quoted(path)));
  strict.insert(strict.end(), check.unknown.begin(), check.unknown.end());
  if (!strict.empty()) return fail(bad_request(cat("strict decoding error: ", join(strict, ", "))));

  AuthenticationConfig config;
  for (const json::Value& jwt : root["jwt"].items()) config.jwt.push_back(jwt_config(jwt));
  if (const json::Value& anonymous = root["anonymous"]; anonymous.is_object()) {
    config.anonymous = AnonymousConfig{.enabled = anonymous["enabled"].as_bool(), .paths = {}};
    for (const json::Value& condition : anonymous["conditions"].items())
      config.anonymous->paths.push_back(text(condition["path"]));
  }
  return config;
}

Result<AuthenticationConfig> read_authentication_config(const std::string& file,
                                                        std::optional<std::string> text) {
  auto wrap = [&](const std::string& why) {
    return fail(bad_request(cat("failed to load authentication configuration from file ",
                                cardea::quoted(file), ": ", why)));
  };
  if (!text) {
    std::error_code problem;
    // As Go says it, which operators may look for.
    if (!std::filesystem::exists(file, problem))
      return wrap(cat("open ", file, ": no such file or directory"));
    auto read = net::read_whole_file(file);
    if (!read) return wrap(read.error().message);
    text = std::move(*read);
  }
  auto config = load_authentication_config(*text);
  if (!config) return wrap(config.error().message);
  return config;
}

Result<void> check_anonymous(const AuthenticationConfig& config, bool flag_given) {
  if (!config.anonymous || !flag_given) return {};
  return fail(
      bad_request("anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field "
                  "is configured in authentication configuration file"));
}

Result<void> check_anonymous_unchanged(const std::optional<AnonymousConfig>& before,
                                       const std::optional<AnonymousConfig>& after) {
  if (before == after) return {};
  return fail(bad_request("anonymous: Forbidden: changed from initial configuration file"));
}

namespace {

void put(json::Value& object, std::string_view key, const std::string& value) {
  if (!value.empty()) object.set(key, value);
}

json::Value document_of(const PrefixedClaim& c) {
  json::Value out = json::Value::object();
  put(out, "claim", c.claim);
  if (c.prefix) out.set("prefix", *c.prefix);
  put(out, "expression", c.expression);
  return out;
}

json::Value document_of(const JwtConfig& c) {
  json::Value issuer = json::Value::object();
  put(issuer, "url", c.issuer.url);
  put(issuer, "discoveryURL", c.issuer.discovery_url);
  put(issuer, "certificateAuthority", c.issuer.certificate_authority);
  for (const std::string& audience : c.issuer.audiences)
    issuer.member("audiences").push_back(audience);
  put(issuer, "audienceMatchPolicy", c.issuer.audience_match_policy);
  put(issuer, "egressSelectorType", c.issuer.egress_selector_type);
  json::Value out = json::Value::object({{"issuer", issuer}});
  for (const ClaimRule& rule : c.claim_rules) {
    json::Value r = json::Value::object();
    put(r, "claim", rule.claim);
    put(r, "requiredValue", rule.required_value);
    put(r, "expression", rule.expression);
    put(r, "message", rule.message);
    out.member("claimValidationRules").push_back(r);
  }
  json::Value mappings = json::Value::object();
  for (auto [name, claim] : {std::pair{"username", &c.mappings.username},
                             {"groups", &c.mappings.groups},
                             {"uid", &c.mappings.uid}})
    if (json::Value part = document_of(*claim); !part.empty()) mappings.set(name, part);
  for (const ExtraMapping& extra : c.mappings.extra)
    mappings.member("extra").push_back(
        json::Value::object({{"key", extra.key}, {"valueExpression", extra.value_expression}}));
  if (!mappings.empty()) out.set("claimMappings", mappings);
  for (const UserRule& rule : c.user_rules) {
    json::Value r = json::Value::object();
    put(r, "expression", rule.expression);
    put(r, "message", rule.message);
    out.member("userValidationRules").push_back(r);
  }
  return out;
}

}  // namespace

json::Value document_of(const AuthenticationConfig& config) {
  json::Value out = json::Value::object(
      {{"apiVersion", "apiserver.config.k8s.io/v1"}, {"kind", "AuthenticationConfiguration"}});
  for (const JwtConfig& jwt : config.jwt) out.member("jwt").push_back(document_of(jwt));
  if (config.anonymous) {
    json::Value anonymous = json::Value::object({{"enabled", config.anonymous->enabled}});
    for (const std::string& path : config.anonymous->paths)
      anonymous.member("conditions").push_back(json::Value::object({{"path", path}}));
    out.set("anonymous", anonymous);
  }
  return out;
}

}  // namespace cardea::authn
