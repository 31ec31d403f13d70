#include "admission/webhook/webhook_target.h"

#include "admission/plugins/service_address.h"
#include "base/strings.h"
#include "http/url.h"

namespace cardea::admission {
namespace {

using json::Value;

std::string host_and_port(const std::string& host, std::uint16_t port) {
  return host.find(':') == std::string::npos ? cat(host, ":", port) : cat("[", host, "]:", port);
}

std::string url_of(const Value& config) {
  const Value& service = config["service"];
  if (!service.is_object()) return std::string(config["url"].as_string());
  const std::int64_t port = service["port"].is_null() ? 443 : service["port"].as_int();
  const std::string_view path = service["path"].as_string();
  return cat("https://", service["name"].as_string(), ".", service["namespace"].as_string(),
             ".svc:", port, path.starts_with('/') ? "" : "/", path);
}

}  // namespace

Result<WebhookTarget> webhook_target(const Value& config, std::string_view query,
                                     const Objects& objects, const catalog::Catalog& catalog) {
  WebhookTarget out{.url = cat(url_of(config), query), .address = {}, .connect_host = {}};
  const auto url = http::parse_url(out.url);
  if (!url || !url->tls)
    return fail(
        internal_error(url ? std::string("the URL is not one of https") : url.error().message));
  out.address = host_and_port(url->host, url->port);
  const Value& service = config["service"];
  if (!service.is_object()) return out;
  const auto at = resolve_service(objects, catalog, service["namespace"].as_string(),
                                  service["name"].as_string(), url->port);
  if (!at) return fail(internal_error(cat("Post ", quoted(out.url), ": ", at.error().message)));
  out.connect_host = at->host;
  out.connect_port = at->port;
  out.address = host_and_port(at->host, at->port);
  return out;
}

Result<std::shared_ptr<http::Client>> webhook_client(const Value& config, const Outside& outside,
                                                     std::size_t largest_answer) {
  const auto cas = base64_decode(config["caBundle"].as_string());
  if (!cas)
    return fail(
        internal_error("could not get REST client: unable to load root certificates: unable to "
                       "parse bytes as PEM block"));
  auto tls = net::TlsClient::make({.server_cas = *cas});
  if (!tls)
    return fail(internal_error(
        cat("could not get REST client: unable to load root certificates: ", tls.error().message)));
  net::Dialer& dialer = config["service"].is_object() ? outside.service_dialer : outside.dialer;
  return std::make_shared<http::Client>(outside.loop, dialer, *tls,
                                        http::ClientOptions{.max_body = largest_answer});
}

}  // namespace cardea::admission
