#include "app/policy_config.h"

#include "base/strings.h"
#include "json/yaml.h"
#include "net/file_watch.h"

namespace cardea::app {
namespace {

constexpr std::size_t kMostConfigBytes = 1 << 20;

// {"resourceGroups": {"mine": ["pods"]}, "nodeNames": {"kubelet-01": "node-a"}}
Result<void> read_config(const std::string& file, rest::NamespacePolicySettings& out) {
  auto wrong = [&](const std::string& why) {
    return fail(bad_request(cat("--policy-config `", file, "`: ", why)));
  };
  auto text = net::read_whole_file(file);
  if (!text) return fail(text.error());
  auto document = json::parse_strict_configuration(*text, kMostConfigBytes,
                                                   json::FlowStyle::kAllowed);
  if (!document) return wrong(document.error().message);
  if (!document->is_object()) return wrong("the configuration must be an object");
  for (const json::Member& m : document->members())
    if (m.key() != "resourceGroups" && m.key() != "nodeNames")
      return wrong(cat("unknown field `", m.key(), "`"));
  if (const json::Value* groups = document->find("resourceGroups")) {
    json::FieldErrors errors;
    out.groups = std::make_shared<const authz::namespace_policy::ResourceGroups>(
        authz::namespace_policy::ResourceGroups::with(*groups, errors));
    if (!errors.empty()) return wrong(cat("resourceGroups: ", errors[0].message()));
  }
  const json::Value& names = (*document)["nodeNames"];
  if (!names.is_null() && !names.is_object()) return wrong("nodeNames must be an object");
  for (const json::Member& m : names.members()) {
    if (m.value.as_string().empty())
      return wrong(cat("nodeNames: `", m.key(), "` must name a node"));
    out.node_names.emplace(m.key(), m.value.as_string());
  }
  return {};
}

}  // namespace

Result<rest::NamespacePolicySettings> namespace_policy_settings(const ServeOptions& o) {
  rest::NamespacePolicySettings out;
  out.master = o.policy_master_namespace;
  if (o.policy_config_file.empty()) return out;
  if (auto ok = read_config(o.policy_config_file, out); !ok) return fail(ok.error());
  return out;
}

}  // namespace cardea::app
