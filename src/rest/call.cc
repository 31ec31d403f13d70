#include "rest/call.h"

#include "authz/user_info.h"

namespace cardea::rest {

const json::Value& Call::user_info() const {
  if (shown_user.is_null()) shown_user = authz::user_info(user);
  return shown_user;
}

Task<bool> back_on_loop(Call& call) {
  net::Loop& loop = call.exchange->loop();
  if (!loop.in_loop()) {
    bool back = co_await continue_on(loop);
    (void)back;
  }
  co_return true;
}

}  // namespace cardea::rest
