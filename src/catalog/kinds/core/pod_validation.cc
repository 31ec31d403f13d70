#include "catalog/kinds/core/pod_validation.h"

#include "catalog/kinds/check.h"
#include "catalog/kinds/core/pod_parts.h"
#include "catalog/kinds/core/resources.h"
#include "catalog/kinds/go_value.h"
#include "catalog/kinds/ip.h"

namespace cardea::catalog {
namespace {

using json::FieldErrors;
using json::Value;
using std::string_view;

constexpr std::size_t kMaxNameservers = 3;
constexpr std::size_t kMaxSearchPaths = 32;
constexpr std::size_t kMaxSearchCharacters = 2048;

void validate_resource_claims(const Value& spec, const Path& path, const PodRules& rules,
                              std::set<std::string>& names, FieldErrors& out) {
  each(spec, "resourceClaims", path, [&](const Value& claim, const Path& at) {
    if (rules.meta && (*rules.meta)["annotations"].has("kubernetes.io/config.mirror"))
      return out.push_back(json::forbidden("", "static pods do not support resource claims"));
    std::string name(text(claim, "name"));
    if (name.empty())
      out.push_back(json::required(at / "name"));
    else if (!names.insert(name).second)
      out.push_back(json::duplicate(at / "name", name));
    else
      complain(at / "name", name, dns1123_label(name), out);
    bool direct = present(claim, "resourceClaimName"),
         by_template = present(claim, "resourceClaimTemplateName");
    if (direct == by_template)
      out.push_back(json::shown_as(
          json::invalid(
              at, {},
              direct ? "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be "
                       "specified"
                     : "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"),
          show_go_struct(claim, {"name", "resourceClaimName", "resourceClaimTemplateName"})));
    for (const char* key : {"resourceClaimName", "resourceClaimTemplateName"})
      if (present(claim, key))
        complain(at / key, text(claim, key), dns1123_subdomain(text(claim, key)), out);
  });
}

void validate_host_network_ports(const Value& spec, const Path& path, const PodRules& rules,
                                 FieldErrors& out) {
  if (!spec["hostNetwork"].as_bool()) return;
  each(spec, "containers", path, [&](const Value& container, const Path& at) {
    each(container, "ports", at, [&](const Value& port, const Path& port_path) {
      std::int64_t host = port["hostPort"].as_int();
      if ((rules.is_pod || host != 0) && host != port["containerPort"].as_int())
        out.push_back(json::invalid(port_path / "hostPort", host,
                                    "must match `containerPort` when `hostNetwork` is true"));
    });
  });
}

void validate_dns_config(const Value& spec, const Path& path, FieldErrors& out) {
  const Value& config = spec["dnsConfig"];
  const Value &servers = config["nameservers"], &searches = config["searches"];
  if (text(spec, "dnsPolicy") == "None") {
    if (config.is_null())
      return out.push_back(
          json::required(path, "must provide `dnsConfig` when `dnsPolicy` is None"));
    if (servers.empty())
      return out.push_back(
          json::required(path / "nameservers",
                         "must provide at least one DNS nameserver when `dnsPolicy` is None"));
  }
  if (servers.size() > kMaxNameservers)
    out.push_back(json::invalid(path / "nameservers", servers,
                                cat("must not have more than ", kMaxNameservers, " nameservers")));
  each(config, "nameservers", path, [&](const Value& server, const Path& at) {
    validate_ip(at, server.as_string(), true, out);
  });
  if (searches.size() > kMaxSearchPaths)
    out.push_back(json::invalid(path / "searches", searches,
                                cat("must not have more than ", kMaxSearchPaths, " search paths")));
  std::size_t characters = searches.empty() ? 0 : searches.size() - 1;
  for (const Value& search : searches.items()) characters += search.as_string().size();
  if (characters > kMaxSearchCharacters)
    out.push_back(json::invalid(path / "searches", searches,
                                cat("must not have more than ", kMaxSearchCharacters,
                                    " characters (including spaces) in the search list")));
  each(config, "searches", path, [&](const Value& search, const Path& at) {
    string_view name = search.as_string();
    if (name == ".") return;
    if (name.ends_with('.')) name.remove_suffix(1);
    complain(at, name, dns1123_subdomain_with_underscore(name), out);
  });
  each(config, "options", path, [&](const Value& option, const Path& at) {
    if (text(option, "name").empty()) out.push_back(json::required(at, "must not be empty"));
  });
}

void validate_host_name_override(const Value& spec, const Path& path, FieldErrors& out) {
  if (!present(spec, "hostnameOverride")) return;
  string_view name = text(spec, "hostnameOverride");
  Path at = path / "hostnameOverride";
  if (spec["setHostnameAsFQDN"].as_bool())
    out.push_back(json::forbidden(at, "may not be specified when setHostnameAsFQDN is true"));
  if (spec["hostNetwork"].as_bool())
    out.push_back(json::forbidden(at, "may not be specified when hostNetwork is true"));
  if (name.size() > 64) out.push_back(json::too_long(at, 64));
  complain(at, name, dns1123_subdomain(name), out);
}

void check_optional(const Value& spec, const char* key, Complaints (*check)(string_view),
                    const Path& path, FieldErrors& out) {
  if (string_view value = text(spec, key); !value.empty())
    complain(path / key, value, check(value), out);
}

void validate_host_aliases(const Value& spec, const Path& path, FieldErrors& out) {
  each(spec, "hostAliases", path, [&](const Value& alias, const Path& at) {
    validate_ip(at / "ip", text(alias, "ip"), true, out);
    each(alias, "hostnames", at, [&](const Value& name, const Path& name_path) {
      complain(name_path, name.as_string(), dns1123_subdomain(name.as_string()), out);
    });
  });
}

// Names and simple values of the spec that depend on nothing else.
void validate_plain_fields(const Value& spec, const Path& path, FieldErrors& out) {
  check_optional(spec, "serviceAccountName", dns1123_subdomain, path, out);
  check_optional(spec, "nodeName", dns1123_subdomain, path, out);
  if (const Value& deadline = spec["activeDeadlineSeconds"]; !deadline.is_null())
    for (const std::string& message : in_range(deadline.as_int(), 1, INT32_MAX))
      out.push_back(json::invalid(path / "activeDeadlineSeconds", deadline, message));
  check_optional(spec, "hostname", dns1123_label, path, out);
  check_optional(spec, "subdomain", dns1123_label, path, out);
  pod::validate_tolerations(spec["tolerations"], path / "tolerations", out);
  validate_host_aliases(spec, path, out);
  check_optional(spec, "priorityClassName", dns1123_subdomain, path, out);
  if (present(spec, "runtimeClassName"))
    complain(path / "runtimeClassName", text(spec, "runtimeClassName"),
             dns1123_subdomain(text(spec, "runtimeClassName")), out);
  if (present(spec, "preemptionPolicy"))
    require_one_of_or_missing(text(spec, "preemptionPolicy"), {"PreemptLowerPriority", "Never"},
                              path / "preemptionPolicy", out);
  if (present(spec, "overhead")) {
    Value as_limits = Value::object({{"limits", spec["overhead"]}});
    validate_container_resources(as_limits, {}, path / "overhead", out);
  }
}

}  // namespace

void validate_pod_spec(const Value& spec, const Path& path, const PodRules& rules,
                       FieldErrors& out) {
  pod::Surroundings around{.volumes = {}, .claims = {}, .spec = spec, .rules = rules};
  if (!present(spec, "terminationGracePeriodSeconds"))
    out.push_back(json::required(path / "terminationGracePeriodSeconds"));
  pod::validate_volumes(spec, path, rules, around.volumes, out);
  validate_resource_claims(spec, path, rules, around.claims, out);
  pod::validate_containers(around, path, out);
  pod::validate_init_containers(around, path, out);
  pod::validate_ephemeral_containers(around, path, out);
  validate_pod_level_resources(spec, path, around.claims, out);
  validate_host_network_ports(spec, path, rules, out);
  require_one_of_or_missing(text(spec, "restartPolicy"), {"Always", "OnFailure", "Never"},
                            path / "restartPolicy", out);
  require_one_of_or_missing(text(spec, "dnsPolicy"),
                            {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"},
                            path / "dnsPolicy", out);
  validate_labels(spec["nodeSelector"], path / "nodeSelector", out);
  pod::validate_pod_security(spec, path, out);
  pod::validate_affinity(spec, path, out);
  validate_dns_config(spec, path / "dnsConfig", out);
  pod::validate_gates(spec, path, out);
  pod::validate_topology_spread(spec, path, out);
  pod::validate_host_process(spec, path, rules, out);
  pod::validate_host_users(spec, path, out);
  validate_host_name_override(spec, path, out);
  validate_plain_fields(spec, path, out);
  pod::validate_operating_system(spec, path, out);
  pod::validate_file_key_refs(spec, path, out);
}

void validate_pod_template(const Value& pod_template, const Path& path,
                           const StrategyContext& context, FieldErrors& out) {
  const Value &meta = pod_template["metadata"], &spec = pod_template["spec"];
  validate_labels(meta["labels"], path / "labels", out);
  validate_annotations(meta["annotations"], path / "annotations", out);
  validate_pod_annotations(meta["annotations"], spec, path / "annotations", out);
  validate_pod_spec(spec, path / "spec",
                    {.is_pod = false, .allow_privileged = context.allow_privileged}, out);
  pod::validate_security_annotations(meta["annotations"], spec, path / "spec", out);
  if (!spec["ephemeralContainers"].empty())
    out.push_back(json::forbidden(path / "spec" / "ephemeralContainers",
                                  "ephemeral containers not allowed in pod template"));
}

}  // namespace cardea::catalog
