#include "rest/call.h"

#include "authz/user_info.h"
#include "rest/audit_trail.h"

namespace cardea::rest {

const json::Value& Call::user_info() const {
  if (shown_user.is_null()) shown_user = authz::user_info(user);
  return shown_user;
}

void begin_stream(Call& call, http::Response& head) {
  fairness::name_flow(call.seat.flow(), head.headers);
  if (call.trail) return call.trail->begin_stream(head);
  head.headers.set("Audit-Id", audit_id_of(call.request(), call.services.random));
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
