#include "authz/current_chain.h"

namespace cardea::authz {

Task<Chain::Verdict> CurrentChain::authorize(Attributes attributes, Asking asking) const {
  std::shared_ptr<const Chain> chain = get();
  Chain::Verdict verdict = co_await chain->authorize(attributes, asking);
  co_return verdict;
}

}  // namespace cardea::authz
