#include "catalog/kinds/check.h"
#include "catalog/kinds/core/core_strategies.h"
#include "json/members.h"
#include "json/parse.h"

namespace cardea::catalog {
namespace {

constexpr std::size_t kMaxBytes = 1024 * 1024;
constexpr const char* kImmutable = "field is immutable when `immutable` is set";

std::string decoded(const Value& object, std::string_view key) {
  return base64_decode(object["data"][key].as_string()).value_or("");
}

void defaults(Value& object, const StrategyContext&) {
  default_to(object, "type", "Opaque");
  if (!object["stringData"].is_object()) return;
  // stringData is write-only: plain text that is merged over the encoded data.
  Value data = object["data"];
  if (data.is_null()) data = Value::object();
  std::vector<json::Member> encoded;
  for (const json::Member& m : object["stringData"].members())
    encoded.push_back({m.name, base64(m.value.as_string())});
  json::set_all(data, std::move(encoded));
  if (!data.empty()) object.set("data", std::move(data));
  object.erase("stringData");
}

void require_keys(const Value& object, std::initializer_list<std::string_view> keys,
                  FieldErrors& out) {
  for (std::string_view key : keys)
    if (!object["data"].has(key)) out.push_back(json::required(Path("data").key(key)));
}

void validate_json_key(const Value& object, std::string_view key, FieldErrors& out) {
  if (!object["data"].has(key)) return out.push_back(json::required(Path("data").key(key)));
  std::string_view redacted = "<secret contents redacted>";
  std::string text = decoded(object, key);
  auto parsed = json::parse(text);
  if (!parsed)
    out.push_back(
        json::invalid(Path("data").key(key), redacted,
                      text.empty() ? "unexpected end of JSON input" : parsed.error().message));
  else if (!parsed->is_object() && !parsed->is_null())
    out.push_back(json::invalid(Path("data").key(key), redacted,
                                cat("json: cannot unmarshal ",
                                    parsed->is_array()    ? "array"
                                    : parsed->is_string() ? "string"
                                    : parsed->is_bool()   ? "bool"
                                                          : "number",
                                    " into Go value of type map[string]interface {}")));
}

void validate_type(const Value& object, FieldErrors& out) {
  std::string_view type = text(object, "type");
  if (type == "kubernetes.io/service-account-token") {
    constexpr const char* kName = "kubernetes.io/service-account.name";
    if (text(object["metadata"]["annotations"], kName).empty())
      out.push_back(json::required(Path("metadata.annotations").key(kName)));
  } else if (type == "kubernetes.io/dockercfg") {
    validate_json_key(object, ".dockercfg", out);
  } else if (type == "kubernetes.io/dockerconfigjson") {
    validate_json_key(object, ".dockerconfigjson", out);
  } else if (type == "kubernetes.io/basic-auth") {
    if (!object["data"].has("username") && !object["data"].has("password"))
      require_keys(object, {"username", "password"}, out);
  } else if (type == "kubernetes.io/ssh-auth") {
    if (decoded(object, "ssh-privatekey").empty())
      out.push_back(json::required(Path("data").key("ssh-privatekey")));
  } else if (type == "kubernetes.io/tls") {
    require_keys(object, {"tls.crt", "tls.key"}, out);
  }
}

FieldErrors validate(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, true, name_is_dns_subdomain, out);
  std::size_t bytes = 0;
  for (const json::Member& m : object["data"].members()) {
    complain(Path("data").key(m.key()), m.key(), config_map_key(m.key()), out);
    auto content = base64_decode(m.value.as_string());
    bytes += content ? content->size() : 0;
  }
  if (bytes > kMaxBytes) out.push_back(json::too_long("data", kMaxBytes));
  validate_type(object, out);
  return out;
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext& context) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  validate_immutable(object["type"], old["type"], "type", out);
  if (old["immutable"].as_bool()) {
    if (!object["immutable"].as_bool()) out.push_back(json::forbidden("immutable", kImmutable));
    if (!semantically_equal(object["data"], old["data"]))
      out.push_back(json::forbidden("data", kImmutable));
  }
  for (auto& error : validate(object, context)) out.push_back(std::move(error));
  return out;
}

bool has_pem_block(const std::string& text) {
  std::size_t begin = text.find("-----BEGIN "),
              line_end = text.find("-----\n", begin == std::string::npos ? begin : begin + 11);
  if (begin == std::string::npos || line_end == std::string::npos) return false;
  std::size_t end = text.find("-----END ", line_end);
  if (end == std::string::npos) return false;
  std::string body;
  for (char c : text.substr(line_end + 6, end - line_end - 6))
    if (c != '\n' && c != '\r' && c != ' ') body += c;
  return base64_decode(body).has_value();
}

// The errors that a TLS server would report for the pair at its start, as far as they can be found
// without reading certificates.
std::vector<std::string> warnings(const Value& object, const Value*, const StrategyContext&) {
  if (text(object, "type") != "kubernetes.io/tls") return {};
  for (const auto& [key, noun] : {std::pair("tls.crt", "certificate"), std::pair("tls.key", "key")})
    if (!has_pem_block(decoded(object, key)))
      return {cat("tls: failed to find any PEM data in ", noun, " input")};
  return {};
}

std::string field(const Value& object, std::string_view name) {
  return name == "type" ? std::string(text(object, "type")) : "";
}

}  // namespace

const Strategy& secret_strategy() {
  static const Strategy strategy{
      .defaults = defaults,
      .validate_create = validate,
      .validate_update = validate_update,
      .warnings = warnings,
      .selectable_fields = {"type"},
      .selectable_field = field,
      .unknown_field = "field label not supported: {}",
  };
  return strategy;
}

}  // namespace cardea::catalog
