#include "upstream/egress.h"

#include "base/strings.h"
#include "http/url.h"
#include "json/value.h"
#include "json/yaml.h"

namespace cardea::upstream {
namespace {

using json::Value;
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

constexpr std::size_t kMostEgressText = 1u << 20;

std::unexpected<Error> bad_egress(std::string message) {
  return fail(bad_request(std::move(message)));
}

Result<void> check_known(const Value& object, std::string_view where,
                         std::initializer_list<std::string_view> known) {
  if (!object.is_object()) return bad_egress(cat(where, " must be an object"));
  for (const json::Member& member : object.members())
    if (std::ranges::find(known, member.key()) == known.end())
      return bad_egress(cat(where, ": unknown field ", quoted(member.key())));
  return {};
}

Result<std::shared_ptr<const net::TlsClient>> tls_to_proxy(const Value& config,
                                                           const std::string& where,
                                                           const ReadFile& read) {
  if (auto ok = check_known(config, where, {"caBundle", "clientKey", "clientCert"}); !ok)
    return fail(ok.error());
  net::TlsClientConfig tls{
      .server_cas = {}, .certificates = {}, .key = {}, .protocols = {"http/1.1"}};
  const std::pair<const char*, std::string*> files[] = {
      {"caBundle", &tls.server_cas}, {"clientKey", &tls.key}, {"clientCert", &tls.certificates}};
  for (const auto& [name, into] : files) {
    const std::string_view path = config[name].as_string();
    if (path.empty()) continue;
    auto text = read(std::string(path));
    if (!text) return bad_egress(cat(where, ".", name, ": ", text.error().message));
    *into = std::move(*text);
  }
  if (tls.key.empty() != tls.certificates.empty())
    return bad_egress(cat(where, ": clientCert and clientKey go together"));
  auto made = net::TlsClient::make(tls);
  if (!made) return bad_egress(cat(where, ": ", made.error().message));
  return std::shared_ptr<const net::TlsClient>(std::move(*made));
}

Result<http::Proxy> tcp_proxy(const Value& tcp, const std::string& where, const ReadFile& read) {
  if (auto ok = check_known(tcp, where, {"url", "tlsConfig"}); !ok) return fail(ok.error());
  const auto url = http::parse_url(tcp["url"].as_string());
  if (!url) return bad_egress(cat(where, ".url: ", url.error().message));
  if (url->target != "/") return bad_egress(cat(where, ".url: a proxy has no path"));
  http::Proxy out{.host = url->host, .port = url->port};
  const bool has_tls = tcp["tlsConfig"].is_object();
  if (!url->tls && has_tls)
    return bad_egress(cat(where, ".tlsConfig: http is plain; the URL must begin with https://"));
  if (!url->tls) return out;
  if (!has_tls) return bad_egress(cat(where, ".tlsConfig: https needs it"));
  auto tls = tls_to_proxy(tcp["tlsConfig"], where + ".tlsConfig", read);
  if (!tls) return fail(tls.error());
  out.tls = std::move(*tls);
  return out;
}

Result<http::Proxy> unix_proxy(const Value& uds, const std::string& where) {
  if (auto ok = check_known(uds, where, {"udsName"}); !ok) return fail(ok.error());
  const std::string_view path = uds["udsName"].as_string();
  if (!path.starts_with('/')) return bad_egress(cat(where, ".udsName: must be an absolute path"));
  http::Proxy out{.host = {}};
  out.unix_socket = path;
  return out;
}

// Nothing: straight.
Result<std::optional<http::Proxy>> read_connection(const Value& connection,
                                                   const std::string& where, const ReadFile& read) {
  if (auto ok = check_known(connection, where, {"proxyProtocol", "transport"}); !ok)
    return fail(ok.error());
  const std::string_view protocol = connection["proxyProtocol"].as_string();
  const Value& transport = connection["transport"];
  if (protocol == "Direct") {
    if (!transport.is_null()) return bad_egress(cat(where, ".transport: Direct has none"));
    return std::nullopt;
  }
  if (protocol == "GRPC")
    return bad_egress(cat(where, ".proxyProtocol: GRPC is not served; run the proxy server with ",
                          "--mode=http-connect and say HTTPConnect here"));
  if (protocol != "HTTPConnect")
    return bad_egress(cat(where, ".proxyProtocol: must be HTTPConnect or Direct"));
  if (auto ok = check_known(transport, where + ".transport", {"tcp", "uds"}); !ok)
    return fail(ok.error());
  const Value& tcp = transport["tcp"];
  const Value& uds = transport["uds"];
  if (tcp.is_null() == uds.is_null())
    return bad_egress(cat(where, ".transport: one of tcp and uds must be there"));
  auto proxy = tcp.is_null() ? unix_proxy(uds, where + ".transport.uds")
                             : tcp_proxy(tcp, where + ".transport.tcp", read);
  if (!proxy) return fail(proxy.error());
  return std::optional(std::move(*proxy));
}

}  // namespace

std::unique_ptr<net::Dialer> dialer_through(const std::optional<http::Proxy>& proxy) {
  if (proxy) return std::make_unique<http::ProxyDialer>(*proxy);
  return std::make_unique<net::Dialer>();
}

Result<Egress> parse_egress(std::string_view text, const ReadFile& read) {
  auto document = json::parse_strict_configuration(text, kMostEgressText,
                                                   json::FlowStyle::kAllowed);
  if (!document) return fail(document.error());
  if (auto ok = check_known(*document, "the file", {"apiVersion", "kind", "egressSelections"}); !ok)
    return fail(ok.error());
  const std::string_view version = (*document)["apiVersion"].as_string();
  if ((*document)["kind"].as_string() != "EgressSelectorConfiguration" ||
      (version != "apiserver.k8s.io/v1beta1" && version != "apiserver.k8s.io/v1alpha1"))
    return bad_egress("an EgressSelectorConfiguration of apiserver.k8s.io/v1beta1 is expected");
  const Value& selections = (*document)["egressSelections"];
  if (!selections.is_array()) return bad_egress("egressSelections must be a list");
  Egress out;
  bool names_etcd = false;
  for (std::size_t i = 0; i < selections.size(); ++i) {
    const std::string where = cat("egressSelections[", i, "]");
    if (auto ok = check_known(selections[i], where, {"name", "connection"}); !ok)
      return fail(ok.error());
    const std::string_view name = selections[i]["name"].as_string();
    auto proxy = read_connection(selections[i]["connection"], where + ".connection", read);
    if (!proxy) return fail(proxy.error());
    bool* named = name == "cluster"        ? &out.names_cluster
                  : name == "controlplane" ? &out.names_control_plane
                  : name == "etcd"         ? &names_etcd
                                           : nullptr;
    if (!named)
      return bad_egress(
          cat(where, ".name: ", quoted(name), " is none of cluster, controlplane and etcd"));
    if (std::exchange(*named, true))
      return bad_egress(cat(where, ".name: ", quoted(name), " is there twice"));
    if (name == "cluster") out.cluster = std::move(*proxy);
    if (name == "controlplane") out.control_plane = std::move(*proxy);
    if (name == "etcd" && *proxy)
      return bad_egress(cat(where, ": etcd is called straight; only Direct is served"));
  }
  return out;
}

}  // namespace cardea::upstream
