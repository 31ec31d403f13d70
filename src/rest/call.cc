#include "rest/call.h"

namespace cardea::rest {

const json::Value& Call::user_info() const {
  if (!shown_user.is_null()) return shown_user;
  shown_user = json::Value::object({{"username", user.name}});
  if (!user.uid.empty()) shown_user.set("uid", user.uid);
  for (const std::string& g : user.groups) shown_user.member("groups").push_back(g);
  for (const auto& [key, values] : user.extra) {
    json::Value list = json::Value::array();
    for (const std::string& v : values) list.push_back(v);
    shown_user.member("extra").set(key, std::move(list));
  }
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
