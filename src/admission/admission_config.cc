#include "admission/admission_config.h"

#include "base/strings.h"
#include "json/yaml.h"

namespace cardea::admission {

using json::Value;

namespace {

constexpr std::size_t kMaxText = 3u << 20;

std::unexpected<Error> bad(std::string message) {
  return fail(bad_request(std::move(message)));
}

// Refuses members that are not in `known`.
Result<void> check_members(const Value& object, std::string_view where,
                           std::initializer_list<std::string_view> known) {
  if (!object.is_object() && !object.is_null()) return bad(cat(where, " must be an object"));
  for (const json::Member& member : object.members()) {
    bool is_known = false;
    for (std::string_view k : known) is_known = is_known || k == member.key();
    if (!is_known) return bad(cat(where, ": unknown field ", quoted(member.key())));
  }
  return {};
}

Result<void> check_list(const Value& list, std::string_view where) {
  if (list.is_array() || list.is_null()) return {};
  return bad(cat(where, " must be a list"));
}

Result<void> check_kind(const Value& document, std::string_view group,
                        std::initializer_list<std::string_view> versions, std::string_view kind) {
  const std::string_view version = document["apiVersion"].as_string();
  for (std::string_view v : versions)
    if (version == cat(group, "/", v) && document["kind"].as_string() == kind) return {};
  return bad(cat("no kind ", quoted(document["kind"].as_string()), " is registered for version ",
                 quoted(version), "; ", kind, " is expected"));
}

Result<std::vector<std::string>> texts_in(const Value& list, std::string_view where) {
  std::vector<std::string> out;
  if (auto ok = check_list(list, where); !ok) return fail(ok.error());
  for (const Value& item : list.items()) {
    if (!item.is_string() || item.as_string().empty())
      return bad(cat(where, " must be a list of names"));
    out.emplace_back(item.as_string());
  }
  return out;
}

// `enforce` and `enforce-version`.
Result<void> read_policy(const Value& defaults, const std::string& mode, SecurityPolicy& out) {
  const std::string where = cat("PodSecurity: defaults.", mode);
  if (const Value* given = defaults.find(mode)) {
    const auto level = parse_security_level(given->as_string());
    if (!level)
      return bad(cat(where, ": Invalid value: ", quoted(given->as_string()),
                     ": must be one of privileged, baseline, restricted"));
    out.level = *level;
  }
  if (const Value* given = defaults.find(cat(mode, "-version"))) {
    const auto version = parse_policy_version(given->as_string());
    if (!version)
      return bad(cat(where, "-version: Invalid value: ", quoted(given->as_string()),
                     ": must be \"latest\" or \"v1.x\""));
    out.minor = *version;
  }
  return {};
}

Result<void> read_pod_security(const Value& v, Settings& settings) {
  PodSecuritySettings& out = settings.pod_security;
  if (auto ok = check_kind(v, "pod-security.admission.config.k8s.io", {"v1", "v1beta1", "v1alpha1"},
                           "PodSecurityConfiguration");
      !ok)
    return ok;
  if (auto ok = check_members(v, "PodSecurity", {"apiVersion", "kind", "defaults", "exemptions"});
      !ok)
    return ok;
  const Value &defaults = v["defaults"], &exemptions = v["exemptions"];
  if (auto ok = check_members(
          defaults, "PodSecurity: defaults",
          {"enforce", "enforce-version", "audit", "audit-version", "warn", "warn-version"});
      !ok)
    return ok;
  if (auto ok = check_members(exemptions, "PodSecurity: exemptions",
                              {"usernames", "runtimeClasses", "namespaces"});
      !ok)
    return ok;
  if (auto ok = read_policy(defaults, "enforce", out.enforce); !ok) return ok;
  if (auto ok = read_policy(defaults, "audit", out.audit); !ok) return ok;
  if (auto ok = read_policy(defaults, "warn", out.warn); !ok) return ok;
  struct Row {
    std::string_view name;
    std::set<std::string, std::less<>>& to;
  };
  for (const Row& row : {Row{"usernames", out.users}, Row{"runtimeClasses", out.runtime_classes},
                         Row{"namespaces", out.namespaces}}) {
    auto names = texts_in(exemptions[row.name], cat("PodSecurity: exemptions.", row.name));
    if (!names) return fail(names.error());
    row.to.insert(names->begin(), names->end());
  }
  return {};
}

Result<void> read_quota(const Value& v, Settings& settings) {
  if (auto ok = check_kind(v, "apiserver.config.k8s.io", {"v1"}, "ResourceQuotaConfiguration"); !ok)
    if (auto old = check_kind(v, "resourcequota.admission.k8s.io", {"v1", "v1beta1", "v1alpha1"},
                              "Configuration");
        !old)
      return ok;
  if (auto ok = check_members(v, "ResourceQuota", {"apiVersion", "kind", "limitedResources"}); !ok)
    return ok;
  if (auto ok = check_list(v["limitedResources"], "ResourceQuota: limitedResources"); !ok)
    return ok;
  for (const Value& item : v["limitedResources"].items()) {
    if (auto ok = check_members(item, "ResourceQuota: limitedResources",
                                {"apiGroup", "resource", "matchContains", "matchScopes"});
        !ok)
      return ok;
    auto contains = texts_in(item["matchContains"], "ResourceQuota: matchContains");
    if (!contains) return fail(contains.error());
    if (auto ok = check_list(item["matchScopes"], "ResourceQuota: matchScopes"); !ok) return ok;
    for (const Value& scope : item["matchScopes"].items())
      if (auto ok = check_members(scope, "ResourceQuota: matchScopes",
                                  {"scopeName", "operator", "values"});
          !ok)
        return ok;
    if (item["resource"].as_string().empty())
      return bad("ResourceQuota: limitedResources needs a resource");
    settings.limited_resources.push_back({std::string(item["apiGroup"].as_string()),
                                          std::string(item["resource"].as_string()),
                                          std::move(*contains), item["matchScopes"]});
  }
  return {};
}

struct Configurable {
  std::string_view plugin;
  Result<void> (*read)(const Value&, Settings&);  // null: refused
  std::string_view why;                           // it is refused
};

constexpr Configurable kPlugins[] = {
    {"PodSecurity", read_pod_security, ""},
    {"ResourceQuota", read_quota, ""},
    {"ImagePolicyWebhook", nullptr,
     "this server does not have the plugin, so images would not be checked; use a "
     "ValidatingWebhookConfiguration"},
    {"EventRateLimit", nullptr,
     "this server does not have the plugin, so events would not be limited"},
    {"PodNodeSelector", nullptr,
     "this server does not have the plugin, so selectors would not be enforced"},
    {"PodTolerationRestriction", nullptr,
     "this server does not have the plugin, so tolerations would not be restricted"},
    {"MutatingAdmissionWebhook", nullptr, "this server has no credentials for webhooks"},
    {"ValidatingAdmissionWebhook", nullptr, "this server has no credentials for webhooks"},
};

Result<void> read_plugin(const Value& v,
                         const std::function<Result<std::string>(const std::string&)>& read_file,
                         Settings& out) {
  if (auto ok = check_members(v, "plugins", {"name", "path", "configuration"}); !ok) return ok;
  const std::string_view name = v["name"].as_string(), path = v["path"].as_string();
  const Configurable* row = nullptr;
  for (const Configurable& r : kPlugins)
    if (r.plugin == name) row = &r;
  if (!row) return bad(cat("there is no plugin ", quoted(name), " that takes a configuration"));
  if (!row->read) return bad(cat("the configuration of plugin ", name, " is refused: ", row->why));
  const Value& inside = v["configuration"];
  if (path.empty() == inside.is_null())
    return bad(cat("plugin ", name, " needs either a path or a configuration"));
  if (path.empty()) return row->read(inside, out);
  auto text = read_file(std::string(path));
  if (!text) return fail(text.error());
  auto document = json::parse_strict_configuration(*text, kMaxText);
  if (!document) return bad(cat(path, ": ", document.error().message));
  return row->read(*document, out);
}

}  // namespace

Result<void> read_admission_config(
    std::string_view text, const std::function<Result<std::string>(const std::string&)>& read_file,
    Settings& out) {
  auto document = json::parse_strict_configuration(text, kMaxText);
  if (!document) return fail(document.error());
  if (auto ok = check_kind(*document, "apiserver.config.k8s.io", {"v1"}, "AdmissionConfiguration");
      !ok)
    return ok;
  if (auto ok = check_members(*document, "AdmissionConfiguration",
                              {"apiVersion", "kind", "plugins"});
      !ok)
    return ok;
  if (auto ok = check_list((*document)["plugins"], "plugins"); !ok) return ok;
  std::set<std::string_view> seen;
  for (const Value& plugin : (*document)["plugins"].items()) {
    if (!seen.insert(plugin["name"].as_string()).second)
      return bad(cat("plugin ", quoted(plugin["name"].as_string()), " is configured twice"));
    if (auto ok = read_plugin(plugin, read_file, out); !ok) return ok;
  }
  return {};
}

}  // namespace cardea::admission
