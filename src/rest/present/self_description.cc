#include "rest/present/self_description.h"

#include <algorithm>

#include "base/strings.h"
#include "catalog/discovery.h"
#include "json/print.h"
#include "rest/catalog_holder.h"
#include "rest/present/status.h"

namespace cardea::rest {

using json::Value;

namespace {

// The names that Go has for this machine, which clients know.
constexpr std::string_view kPlatform =
#if defined(__x86_64__)
    "linux/amd64";
#elif defined(__aarch64__)
    "linux/arm64";
#else
    "linux/unknown";
#endif

Value version_document(const BuildInfo& build) {
  return Value::object({{"major", "1"},
                        {"minor", "36"},
                        {"emulationMajor", "1"},
                        {"emulationMinor", "36"},
                        {"minCompatibilityMajor", "1"},
                        {"minCompatibilityMinor", "35"},
                        {"gitVersion", "v1.36.3+cardea"},
                        {"gitCommit", build.commit},
                        {"gitTreeState", build.tree_state},
                        {"buildDate", build.date.empty() ? "1970-01-01T00:00:00Z" : build.date},
                        {"goVersion", "none: written in C++"},
                        {"compiler", "clang " __clang_version__},
                        {"platform", kPlatform}});
}

std::vector<std::string> group_paths(const catalog::Catalog& catalog) {
  std::vector<std::string> out;
  for (const catalog::Group& group : catalog.groups()) {
    if (group.name.empty()) continue;
    out.push_back(cat("/apis/", group.name));
    for (const catalog::Version& version : group.versions)
      out.push_back(cat("/apis/", group.name, "/", version.name));
  }
  std::ranges::sort(out);
  return out;
}

Answer plain_document(Value document) {
  Answer a = Answer::of(std::move(document));
  a.transforms = false;
  return a;
}

}  // namespace

namespace {

// A large document that the client may have already.
Answer published(const catalog::PublishedDocument& document, std::shared_ptr<const void> owner,
                 http::Request& request, std::string_view content_type) {
  Answer a;
  a.is_raw = true;
  a.content_type = content_type;
  a.headers.emplace_back("ETag", document.etag);
  a.headers.emplace_back("Vary", "Accept");
  if (document.matches(request.headers.get("if-none-match")))
    a.status = 304;
  else
    a.body = http::Body(http::Piece{std::move(owner), document.body});
  return a;
}

// Caches between may keep it, and ask whether it is current.
Answer shared(Answer answer) {
  answer.headers.emplace_back("Cache-Control", "public");
  return answer;
}

constexpr std::string_view
    kOpenApiProtobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

bool wants_openapi_protobuf(std::string_view accept) {
  return accept.find("application/com.github.proto-openapi.spec.v2@v1.0+protobuf") !=
             std::string_view::npos ||
         accept.find(kOpenApiProtobuf) != std::string_view::npos;
}

constexpr std::string_view
    kOpenApiV3Protobuf = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";

// The first of the two types that the client names counts.
bool wants_v3_protobuf(std::string_view accept) {
  const std::size_t at = std::min(
      accept.find(kOpenApiV3Protobuf),
      accept.find("application/com.github.proto-openapi.spec.v3@v1.0+protobuf"));
  return at != accept.npos && at < accept.find("application/json");
}

// Kubernetes refuses other types of these documents without a word.
std::optional<Answer> refused_type(std::string_view accept) {
  if (accepts(accept, "application/json") || accepts(accept, "application/*")) return std::nullopt;
  Answer a;
  a.status = 406;
  a.is_raw = true;
  a.headers.emplace_back("Vary", "Accept");
  return a;
}

}  // namespace

std::optional<Result<Answer>> SelfDescription::openapi(http::Request& request,
                                                       const authz::RequestInfo& info) {
  constexpr std::string_view kV3 = "/openapi/v3";
  auto catalog = catalog_.get();
  if (info.path == "/openapi/v2") {
    bool protobuf = wants_openapi_protobuf(request.headers.get("accept"));
    if (!protobuf)
      if (auto refused = refused_type(request.headers.get("accept"))) return std::move(*refused);
    auto document = merged_.openapi_v2(*catalog, protobuf);
    return published(*document, document, request,
                     protobuf ? kOpenApiProtobuf : "application/json");
  }
  if (info.path == kV3) {
    auto document = merged_.openapi_v3_index(*catalog);
    return published(*document, document, request, "text/plain; charset=utf-8");
  }
  if (!info.path.starts_with(cat(kV3, "/"))) return std::nullopt;
  const std::string_view path = std::string_view(info.path).substr(kV3.size() + 1);
  const bool protobuf = wants_v3_protobuf(request.headers.get("accept"));
  auto document = protobuf ? publication_.openapi_v3_protobuf(*catalog, path)
                           : publication_.openapi_v3(*catalog, path);
  if (!document) return std::nullopt;
  if (protobuf) return published(*document, document, request, kOpenApiV3Protobuf);
  if (auto refused = refused_type(request.headers.get("accept"))) return std::move(*refused);
  return published(*document, document, request, "application/json");
}

void SelfDescription::add_document(std::string path, std::string content_type, std::string body) {
  documents_.push_back({std::move(path), std::move(content_type), std::move(body)});
}

std::optional<Result<Answer>> SelfDescription::document(http::Request& request,
                                                        const authz::RequestInfo& info) {
  std::string_view path = info.path;
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  auto found = std::ranges::find(documents_, path, &Document::path);
  if (found == documents_.end()) return std::nullopt;
  if (request.method != "GET") return fail(method_not_allowed());
  if (!accepts(request.headers.get("accept"), found->content_type))
    return fail(not_acceptable(found->content_type));
  Answer a;
  a.is_raw = true;
  a.content_type = found->content_type;
  a.body = http::Body(http::Piece::literal(found->body));  // lives as long as we do
  a.headers.emplace_back("Cache-Control", "public, max-age=3600");
  return a;
}

std::optional<Result<Answer>> SelfDescription::discovery(http::Request& request,
                                                         const authz::RequestInfo& info) {
  auto catalog = catalog_.get();
  std::string_view path = info.path;
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  std::string_view accept = request.headers.get("accept");
  if (path == "/api" || path == "/apis") {
    switch (catalog::discovery_form(accept)) {
      case catalog::DiscoveryForm::kAggregated: {
        auto document = merged_.aggregated_discovery(*catalog, path == "/api", false);
        return shared(published(*document, document, request, catalog::kAggregatedDiscoveryType));
      }
      case catalog::DiscoveryForm::kAggregatedProtobuf: {
        auto document = merged_.aggregated_discovery(*catalog, path == "/api", true);
        return shared(published(*document, document, request, catalog::kAggregatedProtobufType));
      }
      case catalog::DiscoveryForm::kPlain:
        return plain_document(path == "/api" ? catalog::api_versions(options_.server_address)
                                             : merged_.group_list(*catalog));
      case catalog::DiscoveryForm::kNotAcceptable:
        break;
    }
    auto view = negotiate(accept, {.is_custom = path == "/apis"});
    return fail(view ? not_acceptable("application/json") : view.error());
  }
  auto parts = split(path.substr(1), '/');
  std::optional<Value> document;
  if (parts.size() == 2 && parts[0] == "api")
    document = catalog::resource_list(*catalog, "", parts[1]);
  if (parts.size() == 2 && parts[0] == "apis") document = merged_.group(*catalog, parts[1]);
  if (parts.size() == 3 && parts[0] == "apis")
    document = catalog::resource_list(*catalog, parts[1], parts[2]);
  if (!document) return std::nullopt;
  // The aggregated form exists for everything at once only.
  auto view = negotiate(accept, {.is_custom = parts[0] == "apis" && parts.size() == 2});
  if (!view) return fail(view.error());
  return plain_document(std::move(*document));
}

Format SelfDescription::format_of(const http::Request& request, const authz::RequestInfo& info) {
  std::string_view path = info.path;
  bool is_discovery = path == "/api" || path == "/apis" || path.starts_with("/api/") ||
                      path.starts_with("/apis/");
  if (!is_discovery) return Format::kJson;
  auto view = negotiate(request.headers.get("accept"), {});
  return view ? view->format : Format::kJson;
}

std::optional<Result<Answer>> SelfDescription::answer(http::Request& request,
                                                      const authz::RequestInfo& info) {
  if (auto a = health_.answer(info)) return std::move(*a);
  if (auto a = debug_pages_.answer(request, info)) return a;
  if (info.path.starts_with("/debug/") && debug_)
    if (auto page = debug_(info)) return text_answer(200, std::move(*page));
  if (auto a = document(request, info)) return a;
  bool reads = request.method == "GET" || request.method == "HEAD";
  if (info.path == "/version" || info.path == "/version/") {
    if (!reads) return fail(method_not_allowed());
    if (!accepts(request.headers.get("accept"), "application/json"))
      return fail(not_acceptable("application/json"));
    return plain_document(version_document(options_.build));
  }
  if (info.path == "/metrics") {
    Answer a = text_answer(200, metrics_ ? metrics_() : "");
    a.content_type = "text/plain; version=0.0.4; charset=utf-8";
    return a;
  }
  if (info.path == "/") {
    Value paths = Value::array();
    for (const Document& d : documents_)
      if (d.path < "/api") paths.push_back(d.path);
    for (auto p : {"/api", "/api/v1", "/apis"}) paths.push_back(p);
    for (const std::string& path : merged_.paths(group_paths(*catalog_.get())))
      paths.push_back(path);
    for (auto p : {"/flagz", "/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3"})
      paths.push_back(p);
    for (const Document& d : documents_)
      if (d.path > "/api") paths.push_back(d.path);
    for (auto p : {"/readyz", "/statusz", "/version"}) paths.push_back(p);
    return plain_document(Value::object({{"paths", paths}}));
  }
  auto found = openapi(request, info);
  if (!found) found = discovery(request, info);
  if (found && !reads) return fail(method_not_allowed());
  return found;
}

}  // namespace cardea::rest
