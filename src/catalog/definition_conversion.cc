#include <set>

#include "base/strings.h"
#include "catalog/definition_spec.h"
#include "catalog/kinds/names.h"

namespace cardea::catalog {

using json::FieldErrors;
using json::Value;

namespace {

std::string_view text(const Value& object, std::string_view key) {
  return object[key].as_string();
}

void validate_webhook_url(std::string_view url, const Path& path, FieldErrors& out) {
  constexpr std::string_view kForm = "; desired format: https://host[/path]";
  std::string_view rest = url;
  std::string scheme;
  if (auto colon = rest.find(':'); colon != rest.npos && rest.find('/') > colon) {
    scheme = lower(rest.substr(0, colon));
    rest.remove_prefix(colon + 1);
  }
  auto cut = [&](char mark) {
    auto at = rest.find(mark);
    std::string_view tail = at == rest.npos ? std::string_view() : rest.substr(at + 1);
    rest = rest.substr(0, at);
    return tail;
  };
  std::string_view fragment = cut('#'), query = cut('?'), host, user;
  if (rest.starts_with("//")) {
    host = rest.substr(2, rest.find('/', 2) - 2);
    if (auto at = host.rfind('@'); at != host.npos) {
      user = host.substr(0, at);
      host.remove_prefix(at + 1);
    }
  }
  if (scheme != "https")
    out.push_back(
        json::invalid(path, scheme, cat("'https' is the only allowed URL scheme", kForm)));
  if (host.empty()) out.push_back(json::invalid(path, host, cat("host must be specified", kForm)));
  if (!user.empty())
    out.push_back(json::invalid(path, user, "user information is not permitted in the URL"));
  if (!fragment.empty())
    out.push_back(json::invalid(path, fragment, "fragments are not permitted in the URL"));
  if (!query.empty())
    out.push_back(json::invalid(path, query, "query parameters are not permitted in the URL"));
}

void validate_webhook_service(const Value& service, const Path& path, FieldErrors& out) {
  // Kubernetes exchanges the two names here.
  if (text(service, "namespace").empty()) out.push_back(json::required(path / "name"));
  if (text(service, "name").empty()) out.push_back(json::required(path / "namespace"));
  std::int64_t port = service["port"].is_null() ? 443 : service["port"].as_int();
  if (auto complaints = port_number(port); !complaints.empty())
    out.push_back(
        json::invalid(path / "port", port, cat("port is not valid: ", join(complaints, ", "))));
  std::string_view where = text(service, "path");
  if (where.empty() || where == "/") return;
  Path at = path / "path";
  if (where == "//") {
    out.push_back(json::invalid(at, where, "segment[0] may not be empty"));
    return;
  }
  if (where[0] != '/') out.push_back(json::invalid(at, where, "must start with a '/'"));
  std::string_view rest = where.substr(1);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  auto segments = split(rest, '/');
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].empty()) {
      out.push_back(json::invalid(at, where, cat("segment[", i, "] may not be empty")));
      continue;
    }
    for (const std::string& complaint : dns1123_subdomain(segments[i]))
      out.push_back(json::invalid(at, where, cat("segment[", i, "]: ", complaint)));
  }
}

void validate_review_versions(const Value& versions, const Path& path, FieldErrors& out) {
  if (versions.empty()) {
    out.push_back(json::required(path));
    return;
  }
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    std::string_view name = versions[i].as_string();
    if (!seen.insert(name).second) {
      out.push_back(json::invalid(path.index(i), name, "duplicate version"));
      continue;
    }
    for (const std::string& complaint : dns1035_label(name))
      out.push_back(json::invalid(path.index(i), name, complaint));
  }
  if (!seen.contains("v1") && !seen.contains("v1beta1"))
    out.push_back(json::invalid(path, versions, "must include at least one of v1, v1beta1"));
}

}  // namespace

void validate_conversion(const Value& conversion, const Path& path, FieldErrors& out) {
  std::string_view strategy = text(conversion, "strategy");
  if (strategy.empty())
    out.push_back(json::required(path / "strategy"));
  else if (strategy != "None" && strategy != "Webhook")
    out.push_back(json::not_supported(path / "strategy", strategy, {"None", "Webhook"}));
  const Value& webhook = conversion["webhook"];
  const Value& client = webhook["clientConfig"];
  const Value& reviews = webhook["conversionReviewVersions"];
  Path at = path / "webhookClientConfig";
  if (strategy != "Webhook") {
    constexpr const char* kDetail = "should not be set when strategy is not set to Webhook";
    if (!client.is_null()) out.push_back(json::forbidden(at, kDetail));
    if (!reviews.empty())
      out.push_back(json::forbidden(path / "conversionReviewVersions", kDetail));
    return;
  }
  if (client.is_null())
    out.push_back(json::required(at, "required when strategy is set to Webhook"));
  else if (client.has("url") == client.has("service"))
    out.push_back(json::required(at, "exactly one of url or service is required"));
  else if (client.has("url"))
    validate_webhook_url(text(client, "url"), at / "url", out);
  else
    validate_webhook_service(client["service"], at / "service", out);
  validate_review_versions(reviews, path / "conversionReviewVersions", out);
}

}  // namespace cardea::catalog
