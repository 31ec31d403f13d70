#include "app/authorization.h"

#include "authz/node/node_authorizer.h"
#include "authz/rbac/rbac_authorizer.h"
#include "base/strings.h"
#include "json/yaml.h"
#include "net/file_watch.h"

namespace cardea::app {
namespace {

// {"resourceGroups": {"mine": ["pods"]}, "nodeNames": {"kubelet-01": "node-a"}}
struct PolicyConfig {
  std::shared_ptr<const authz::namespace_policy::ResourceGroups> groups;
  std::map<std::string, std::string, std::less<>> node_names;
};

constexpr std::size_t kMostConfigBytes = 1 << 20;

Result<PolicyConfig> read_policy_config(const std::string& file) {
  PolicyConfig out;
  if (file.empty()) return out;
  auto wrong = [&](const std::string& why) {
    return fail(bad_request(cat("--policy-config `", file, "`: ", why)));
  };
  auto text = net::read_whole_file(file);
  if (!text) return fail(text.error());
  auto document = json::parse_strict_configuration(*text, kMostConfigBytes,
                                                   json::FlowStyle::kAllowed);
  if (!document) return wrong(document.error().message);
  if (!document->is_object()) return wrong("is no object");
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
  if (!names.is_null() && !names.is_object()) return wrong("nodeNames is no object");
  for (const json::Member& m : names.members()) {
    if (m.value.as_string().empty()) return wrong(cat("nodeNames: `", m.key(), "` names no node"));
    out.node_names.emplace(m.key(), m.value.as_string());
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<Authorization>> Authorization::make(
    store::Store& store, const Snapshot<catalog::Catalog>& catalog, const ServeOptions& options,
    const authz::WebhookSurroundings& surroundings, AuthorizerChain::Log log) {
  std::unique_ptr<Authorization> self(new Authorization(surroundings.random, catalog));
  auto feed = authz::node::GraphFeed::start(store, self->nodes_);
  if (!feed) return fail(feed.error());
  self->node_feed_ = std::move(*feed);
  auto policy = authz::rbac::PolicyIndex::load(store);
  if (!policy) return fail(policy.error());
  self->policy_ = std::move(*policy);
  auto access = authz::access::PolicyFeed::load(store);
  if (!access) return fail(access.error());
  self->access_ = std::move(*access);
  auto policy_config = read_policy_config(options.policy_config_file);
  if (!policy_config) return fail(policy_config.error());
  auto policies = authz::namespace_policy::PolicyFeed::load(store, options.policy_master_namespace,
                                                            policy_config->groups);
  if (!policies) return fail(policies.error());
  self->policies_ = std::move(*policies);
  self->namespace_policy_ = std::make_shared<const authz::namespace_policy::PolicyAuthorizer>(
      *self->policies_,
      authz::namespace_policy::Surroundings{
          .kinds = &self->kinds_, .nodes = &self->nodes_, .node_names = policy_config->node_names},
      &surroundings.metrics);
  auto chain = AuthorizerChain::make(
      options,
      {{"Node", std::make_shared<authz::node::NodeAuthorizer>(self->nodes_)},
       {"Access",
        std::make_shared<authz::access::AccessAuthorizer>(*self->access_, &surroundings.metrics)},
       {"Policy", self->namespace_policy_},
       {"RBAC", std::make_shared<authz::rbac::RbacAuthorizer>(*self->policy_)}},
      surroundings, std::move(log));
  if (!chain) return fail(chain.error());
  self->chain_ = std::move(*chain);
  return self;
}

}  // namespace cardea::app
