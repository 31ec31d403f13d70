#include "catalog/kinds/check.h"
#include "catalog/kinds/ip.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

constexpr std::string_view kClassAnnotation = "kubernetes.io/ingress.class";

void validate_reference(const Path& path, const Value& reference, FieldErrors& out) {
  const Value& group = reference["apiGroup"];
  if (!group.is_null())
    complain(path / "apiGroup", group, name_is_dns_subdomain(group.as_string(), false), out);
  for (std::string_view name : {"kind", "name"}) {
    if (reference[name].as_string().empty())
      out.push_back(json::required(path / name));
    else
      complain(path / name, reference[name],
               name_is_path_segment(reference[name].as_string(), false), out);
  }
}

void validate_backend(const Path& path, const Value& backend, FieldErrors& out) {
  bool has_service = !backend["service"].is_null(), has_resource = !backend["resource"].is_null();
  if (has_service && has_resource) {
    out.push_back(json::invalid(path, "", "cannot set both resource and service backends"));
    return;
  }
  if (has_resource) {
    validate_reference(path / "resource", backend["resource"], out);
    return;
  }
  if (!has_service) {
    out.push_back(json::invalid(path, "", "resource or service backend is required"));
    return;
  }
  const Value& service = backend["service"];
  Path at = path / "service";
  if (service["name"].as_string().empty())
    out.push_back(json::required(at / "name"));
  else
    complain(at / "name", service["name"], dns1123_label(service["name"].as_string()), out);
  const Value& name = service["port"]["name"];
  const Value& number = service["port"]["number"];
  bool has_name = !name.as_string().empty(), has_number = number.as_int() != 0;
  if (has_name && has_number) {
    out.push_back(json::invalid(path, "", "cannot set both port name & port number"));
  } else if (has_name) {
    complain(at / "port" / "name", name, port_name(name.as_string()), out);
  } else if (has_number) {
    complain(at / "port" / "number", number, port_number(number.as_int()), out);
  } else {
    out.push_back(json::required(path, "port name or number is required"));
  }
}

bool is_absolute(std::string_view path) {
  return path.starts_with('/');
}

void validate_path(const Path& path, const Value& rule, FieldErrors& out) {
  const Value& type = rule["pathType"];
  std::string_view text = rule["path"].as_string();
  if (type.is_null()) {
    out.push_back(json::required(path / "pathType", "pathType must be specified"));
  } else if (type.as_string() == "Exact" || type.as_string() == "Prefix") {
    if (!is_absolute(text))
      out.push_back(json::invalid(path / "path", text, "must be an absolute path"));
    if (!text.empty()) {
      for (std::string_view bad : {"//", "/./", "/../", "%2f", "%2F"})
        if (text.find(bad) != text.npos)
          out.push_back(
              json::invalid(path / "path", rule["path"], cat("must not contain '", bad, "'")));
      for (std::string_view bad : {"/..", "/."})
        if (text.ends_with(bad))
          out.push_back(
              json::invalid(path / "path", rule["path"], cat("cannot end with '", bad, "'")));
    }
  } else if (type.as_string() == "ImplementationSpecific") {
    if (!text.empty() && !is_absolute(text))
      out.push_back(json::invalid(path / "path", rule["path"], "must be an absolute path"));
  } else {
    out.push_back(json::not_supported(path / "pathType", type,
                                      {"Exact", "ImplementationSpecific", "Prefix"}));
  }
  validate_backend(path / "backend", rule["backend"], out);
}

void validate_rules(const Path& path, const Value& rules, FieldErrors& out) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    Path at = path.index(i);
    const Value& host = rules[i]["host"];
    if (!host.as_string().empty()) {
      if (parse_ip(host.as_string()))
        out.push_back(json::invalid(at / "host", host, "must be a DNS name, not an IP address"));
      bool wildcard = host.as_string().find('*') != std::string_view::npos;
      complain(at / "host", host,
               (wildcard ? wildcard_dns1123_subdomain : dns1123_subdomain)(host.as_string()), out);
    }
    const Value& http = rules[i]["http"];
    if (http.is_null()) continue;
    if (http["paths"].empty()) out.push_back(json::required(at / "http" / "paths"));
    for (std::size_t j = 0; j < http["paths"].size(); ++j)
      validate_path((at / "http" / "paths").index(j), http["paths"][j], out);
  }
}

void validate_tls(const Path& path, const Value& tls, FieldErrors& out) {
  for (std::size_t i = 0; i < tls.size(); ++i) {
    const Value& hosts = tls[i]["hosts"];
    for (std::size_t j = 0; j < hosts.size(); ++j) {
      std::string_view host = hosts[j].as_string();
      complain(
          (path.index(i) / "hosts").index(j), hosts[j],
          host.find('*') != host.npos ? wildcard_dns1123_subdomain(host) : dns1123_subdomain(host),
          out);
    }
    const Value& secret = tls[i]["secretName"];
    if (!secret.as_string().empty())
      complain(path.index(i) / "secretName", secret,
               name_is_dns_subdomain(secret.as_string(), false), out);
  }
}

void validate_spec(const Value& spec, FieldErrors& out) {
  Path path = "spec";
  if (spec["rules"].empty() && spec["defaultBackend"].is_null())
    out.push_back(
        json::invalid(path, spec["rules"], "either `defaultBackend` or `rules` must be specified"));
  if (!spec["defaultBackend"].is_null())
    validate_backend(path / "defaultBackend", spec["defaultBackend"], out);
  validate_rules(path / "rules", spec["rules"], out);
  validate_tls(path / "tls", spec["tls"], out);
  const Value& name = spec["ingressClassName"];
  if (!name.is_null())
    complain(path / "ingressClassName", name, name_is_dns_subdomain(name.as_string(), false), out);
}

FieldErrors validate(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, true, name_is_dns_subdomain, out);
  validate_spec(object["spec"], out);
  const Value& annotations = object["metadata"]["annotations"];
  const Value& name = object["spec"]["ingressClassName"];
  if (annotations.has(kClassAnnotation) && !name.is_null() && name != annotations[kClassAnnotation])
    out.push_back(json::invalid(Path("annotations").child(kClassAnnotation),
                                annotations[kClassAnnotation],
                                "must match `ingressClassName` when both are specified"));
  return out;
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  validate_spec(object["spec"], out);
  return out;
}

FieldErrors validate_status(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  const Value& ingress = object["status"]["loadBalancer"]["ingress"];
  for (std::size_t i = 0; i < ingress.size(); ++i) {
    Path at = Path("status.loadBalancer.ingress").index(i);
    const Value& ip = ingress[i]["ip"];
    const Value& host = ingress[i]["hostname"];
    if (!ip.as_string().empty()) validate_ip(at / "ip", ip.as_string(), true, out);
    if (!host.as_string().empty()) {
      if (parse_ip(host.as_string()))
        out.push_back(
            json::invalid(at / "hostname", host, "must be a DNS name, not an IP address"));
      complain(at / "hostname", host, dns1123_subdomain(host.as_string()), out);
    }
  }
  return out;
}

std::vector<std::string> warnings(const Value& object, const Value* old, const StrategyContext&) {
  if (old != nullptr || !object["metadata"]["annotations"].has(kClassAnnotation)) return {};
  return {
      "annotation \"kubernetes.io/ingress.class\" is deprecated, please use "
      "'spec.ingressClassName' instead"};
}

void defaults(Value& object, const StrategyContext&) {
  object_member(object, "spec");
}

// IngressClass

void class_defaults(Value& object, const StrategyContext&) {
  Value& spec = object_member(object, "spec");
  if (!spec["parameters"].is_null()) set_default(spec.member("parameters"), "scope", "Cluster");
}

void validate_class_parameters(const Path& path, const Value& parameters, FieldErrors& out) {
  if (parameters.is_null()) return;
  validate_reference(path, parameters, out);
  const Value& scope = parameters["scope"];
  const Value& space = parameters["namespace"];
  if (scope.is_null()) {
    out.push_back(json::required(path / "scope"));
    return;
  }
  check_one_of(path / "scope", scope, {"Cluster", "Namespace"}, out);
  if (scope.as_string() == "Namespace") {
    if (space.is_null())
      out.push_back(json::required(path / "namespace", "`parameters.scope` is set to 'Namespace'"));
    else
      complain(path / "namespace", space, name_is_dns_label(space.as_string(), false), out);
  }
  if (scope.as_string() == "Cluster" && !space.is_null())
    out.push_back(json::forbidden(path / "namespace", "`parameters.scope` is set to 'Cluster'"));
}

void validate_class_spec(const Value& spec, FieldErrors& out) {
  const Value& controller = spec["controller"];
  if (controller.as_string().size() > 250) out.push_back(json::too_long("spec.controller", 250));
  validate_domain_prefixed_path("spec.controller", controller, out);
  validate_class_parameters("spec.parameters", spec["parameters"], out);
}

FieldErrors validate_class(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, false, name_is_dns_subdomain, out);
  validate_class_spec(object["spec"], out);
  return out;
}

FieldErrors validate_class_update(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  check_immutable("spec.controller", object["spec"]["controller"], old["spec"]["controller"], out);
  validate_class_parameters("spec.parameters", object["spec"]["parameters"], out);
  return out;
}

}  // namespace

const Strategy& ingress_strategy() {
  static const Strategy strategy{
      .defaults = defaults,
      .prepare_for_create = drop_status,
      .prepare_for_update = keep_status,
      .validate_create = validate,
      .validate_update = validate_update,
      .warnings = warnings,
      .prepare_for_status_update = keep_spec,
      .validate_status_update = validate_status,
      .has_generation = true,
  };
  return strategy;
}

const Strategy& ingress_class_strategy() {
  static const Strategy strategy{
      .defaults = class_defaults,
      .validate_create = validate_class,
      .validate_update = validate_class_update,
      .has_generation = true,
  };
  return strategy;
}

}  // namespace cardea::catalog
