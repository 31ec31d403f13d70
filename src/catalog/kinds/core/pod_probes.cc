#include "catalog/kinds/check.h"
#include "catalog/kinds/core/pod_parts.h"

// Probes and lifecycle handlers: the checks of a container's state.
namespace cardea::catalog::pod {
namespace {

using std::string_view;

constexpr string_view kHandlers[] = {"exec", "httpGet", "tcpSocket", "grpc", "sleep"};

void validate_http_get(const Value& get, const Path& path, FieldErrors& out) {
  require_text(get, "path", path, out);
  validate_port_number_or_name(get["port"], path / "port", out);
  check_one_of(path / "scheme", text(get, "scheme"), {"HTTP", "HTTPS"}, out);
  for (const Value& header : get["httpHeaders"].items())
    complain(path / "httpHeaders", text(header, "name"), http_header_name(text(header, "name")),
             out);
}

void validate_sleep(const Value& sleep, const Value& grace_period, const Path& path,
                    FieldErrors& out) {
  std::int64_t seconds = sleep["seconds"].as_int();
  if (!grace_period.is_null() && (seconds < 0 || seconds > grace_period.as_int()))
    out.push_back(
        json::invalid(path, seconds,
                      cat("must be non-negative and less than terminationGracePeriodSeconds (",
                          grace_period.as_int(), ")")));
}

void validate_handler_of(string_view kind, const Value& handler, const Value& grace_period,
                         const Path& path, FieldErrors& out) {
  if (kind == "exec" && handler["command"].empty()) out.push_back(json::required(path / "command"));
  if (kind == "httpGet") validate_http_get(handler, path, out);
  if (kind == "tcpSocket") validate_port_number_or_name(handler["port"], path / "port", out);
  if (kind == "grpc") validate_port_number_or_name(handler["port"], path / "port", out);
  if (kind == "sleep") validate_sleep(handler, grace_period, path, out);
}

void validate_handler(const Value& holder, const Value& grace_period, const Path& path,
                      FieldErrors& out) {
  int found = 0;
  for (string_view kind : kHandlers) {
    if (!present(holder, kind)) continue;
    if (found++ > 0)
      out.push_back(json::forbidden(path / kind, "may not specify more than 1 handler type"));
    else
      validate_handler_of(kind, holder[kind], grace_period, path / kind, out);
  }
  if (found == 0) out.push_back(json::required(path, "must specify a handler type"));
}

void validate_probe(const Value& probe, const Value& grace_period, const Path& path,
                    FieldErrors& out) {
  validate_handler(probe, grace_period, path, out);
  for (const char* key : {"initialDelaySeconds", "timeoutSeconds", "periodSeconds",
                          "successThreshold", "failureThreshold"})
    validate_nonnegative(probe[key], path / key, out);
  const Value& grace = probe["terminationGracePeriodSeconds"];
  if (!grace.is_null() && grace.as_int() <= 0)
    out.push_back(
        json::invalid(path / "terminationGracePeriodSeconds", grace, "must be greater than 0"));
}

}  // namespace

void validate_port_number_or_name(const Value& port, const Path& path, FieldErrors& out) {
  if (port.is_string()) return complain(path, port.as_string(), port_name(port.as_string()), out);
  for (const std::string& message : port_number(port.as_int()))
    out.push_back(json::invalid(path, port.as_int(), message));
}

void validate_probes(const Value& container, const Surroundings& around, const Path& path,
                     FieldErrors& out) {
  const Value& grace_period = around.spec["terminationGracePeriodSeconds"];
  for (const char* key : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    const Value& probe = container[key];
    if (probe.is_null()) continue;
    validate_probe(probe, grace_period, path / key, out);
    if (string_view(key) == "readinessProbe") {
      if (present(probe, "terminationGracePeriodSeconds"))
        out.push_back(json::invalid(path / key / "terminationGracePeriodSeconds",
                                    probe["terminationGracePeriodSeconds"],
                                    "must not be set for readinessProbes"));
    } else if (probe["successThreshold"].as_int() != 1) {
      out.push_back(
          json::invalid(path / key / "successThreshold", probe["successThreshold"], "must be 1"));
    }
  }
}

void validate_lifecycle(const Value& container, const Surroundings& around, const Path& path,
                        FieldErrors& out) {
  const Value& lifecycle = container["lifecycle"];
  for (const char* key : {"postStart", "preStop"})
    if (present(lifecycle, key))
      validate_handler(lifecycle[key], around.spec["terminationGracePeriodSeconds"],
                       path / "lifecycle" / key, out);
}

}  // namespace cardea::catalog::pod
