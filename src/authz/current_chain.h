#pragma once
#include <memory>
#include <string_view>

#include "authz/authorizer.h"
#include "base/snapshot.h"

namespace cardea::authz {

// The chain that authorizes now. Configuration may replace it while requests are being decided;
// each decision is made by one chain from its beginning to its end. Shared between threads.
class CurrentChain {
 public:
  explicit CurrentChain(std::shared_ptr<const Chain> chain) : chain_(std::move(chain)) {}

  std::shared_ptr<const Chain> get() const { return chain_.get(); }
  // Every later call, on any thread, uses `next`.
  void set(std::shared_ptr<const Chain> next) { chain_.set(std::move(next)); }

  // As Chain's own.
  std::optional<Chain::Verdict> decide(const Attributes& attributes,
                                       Asking asking = Asking::kFolded) const {
    return get()->decide(attributes, asking);
  }
  Task<Chain::Verdict> authorize(Attributes attributes, Asking asking = Asking::kFolded) const;
  Rules rules_for(const User& user, std::string_view namespace_name) const {
    return get()->rules_for(user, namespace_name);
  }

 private:
  Snapshot<Chain> chain_;
};

}  // namespace cardea::authz
