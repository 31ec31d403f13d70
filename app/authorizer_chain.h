#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "app/options.h"
#include "authz/current_chain.h"
#include "base/log.h"
#include "feeds/chain_reload.h"
#include "rest/boot/built_in_authorizers.h"
#include "upstream/authorizer_factory.h"

namespace cardea::app {

// Kubernetes' types of authorizers, and ours. `conditions`: whether webhooks may answer with some.
authz::AuthorizerTypes known_authorizer_types(bool conditions);

// The configuration with the same meaning as --authorization-mode and the flags of its webhook.
authz::AuthorizationConfig config_of_flags(const ServeOptions& options);

// The chain that decides, as --authorization-config or the flags describe it. When the file
// changes, the new chain is loaded. All parts must outlive it.
class AuthorizerChain {
 public:
  // Authorizers that exist with every configuration, by type: they keep their policy through
  // every reload.
  using BuiltIns = rest::BuiltInAuthorizers::ByType;

  static Result<std::shared_ptr<AuthorizerChain>> make(
      const ServeOptions& options, BuiltIns built_ins,
      const upstream::WebhookSurroundings& surroundings, const Log& log);

  authz::CurrentChain& current() { return current_; }
  const authz::CurrentChain& current() const { return current_; }

 private:
  AuthorizerChain(BuiltIns built_ins, const upstream::WebhookSurroundings& s, const Log& log,
                  bool takes_anonymous)
      : built_ins_(std::move(built_ins)),
        surroundings_(s),
        log_(log),
        takes_anonymous_(takes_anonymous) {}
  Result<std::shared_ptr<const authz::Chain>> build(const authz::AuthorizationConfig& config) const;

  BuiltIns built_ins_;
  upstream::WebhookSurroundings surroundings_;
  const Log& log_;
  const bool takes_anonymous_;
  authz::CurrentChain current_{nullptr};
  std::optional<feeds::ChainReload> reload_;
};

}  // namespace cardea::app
