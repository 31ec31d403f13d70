#include "app/backend_options.h"

#include <CLI/CLI.hpp>

#include "app/data_directory.h"
#include "app/serving_options.h"
#include "base/strings.h"
#include "base/time_parse.h"

namespace cardea::app {
namespace {

// An empty name is an empty text.
Result<std::string> text_of(const std::string& file) {
  if (file.empty()) return std::string();
  return read_file(file);
}

}  // namespace

void declare_backends(CLI::App& app, BackendFlags& f) {
  constexpr const char* kGroup = "Kubelets, pods and services";
  auto text = [&](const char* name, std::string& to, const char* what, const char* help) {
    app.add_option(name, to, help)->type_name(what)->group(kGroup)->capture_default_str();
  };
  auto list = [&](const char* name, std::vector<std::string>& to, const char* help) {
    auto* option = app.add_option(name, to, help)->allow_extra_args(false);
    option->type_name("LIST")->group(kGroup);
    if (!to.empty()) option->default_str(join(to, ","));
  };
  text("--kubelet-client-certificate", f.certificate, "FILE",
       "the certificate that the server shows to kubelets (PEM)");
  text("--kubelet-client-key", f.key, "FILE", "the key of --kubelet-client-certificate");
  text("--kubelet-certificate-authority", f.authority, "FILE",
       "the CA of kubelets' certificates (PEM). Without it the server does not check them");
  list("--kubelet-preferred-address-types", f.address_types,
       "the types of a node's addresses, in the order in which the server looks for one");
  text("--kubelet-timeout", f.timeout, "DURATION", "how long a connection to a kubelet may take");
  list("--backend-address-exceptions", f.address_exceptions,
       "addresses and networks that the server connects to although they are loopback, link-local "
       "or a cloud's metadata service, such as 127.0.0.1/32");
  constexpr const char* kServers = "Other API servers";
  auto server_text = [&](const char* name, std::string& to, const char* help) {
    app.add_option(name, to, help)->type_name("FILE")->group(kServers);
  };
  server_text("--proxy-client-cert-file", f.proxy_certificate,
              "the certificate that the server shows to the servers of APIServices (PEM). Without "
              "it the server makes one, in --data-dir");
  server_text("--proxy-client-key-file", f.proxy_key, "the key of --proxy-client-cert-file");
  app.add_option("--enable-aggregator-routing", f.by_endpoints,
                 "call the endpoints of an APIService's service rather than its cluster IP")
      ->group(kServers)
      ->capture_default_str();
  app.add_option("--aggregator-reject-forwarding-redirect", f.refuses_redirects,
                 "answer 502 when such a server sends a client elsewhere")
      ->group(kServers)
      ->capture_default_str();
}

Result<BackendOptions> read_backends(const BackendFlags& f) {
  if (f.certificate.empty() != f.key.empty())
    return fail(bad_request("--kubelet-client-certificate and --kubelet-client-key go together"));
  if (f.proxy_certificate.empty() != f.proxy_key.empty())
    return fail(bad_request("--proxy-client-cert-file and --proxy-client-key-file go together"));
  auto timeout = parse_duration(f.timeout);
  if (!timeout || *timeout < std::chrono::milliseconds(1))
    return fail(bad_request(cat("--kubelet-timeout `", f.timeout, "` is not a positive duration")));
  BackendOptions out{
      .kubelet_client_certificate = f.certificate,
      .kubelet_client_key = f.key,
      .kubelet_certificate_authority = f.authority,
      .kubelet_preferred_address_types = flatten(f.address_types),
      .kubelet_timeout = std::chrono::duration_cast<std::chrono::milliseconds>(*timeout),
      .address_exceptions = flatten(f.address_exceptions),
      .proxy_client_certificate = f.proxy_certificate,
      .proxy_client_key = f.proxy_key,
      .by_endpoints = f.by_endpoints,
      .refuses_redirects = f.refuses_redirects};
  if (auto rules = rest::AddressRules::make(out.address_exceptions); !rules)
    return fail(bad_request(cat("--backend-address-exceptions: ", rules.error().message)));
  return out;
}

Result<std::unique_ptr<rest::Backends>> make_backends(const BackendOptions& o,
                                                      net::Dialer& dialer) {
  auto certificate = text_of(o.kubelet_client_certificate);
  if (!certificate) return fail(certificate.error());
  auto key = text_of(o.kubelet_client_key);
  if (!key) return fail(key.error());
  auto authority = text_of(o.kubelet_certificate_authority);
  if (!authority) return fail(authority.error());
  // Streams are HTTP/1.1.
  net::TlsClientConfig kubelets{.server_cas = *authority,
                                .certificates = *certificate,
                                .key = *key,
                                .protocols = {"http/1.1"},
                                .insecure_skip_verify = authority->empty()};
  auto checked = net::TlsClient::make(kubelets);
  if (!checked) return fail(checked.error());
  kubelets.insecure_skip_verify = true;
  auto unchecked = net::TlsClient::make(kubelets);
  if (!unchecked) return fail(unchecked.error());
  auto others = net::TlsClient::make({.server_cas = {},
                                      .certificates = {},
                                      .key = {},
                                      .protocols = {"http/1.1"},
                                      .insecure_skip_verify = true});
  if (!others) return fail(others.error());
  auto rules = rest::AddressRules::make(o.address_exceptions);
  if (!rules) return fail(rules.error());
  return std::make_unique<rest::Backends>(
      rest::Backends{.dialer = dialer,
                     .kubelets = std::move(*checked),
                     .unchecked_kubelets = std::move(*unchecked),
                     .others = std::move(*others),
                     .preferred_address_types = o.kubelet_preferred_address_types,
                     .kubelet_timeout = o.kubelet_timeout,
                     .addresses = std::move(*rules)});
}

Result<rest::AggregationSettings> aggregation_settings(const BackendOptions& o,
                                                       const Identity& own) {
  auto rules = rest::AddressRules::make(o.address_exceptions);
  if (!rules) return fail(rules.error());
  rest::AggregationSettings out{.client_certificate = own.certificate,
                                .client_key = own.key,
                                .by_endpoints = o.by_endpoints,
                                .refuses_redirects = o.refuses_redirects,
                                .addresses = std::move(*rules)};
  if (o.proxy_client_certificate.empty()) return out;
  auto certificate = read_file(o.proxy_client_certificate);
  if (!certificate) return fail(certificate.error());
  auto key = read_file(o.proxy_client_key);
  if (!key) return fail(key.error());
  out.client_certificate = std::move(*certificate);
  out.client_key = std::move(*key);
  return out;
}

}  // namespace cardea::app
