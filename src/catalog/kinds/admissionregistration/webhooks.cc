#include <algorithm>
#include <set>

#include "catalog/kinds/admissionregistration/admission_rules.h"
#include "catalog/kinds/label_selector.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

constexpr std::string_view kDesiredUrl = "desired format: https://host[/path]";

template <bool kMutating>
void defaults(Value& object, const StrategyContext&) {
  for (std::size_t i = 0; i < object["webhooks"].size(); ++i) {
    Value& hook = object.member("webhooks").item(i);
    set_default(hook, "failurePolicy", "Fail");
    set_default(hook, "matchPolicy", "Equivalent");
    set_default(hook, "namespaceSelector", Value::object());
    set_default(hook, "objectSelector", Value::object());
    set_default(hook, "timeoutSeconds", 10);
    if (kMutating) set_default(hook, "reinvocationPolicy", "Never");
    if (hook["clientConfig"]["service"].is_object())
      set_default(hook.member("clientConfig").member("service"), "port", 443);
    default_rules(hook, "rules");
  }
}

struct Url {
  std::string_view scheme, user, host, query, fragment;
};

Url parse_url(std::string_view text) {
  Url url;
  if (auto hash = text.find('#'); hash != text.npos) {
    url.fragment = text.substr(hash + 1);
    text = text.substr(0, hash);
  }
  if (auto mark = text.find('?'); mark != text.npos) {
    url.query = text.substr(mark + 1);
    text = text.substr(0, mark);
  }
  auto colon = text.find(':');
  if (colon != text.npos && text.substr(0, colon).find('/') == text.npos) {
    url.scheme = text.substr(0, colon);
    text = text.substr(colon + 1);
  }
  if (!text.starts_with("//")) return url;
  text.remove_prefix(2);
  url.host = text.substr(0, text.find('/'));
  if (auto at = url.host.rfind('@'); at != url.host.npos) {
    url.user = url.host.substr(0, at);
    url.host = url.host.substr(at + 1);
  }
  return url;
}

void validate_url(const Path& path, const Value& value, FieldErrors& out) {
  std::string_view text = value.as_string();
  if (text.starts_with(':')) {
    out.push_back(json::required(path, cat("url must be a valid URL: parse ", quoted(text),
                                           ": missing protocol scheme; ", kDesiredUrl)));
    return;
  }
  Url url = parse_url(text);
  if (url.scheme != "https")
    out.push_back(json::invalid(path, url.scheme,
                                cat("'https' is the only allowed URL scheme; ", kDesiredUrl)));
  if (url.host.empty())
    out.push_back(json::invalid(path, url.host, cat("host must be specified; ", kDesiredUrl)));
  if (!url.user.empty())
    out.push_back(json::invalid(path, url.user, "user information is not permitted in the URL"));
  if (!url.fragment.empty())
    out.push_back(json::invalid(path, url.fragment, "fragments are not permitted in the URL"));
  if (!url.query.empty())
    out.push_back(json::invalid(path, url.query, "query parameters are not permitted in the URL"));
}

void validate_service_path(const Path& path, const Value& value, FieldErrors& out) {
  std::string_view text = value.as_string();
  if (value.is_null() || text == "/" || text == "//") {
    if (text == "//") out.push_back(json::invalid(path, value, "segment[0] may not be empty"));
    return;
  }
  if (!text.starts_with('/')) out.push_back(json::invalid(path, value, "must start with a '/'"));
  std::string_view inner = text.empty() ? text : text.substr(1);
  if (inner.ends_with('/')) inner.remove_suffix(1);
  auto steps = split(inner, '/');
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].empty()) {
      out.push_back(json::invalid(path, value, cat("segment[", i, "] may not be empty")));
      continue;
    }
    for (const std::string& complaint : dns1123_subdomain(steps[i]))
      out.push_back(json::invalid(path, value, cat("segment[", i, "]: ", complaint)));
  }
}

void validate_client(const Path& path, const Value& client, FieldErrors& out) {
  const Value& url = client["url"];
  const Value& service = client["service"];
  if (url.is_null() == service.is_null()) {
    out.push_back(json::required(path, "exactly one of url or service is required"));
    return;
  }
  if (!url.is_null()) {
    validate_url(path / "url", url, out);
    return;
  }
  Path at = path / "service";
  if (service["name"].as_string().empty()) out.push_back(json::required(at / "name"));
  if (service["namespace"].as_string().empty()) out.push_back(json::required(at / "namespace"));
  for (const std::string& complaint : port_number(service["port"].as_int()))
    out.push_back(
        json::invalid(at / "port", service["port"], cat("port is not valid: ", complaint)));
  validate_service_path(at / "path", service["path"], out);
}

void validate_review_versions(const Path& path, const Value& versions, FieldErrors& out) {
  if (versions.empty()) {
    out.push_back(json::required(path, "must specify one of v1, v1beta1"));
    return;
  }
  std::set<std::string_view> seen;
  bool recognised = false;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    std::string_view version = versions[i].as_string();
    if (!seen.insert(version).second) {
      out.push_back(json::invalid(path.index(i), versions[i], "duplicate version"));
      continue;
    }
    complain(path.index(i), versions[i], dns1035_label(version), out);
    recognised |= version == "v1" || version == "v1beta1";
  }
  if (!recognised)
    out.push_back(json::invalid(path, versions, "must include at least one of v1, v1beta1"));
}

// The name of the hook has the form of a host name: hook.team.example.com.
void validate_name(const Path& path, const Value& name, FieldErrors& out) {
  std::string_view text = name.as_string();
  if (text.empty()) {
    out.push_back(json::required(path));
    return;
  }
  auto complaints = dns1123_subdomain(text);
  complain(path, name, complaints, out);
  if (complaints.empty() && std::ranges::count(text, '.') < 2)
    out.push_back(json::invalid(
        path, name, "should be a domain with at least three segments separated by dots"));
}

template <bool kMutating>
void validate_hook(const Path& path, const Value& hook, FieldErrors& out) {
  validate_name(path / "name", hook["name"], out);
  for (std::size_t i = 0; i < hook["rules"].size(); ++i)
    validate_rule(hook["rules"][i], (path / "rules").index(i), out);
  if (!hook["failurePolicy"].is_null())
    check_one_of(path / "failurePolicy", hook["failurePolicy"], {"Fail", "Ignore"}, out);
  if (!hook["matchPolicy"].is_null())
    check_one_of(path / "matchPolicy", hook["matchPolicy"], {"Equivalent", "Exact"}, out);
  const Value& effects = hook["sideEffects"];
  if (effects.is_null())
    out.push_back(json::required(path / "sideEffects", "must specify one of None, NoneOnDryRun"));
  else
    check_one_of(path / "sideEffects", effects, {"None", "NoneOnDryRun"}, out);
  const Value& timeout = hook["timeoutSeconds"];
  if (!timeout.is_null() && (timeout.as_int() < 1 || timeout.as_int() > 30))
    out.push_back(json::invalid(path / "timeoutSeconds", timeout,
                                "the timeout value must be between 1 and 30 seconds"));
  validate_label_selector(hook["namespaceSelector"], path / "namespaceSelector", out);
  validate_label_selector(hook["objectSelector"], path / "objectSelector", out);
  if (kMutating && !hook["reinvocationPolicy"].is_null())
    check_one_of(path / "reinvocationPolicy", hook["reinvocationPolicy"], {"IfNeeded", "Never"},
                 out);
  validate_client(path / "clientConfig", hook["clientConfig"], out);
  validate_review_versions(path / "admissionReviewVersions", hook["admissionReviewVersions"], out);
  validate_match_conditions(hook["matchConditions"], path / "matchConditions", false, out);
}

template <bool kMutating>
void validate_hooks(const Value& object, FieldErrors& out) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < object["webhooks"].size(); ++i) {
    const Value& hook = object["webhooks"][i];
    Path path = Path("webhooks").index(i);
    std::size_t before = out.size();
    validate_hook<kMutating>(path, hook, out);
    // The versions of reviews are reported last.
    std::stable_partition(out.begin() + static_cast<std::ptrdiff_t>(before), out.end(),
                          [&](const json::FieldError& e) {
                            return e.field.find(".admissionReviewVersions") == std::string::npos;
                          });
    if (!hook["name"].as_string().empty() && !names.insert(hook["name"].as_string()).second)
      out.push_back(json::duplicate(path / "name", hook["name"]));
  }
}

template <bool kMutating>
FieldErrors validate(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, false, name_is_dns_subdomain, out);
  validate_hooks<kMutating>(object, out);
  return out;
}

template <bool kMutating>
FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  validate_hooks<kMutating>(object, out);
  return out;
}

template <bool kMutating>
const Strategy& configuration() {
  static const Strategy strategy{
      .defaults = defaults<kMutating>,
      .validate_create = validate<kMutating>,
      .validate_update = validate_update<kMutating>,
      .has_generation = true,
      .allow_unconditional_update = false,
  };
  return strategy;
}

}  // namespace

const Strategy& validating_webhook_configuration_strategy() {
  return configuration<false>();
}
const Strategy& mutating_webhook_configuration_strategy() {
  return configuration<true>();
}

}  // namespace cardea::catalog
