#include "upstream/kubeconfig.h"

#include <cstdlib>
#include <filesystem>

#include "base/strings.h"
#include "http/url.h"
#include "json/yaml.h"
#include "net/file_watch.h"

namespace cardea::upstream {
namespace {

constexpr std::size_t kMaxBytes = 4u << 20;

std::unexpected<Error> wrong(std::string why) {
  return fail(bad_request("kubeconfig: " + std::move(why)));
}

// The `what` of the list entry called `name`: clusters, users and contexts are all kept so.
Result<json::Value> named(const json::Value& config, const char* list, const char* what,
                          std::string_view name) {
  for (const json::Value& entry : config[list].items())
    if (entry["name"].as_string() == name) return entry[what];
  return wrong(cat(what, " `", name, "` is not in `", list, "`"));
}

std::string absolute(const std::string& folder, std::string_view path) {
  std::filesystem::path p(path);
  return p.is_absolute() ? p.string() : (std::filesystem::path(folder) / p).string();
}

// Text that stands in the file itself (`x-data`, which wins) or in another one (`x`).
Result<void> text_of(const json::Value& from, const std::string& key, const std::string& folder,
                     std::string& into) {
  if (std::string_view data = from[key + "-data"].as_string(); !data.empty()) {
    auto bytes = base64_decode(data);
    if (!bytes) return wrong(cat("`", key, "-data` is not base64"));
    into = std::move(*bytes);
    return {};
  }
  if (std::string_view path = from[key].as_string(); !path.empty()) {
    auto text = net::read_whole_file(absolute(folder, path));
    if (!text) return fail(text.error());
    into = std::move(*text);
  }
  return {};
}

Result<void> read_cluster(const json::Value& cluster, const std::string& folder, Endpoint& into) {
  into.server = cluster["server"].as_string();
  if (into.server.empty()) return wrong("the cluster has no `server`");
  if (auto url = http::parse_url(into.server); !url) return wrong(url.error().message);
  if (std::string_view url = cluster["proxy-url"].as_string(); !url.empty()) {
    auto proxy = http::parse_proxy(url);
    if (!proxy) return wrong(cat("`proxy-url`: ", proxy.error().message));
    into.proxy = std::move(*proxy);
  }
  into.tls_server_name = cluster["tls-server-name"].as_string();
  into.tls.insecure_skip_verify = cluster["insecure-skip-tls-verify"].as_bool();
  if (auto ok = text_of(cluster, "certificate-authority", folder, into.tls.server_cas); !ok)
    return ok;
  if (into.tls.insecure_skip_verify && !into.tls.server_cas.empty())
    return wrong("a certificate authority and `insecure-skip-tls-verify` exclude each other");
  return {};
}

Result<void> read_user(const json::Value& user, const std::string& folder, Endpoint& into) {
  for (const char* plugin : {"exec", "auth-provider"})
    if (user.has(plugin)) return wrong(cat("credentials by `", plugin, "` are not supported"));
  if (auto ok = text_of(user, "client-certificate", folder, into.tls.certificates); !ok) return ok;
  if (auto ok = text_of(user, "client-key", folder, into.tls.key); !ok) return ok;
  if (into.tls.certificates.empty() != into.tls.key.empty())
    return wrong("a client certificate and its key go together");
  into.token = user["token"].as_string();
  if (std::string_view path = user["tokenFile"].as_string(); !path.empty()) {
    into.token_file = absolute(folder, path);
    auto text = net::read_whole_file(into.token_file);
    if (!text) return fail(text.error());
    into.token = trim(*text);
  }
  into.username = user["username"].as_string();
  into.password = user["password"].as_string();
  if (!into.username.empty() && !into.token.empty())
    return wrong("a token and a user name exclude each other");
  return {};
}

}  // namespace

Result<Endpoint> parse_kubeconfig(std::string_view text, const std::string& folder,
                                  std::string_view context) {
  auto document = json::parse_strict_configuration(text, kMaxBytes, json::FlowStyle::kAllowed);
  if (!document) return wrong(document.error().message);
  const json::Value& config = *document;
  if (!config.is_object()) return wrong("not a mapping");
  if (context.empty()) context = config["current-context"].as_string();
  if (context.empty()) return wrong("no `current-context`");
  auto chosen = named(config, "contexts", "context", context);
  if (!chosen) return fail(chosen.error());
  auto cluster = named(config, "clusters", "cluster", (*chosen)["cluster"].as_string());
  if (!cluster) return fail(cluster.error());
  Endpoint upstream;
  if (auto ok = read_cluster(*cluster, folder, upstream); !ok) return fail(ok.error());
  upstream.space = (*chosen)["namespace"].as_string();
  std::string_view name = (*chosen)["user"].as_string();
  if (name.empty()) return upstream;
  auto user = named(config, "users", "user", name);
  if (!user) return fail(user.error());
  if (auto ok = read_user(*user, folder, upstream); !ok) return fail(ok.error());
  return upstream;
}

Result<Endpoint> in_cluster_endpoint() {
  const char* host = std::getenv("KUBERNETES_SERVICE_HOST");
  const char* port = std::getenv("KUBERNETES_SERVICE_PORT");
  if (!host || !port)
    return wrong(
        "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and "
        "KUBERNETES_SERVICE_PORT must be defined");
  const std::string folder = "/var/run/secrets/kubernetes.io/serviceaccount/";
  std::string_view name = host;
  bool is_six = name.find(':') != std::string_view::npos;
  Endpoint upstream{.server = cat("https://", is_six ? "[" : "", name, is_six ? "]:" : ":", port),
                    .token_file = folder + "token"};
  auto token = net::read_whole_file(upstream.token_file);
  if (!token) return fail(token.error());
  upstream.token = trim(*token);
  auto authority = net::read_whole_file(folder + "ca.crt");
  if (!authority) return fail(authority.error());
  upstream.tls.server_cas = std::move(*authority);
  return upstream;
}

Result<Endpoint> read_kubeconfig(const std::string& path, std::string_view context) {
  auto text = net::read_whole_file(path);
  if (!text) return fail(text.error());
  auto upstream = parse_kubeconfig(*text, std::filesystem::path(path).parent_path().string(),
                                   context);
  if (!upstream) return fail(bad_request(cat("`", path, "`: ", upstream.error().message)));
  return upstream;
}

}  // namespace cardea::upstream
