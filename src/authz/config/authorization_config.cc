#include "authz/config/authorization_config.h"

#include <algorithm>
#include <set>

#include "authz/authorizer.h"
#include "base/strings.h"
#include "base/time_parse.h"
#include "json/parse.h"
#include "json/yaml.h"
#include "schema/wire/decode.h"
#include "schema/wire/file_shape.h"

namespace cardea::authz {

using json::Value;
using schema::Schema;

namespace {

constexpr std::size_t kMaxText = 3u << 20;
constexpr std::string_view kGroup = "apiserver.config.k8s.io";
constexpr std::string_view kKind = "AuthorizationConfiguration";

// The shape of the file. Its three versions differ in conditions, which only v1 has.
class Shape : public schema::FileShape {
 public:
  explicit Shape(bool with_conditions) {
    const Schema* text = scalar(Schema::Type::kString);
    const Schema* flag = scalar(Schema::Type::kBoolean);
    const Schema* condition = record("WebhookMatchCondition", {{"expression", text}});
    const Schema* connection = record("WebhookConnectionInfo",
                                      {{"type", text}, {"kubeConfigFile", text}});
    const Schema* review = record("WebhookConditionsReview",
                                  {{"version", text}, {"kubeConfigContextName", text}});
    Schema* webhook = record("WebhookConfiguration",
                             {{"authorizedTTL", text},
                              {"cacheAuthorizedRequests", flag},
                              {"unauthorizedTTL", text},
                              {"cacheUnauthorizedRequests", flag},
                              {"timeout", text},
                              {"subjectAccessReviewVersion", text},
                              {"matchConditionSubjectAccessReviewVersion", text},
                              {"failurePolicy", text},
                              {"connectionInfo", connection},
                              {"matchConditions", list_of(condition)}});
    if (with_conditions) {
      webhook->properties.push_back(
          {.name = "conditionsEndpointKubeConfigContext", .schema = text});
      webhook->properties.push_back({.name = "conditionsReview", .schema = review});
      std::ranges::sort(webhook->properties, {}, &schema::Property::name);
    }
    const Schema* authorizer = record("AuthorizerConfiguration",
                                      {{"type", text}, {"name", text}, {"webhook", webhook}});
    root_ = record(kKind,
                   {{"apiVersion", text}, {"kind", text}, {"authorizers", list_of(authorizer)}});
  }
};

std::unexpected<Error> bad(std::string message) {
  return fail(bad_request(std::move(message)));
}

Result<void> check_kind(const Value& document, std::string_view text) {
  std::string_view version = document["apiVersion"].as_string(),
                   kind = document["kind"].as_string();
  if (kind.empty()) return bad(cat("Object 'Kind' is missing in '", text, "'"));
  if (version.empty()) return bad(cat("Object 'apiVersion' is missing in '", text, "'"));
  for (std::string_view known : {"v1alpha1", "v1beta1", "v1"})
    if (version == cat(kGroup, "/", known) && kind == kKind) return {};
  return bad(cat("no kind ", quoted(kind), " is registered for version ", quoted(version)));
}

Result<std::chrono::nanoseconds> duration_in(const Value& value, std::string_view field) {
  if (value.is_null()) return std::chrono::nanoseconds(0);
  auto duration = parse_duration(value.as_string());
  if (!duration) return bad(cat(field, ": ", duration.error().message));
  return *duration;
}

Result<WebhookConfig> webhook_of(const Value& v) {
  WebhookConfig out;
  struct Row {
    std::string_view field;
    std::chrono::nanoseconds& to;
  };
  for (const Row& row :
       {Row{"authorizedTTL", out.authorized_ttl}, Row{"unauthorizedTTL", out.unauthorized_ttl},
        Row{"timeout", out.timeout}}) {
    auto duration = duration_in(v[row.field], row.field);
    if (!duration) return fail(duration.error());
    row.to = *duration;
  }
  if (v["cacheAuthorizedRequests"].is_bool())
    out.cache_authorized = v["cacheAuthorizedRequests"].as_bool();
  if (v["cacheUnauthorizedRequests"].is_bool())
    out.cache_unauthorized = v["cacheUnauthorizedRequests"].as_bool();
  out.review_version = v["subjectAccessReviewVersion"].as_string();
  out.match_condition_review_version = v["matchConditionSubjectAccessReviewVersion"].as_string();
  out.failure_policy = v["failurePolicy"].as_string();
  const Value& connection = v["connectionInfo"];
  out.connection_type = connection["type"].as_string();
  if (const Value* file = connection.find("kubeConfigFile"); file && file->is_string())
    out.kubeconfig_file = file->as_string();
  if (const Value* context = v.find("conditionsEndpointKubeConfigContext");
      context && context->is_string())
    out.conditions_context = context->as_string();
  if (const Value& review = v["conditionsReview"]; review.is_object())
    out.conditions_review = {std::string(review["version"].as_string()),
                             std::string(review["kubeConfigContextName"].as_string())};
  for (const Value& c : v["matchConditions"].items())
    out.match_conditions.emplace_back(c["expression"].as_string());
  return out;
}

void set_defaults(AuthorizationConfig& config) {
  using namespace std::chrono_literals;
  for (AuthorizerConfig& a : config.authorizers) {
    if (!a.webhook) continue;
    if (a.webhook->authorized_ttl == 0ns) a.webhook->authorized_ttl = 5min;
    if (a.webhook->unauthorized_ttl == 0ns) a.webhook->unauthorized_ttl = 30s;
  }
}

Result<json::Document> read_text(std::string_view text) {
  auto document = json::parse_configuration(text, kMaxText);
  if (!document && json::is_json_configuration(text))
    return bad(cat("couldn't get version/kind; json parse error: ", document.error().message));
  return document;
}

}  // namespace

std::vector<std::string> AuthorizationConfig::built_in_types() const {
  std::set<std::string> types;
  for (const AuthorizerConfig& a : authorizers)
    if (a.type != "Webhook") types.insert(a.type);
  return {types.begin(), types.end()};
}

Result<AuthorizationConfig> authorization_config_of(const Value& document) {
  AuthorizationConfig out;
  for (const Value& a : document["authorizers"].items()) {
    AuthorizerConfig one{std::string(a["type"].as_string()), std::string(a["name"].as_string()),
                         std::nullopt};
    if (a["webhook"].is_object()) {
      auto webhook = webhook_of(a["webhook"]);
      if (!webhook) return fail(webhook.error());
      one.webhook = std::move(*webhook);
    }
    out.authorizers.push_back(std::move(one));
  }
  return out;
}

Result<AuthorizationConfig> parse_authorization_config(std::string_view text) {
  if (text.empty()) return AuthorizationConfig{};
  if (text.size() > kMaxText)
    return bad(cat("the configuration is longer than ", kMaxText, " bytes"));
  auto document = read_text(text);
  if (!document) return fail(document.error());
  if (!document->value.is_object()) return bad("the configuration must be an object");
  if (auto ok = check_kind(document->value, text); !ok) return fail(ok.error());
  const Shape shape(document->value["apiVersion"].as_string() == cat(kGroup, "/v1"));
  bool is_json = trim(text).starts_with('{');
  auto decoded = schema::decode(shape.root(), *document, is_json ? text : std::string_view());
  if (!decoded) return fail(decoded.error());
  std::vector<std::string> strict = decoded->strict;
  if (!document->duplicate_lines.empty())
    strict.insert(strict.begin(),
                  cat("yaml: unmarshal errors:\n  ", join(document->duplicate_lines, "\n  ")));
  if (!strict.empty()) return bad(schema::strict_error(strict));
  auto config = authorization_config_of(decoded->value);
  if (config) set_defaults(*config);
  return config;
}

Result<AuthorizationConfig> load_authorization_config(std::string_view text,
                                                      std::span<const std::string> required_types,
                                                      const AuthorizerTypes& types) {
  auto config = parse_authorization_config(text);
  if (!config)
    return bad(
        cat("failed to load AuthorizationConfiguration from file: ", config.error().message));
  std::vector<std::string> problems;
  for (const json::FieldError& e : validate(*config, types)) problems.push_back(e.message());
  if (!problems.empty()) return bad(aggregated(problems));
  for (const AuthorizerConfig& a : config->authorizers)
    if (a.type != "Webhook" && a.name != lower(a.type))
      problems.push_back(
          cat("expected name ", lower(a.type), " for authorizer ", a.type, " instead of ", a.name));
  std::vector<std::string> present = config->built_in_types();
  std::set<std::string> missing;
  for (const std::string& type : required_types)
    if (!std::ranges::binary_search(present, type)) missing.insert(type);
  if (!missing.empty())
    problems.push_back(
        cat("missing required types: [", join({missing.begin(), missing.end()}, " "), "]"));
  if (!problems.empty()) return bad(aggregated(problems));
  return config;
}

}  // namespace cardea::authz
