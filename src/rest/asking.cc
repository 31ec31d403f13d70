#include "rest/asking.h"

namespace cardea::rest {

Task<authz::Chain::Verdict> ask_chain(Call& call, std::shared_ptr<const authz::Chain> chain,
                                      authz::Attributes attributes, authz::Asking asking) {
  authz::Chain::Verdict verdict = co_await chain->authorize(attributes, asking);
  bool back = co_await back_on_loop(call);
  (void)back;
  co_return verdict;
}

Task<authz::Decision> settle_decision(Call& call, std::shared_ptr<const authz::Chain> chain,
                                      authz::Decision conditional, authz::ConditionData data) {
  authz::Decision settled = co_await chain->evaluate(std::move(conditional), data);
  bool back = co_await back_on_loop(call);
  (void)back;
  co_return settled;
}

}  // namespace cardea::rest
