#include "app/serving_options.h"

#include <CLI/CLI.hpp>

#include "app/machine.h"
#include "base/names.h"
#include "base/strings.h"
#include "base/time_parse.h"

namespace cardea::app {
namespace {

constexpr const char* kGroup = "Serving";

// `certificate,key` or `certificate,key:name,name`.
Result<NamedCertificateFiles> read_named(const std::string& text) {
  auto wrong = [&](std::string_view why) {
    return fail(bad_request(cat("--tls-sni-cert-key `", text, "` ", why)));
  };
  auto colon = text.find(':');
  auto files = split(std::string_view(text).substr(0, colon), ',');
  if (files.size() != 2 || trim(files[0]).empty() || trim(files[1]).empty())
    return wrong("must be CERTIFICATE,KEY or CERTIFICATE,KEY:NAME,...");
  NamedCertificateFiles out{std::string(trim(files[0])), std::string(trim(files[1])), {}};
  if (colon == text.npos) return out;
  for (std::string_view name : split(std::string_view(text).substr(colon + 1), ',')) {
    std::string_view plain = trim(name);
    if (plain.starts_with("*.")) plain.remove_prefix(2);
    if (plain.empty() || plain.contains('*'))
      return wrong("names a domain that is not one, such as example.com or *.example.com");
    out.names.emplace_back(trim(name));
  }
  return out;
}

bool can_be_in_certificate(const std::string& name) {
  std::string_view plain = name;
  if (plain.starts_with("*.")) plain.remove_prefix(2);
  return is_address(name) || dns_subdomain_problems(lower(plain)).empty();
}

Result<void> read_version(const std::string& text, ServingOptions& out) {
  if (text.empty() || text == "VersionTLS12") return {};
  if (text == "VersionTLS13") {
    out.tls_min_version = net::TlsVersion::k13;
  } else if (text == "VersionTLS10" || text == "VersionTLS11") {
    out.warnings.push_back(
        cat("--tls-min-version=", text, ": this server speaks TLS 1.2 and later only"));
  } else {
    return fail(bad_request(cat("--tls-min-version: unknown version `", text,
                                "`; there are VersionTLS12 and VersionTLS13")));
  }
  return {};
}

}  // namespace

std::vector<std::string> flatten(const std::vector<std::string>& raw) {
  std::vector<std::string> out;
  for (const std::string& entry : raw)
    for (std::string_view part : split(entry, ','))
      if (part = trim(part); !part.empty()) out.emplace_back(part);
  return out;
}

void declare_serving(CLI::App& app, ServingFlags& f) {
  auto text = [&](const char* name, std::string& to, const char* what, const char* help) {
    app.add_option(name, to, help)->type_name(what)->group(kGroup);
  };
  auto list = [&](const char* name, std::vector<std::string>& to, const char* what,
                  const char* help) {
    app.add_option(name, to, help)->allow_extra_args(false)->type_name(what)->group(kGroup);
  };
  text("--advertise-address", f.advertise_address, "IP",
       "the address at which other machines find the server: the endpoint of the Service "
       "default/kubernetes, and a name of the certificate that the server makes (default: "
       "--bind-address)");
  text("--external-hostname", f.external_hostname, "NAME",
       "the name of the server outside: a name of the certificate that the server makes");
  list("--cert-san", f.cert_sans, "LIST",
       "more names and addresses for the certificate that the server makes");
  app.add_option("--disable-http2-serving", f.disable_http2,
                 "whether clients are offered HTTP/1.1 only")
      ->group(kGroup)
      ->default_str("false");
  text("--tls-min-version", f.min_version, "VERSION",
       "the oldest version of TLS that clients may use: VersionTLS12 (the default) or "
       "VersionTLS13");
  list("--tls-cipher-suites", f.cipher_suites, "LIST",
       "the cipher suites for TLS 1.2, by the names of the standards (default: those of OpenSSL)");
  list("--tls-sni-cert-key", f.sni, "FILES",
       "CERTIFICATE,KEY or CERTIFICATE,KEY:NAME,...: a certificate (PEM) for clients that ask for "
       "one of these names (default: the names in the certificate). May be repeated");
  text("--request-timeout", f.request_timeout, "DURATION",
       "how long a request may take before the server gives it up, unless it is a watch or another "
       "one without an end (default: 1m0s)");
  app.add_option("--min-request-timeout", f.min_request_timeout,
                 "after how many seconds, to twice as many, the server ends a watch whose client "
                 "names no timeout; 0: never")
      ->type_name("SECONDS")
      ->group(kGroup)
      ->capture_default_str();
  text("--stream-reauthorization-period", f.stream_reauthorization, "DURATION",
       "after how long the server asks again whether an open exec, attach, port-forward, log, "
       "proxied connection or watch is still allowed, and ends it if not; 0: never, as Kubernetes "
       "(default: 10s)");
  app.add_option(
         "--goaway-chance", f.goaway_chance,
         "the chance, up to 0.02, that a request ends its HTTP/2 connection, so that clients "
         "spread over several servers")
      ->type_name("NUMBER")
      ->group(kGroup)
      ->capture_default_str();
  text("--sandbox", f.sandbox, "WHEN",
       "whether the server gives up what it does not need (files outside of the data folder and "
       "those that flags name, starting programs, and more): on, off, or auto: where the kernel "
       "can (default: auto)");
  app.add_option(
         "--max-connections", f.max_connections,
         "how many connections of clients the server holds; 0: as many as the limit of file "
         "descriptors leaves, less what the server needs for itself")
      ->type_name("NUMBER")
      ->group(kGroup)
      ->capture_default_str();
  app.add_option(
         "--max-connections-per-address", f.max_connections_per_address,
         "how many of them may come from one address; 0: no limit. Clients behind one proxy "
         "share its address")
      ->type_name("NUMBER")
      ->group(kGroup)
      ->capture_default_str();
  auto most = [&](const char* name, int& to, const char* help) {
    app.add_option(name, to, help)->type_name("NUMBER")->group(kGroup)->capture_default_str();
  };
  most("--max-requests-inflight", f.max_requests_inflight,
       "with --enable-priority-and-fairness: the seats that priority levels share, together with "
       "--max-mutating-requests-inflight; without: how many reads are served at a time, 0 for any "
       "number");
  most("--max-mutating-requests-inflight", f.max_mutating_requests_inflight,
       "the same; without --enable-priority-and-fairness: how many writes are served at a time");
  app.add_option("--enable-priority-and-fairness", f.priority_and_fairness,
                 "whether FlowSchemas and PriorityLevelConfigurations decide whose requests run "
                 "when there are many")
      ->group(kGroup)
      ->default_str("true");
  text("--shutdown-delay-duration", f.shutdown_delay, "DURATION",
       "how long the server goes on serving after it was told to stop, while /readyz says no");
}

Result<ServingOptions> read_serving(const ServingFlags& f) {
  auto wrong = [](std::string why) { return fail(bad_request(std::move(why))); };
  ServingOptions out;
  out.advertise_address = f.advertise_address;
  if (!out.advertise_address.empty() && !is_address(out.advertise_address))
    return wrong(cat("--advertise-address `", out.advertise_address, "` is not an IP address"));
  out.external_hostname = f.external_hostname;
  if (!out.external_hostname.empty() && !can_be_in_certificate(out.external_hostname))
    return wrong(cat("--external-hostname `", out.external_hostname,
                     "` is neither an address nor a DNS name"));
  out.cert_sans = flatten(f.cert_sans);
  for (const std::string& name : out.cert_sans)
    if (!can_be_in_certificate(name))
      return wrong(cat("--cert-san: `", name, "` is neither an address nor a DNS name"));
  out.is_http1_only = f.disable_http2;
  if (auto ok = read_version(f.min_version, out); !ok) return fail(ok.error());
  auto suites = net::cipher_list_of(flatten(f.cipher_suites));
  if (!suites) return wrong(cat("--tls-cipher-suites: ", suites.error().message));
  out.tls_cipher_list = std::move(*suites);
  for (const std::string& text : f.sni) {
    auto named = read_named(text);
    if (!named) return fail(named.error());
    out.named_certificates.push_back(std::move(*named));
  }
  auto delay = parse_duration(f.shutdown_delay);
  if (!delay || *delay < std::chrono::nanoseconds(0))
    return wrong(cat("--shutdown-delay-duration `", f.shutdown_delay, "` is not a duration"));
  out.shutdown_delay = *delay;
  auto timeout = parse_duration(f.request_timeout);
  if (!timeout || *timeout < std::chrono::milliseconds(1) || *timeout > std::chrono::hours(24))
    return wrong(cat("--request-timeout `", f.request_timeout,
                     "` is not a duration between a millisecond and a day"));
  out.request_timeout = std::chrono::ceil<std::chrono::milliseconds>(*timeout);
  if (f.min_request_timeout < 0 || f.min_request_timeout > 86'400 * 365)
    return wrong("--min-request-timeout must be between 0 and a year");
  out.min_request_timeout = static_cast<std::uint32_t>(f.min_request_timeout);
  auto period = parse_duration(f.stream_reauthorization);
  if (!period || *period < std::chrono::nanoseconds(0) || *period > std::chrono::hours(24))
    return wrong(cat("--stream-reauthorization-period `", f.stream_reauthorization,
                     "` is not a duration between 0 and a day"));
  out.stream_reauthorization_period = std::chrono::ceil<std::chrono::milliseconds>(*period);
  if (!(f.goaway_chance >= 0 && f.goaway_chance <= 0.02))
    return wrong("--goaway-chance can not be less than 0 or greater than 0.02");
  out.goaway_chance = f.goaway_chance;
  using Sandbox = ServingOptions::Sandbox;
  if (f.sandbox == "on")
    out.sandbox = Sandbox::kOn;
  else if (f.sandbox == "off")
    out.sandbox = Sandbox::kOff;
  else if (f.sandbox != "auto")
    return wrong(cat("--sandbox `", f.sandbox, "` is none of auto, on, off"));
  out.max_connections = f.max_connections;
  out.max_connections_per_address = f.max_connections_per_address;
  constexpr int kMostInflight = 1'000'000;
  for (const auto& [flag, number] :
       {std::pair("--max-requests-inflight", f.max_requests_inflight),
        std::pair("--max-mutating-requests-inflight", f.max_mutating_requests_inflight)}) {
    if (number < 0) return wrong(cat(flag, " can not be negative value"));
    if (number > kMostInflight)
      return wrong(cat(flag, " must not be more than ", std::to_string(kMostInflight)));
  }
  if (f.priority_and_fairness && f.max_requests_inflight + f.max_mutating_requests_inflight == 0)
    return wrong(
        "--max-requests-inflight and --max-mutating-requests-inflight must add up to something "
        "positive");
  out.max_requests_inflight = f.max_requests_inflight;
  out.max_mutating_requests_inflight = f.max_mutating_requests_inflight;
  out.priority_and_fairness = f.priority_and_fairness;
  return out;
}

}  // namespace cardea::app
