#include "app/asked_user.h"

#include "authz/user.h"
#include "base/strings.h"

namespace cardea::app {

using json::Value;

namespace {

// The groups that a user of this name has besides those of its credentials.
void add_groups(Value& groups, std::string_view user) {
  groups.push_back(authz::kAuthenticatedGroup);
  constexpr std::string_view kAccount = "system:serviceaccount:";
  if (!user.starts_with(kAccount)) return;
  std::string_view space = user.substr(kAccount.size());
  groups.push_back("system:serviceaccounts");
  groups.push_back(cat("system:serviceaccounts:", space.substr(0, space.find(':'))));
}

}  // namespace

Result<Value> asked_user(KubeClient& server, const ServerChoice& choice) {
  if (choice.user.empty()) {
    auto self = server.review("authentication.k8s.io/v1", "SelfSubjectReview", Value::object({}));
    if (!self) return fail(self.error());
    const Value& info = (*self)["status"]["userInfo"];
    Value out = Value::object({{"user", info["username"]}});
    for (std::string_view member : {"uid", "groups", "extra"})
      if (info.has(member)) out.set(member, info[member]);
    return out;
  }
  Value out = named_user(choice);
  add_groups(out.member("groups"), choice.user);
  return out;
}

Value named_user(const ServerChoice& choice) {
  Value out = Value::object({{"user", choice.user}});
  if (!choice.uid.empty()) out.set("uid", choice.uid);
  for (const std::string& g : choice.groups) out.member("groups").push_back(g);
  for (const std::string& e : choice.extra) {
    std::size_t equals = e.find('=');
    out.member("extra").member(e.substr(0, equals)).push_back(e.substr(equals + 1));
  }
  return out;
}

ServerChoice without_user(const ServerChoice& choice) {
  return {.kubeconfig = choice.kubeconfig,
          .context = choice.context,
          .user = {},
          .uid = {},
          .groups = {},
          .extra = {}};
}

}  // namespace cardea::app
