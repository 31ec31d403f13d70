#include "rest/freshness.h"

#include "base/strings.h"
#include "rest/verbs/continue_token.h"
#include "rest/verbs/options.h"

namespace cardea::rest {
namespace {

Error unknown_policy(std::string_view why) {
  return Error::of(Reason::kServiceUnavailable,
                   cat("whether the request is allowed cannot be known now: ", why))
      .with({.retry_after_seconds = 1});
}

Task<Result<void>> reached(Call& call, store::Revision revision) {
  net::Loop& loop = call.exchange->loop();
  store::Store& store = *call.services.shared;
  if (revision <= store.current_revision()) co_return Result<void>();
  Result<void> answer = co_await await_callback<Result<void>>([&](auto done) {
    store.reach(revision, [&loop, done](Result<void> result) mutable {
      loop.post([done, result = std::move(result)]() mutable { done(std::move(result)); });
    });
  });
  co_return answer;
}

enum class Needs : std::uint8_t { kNothing, kEverything, kRevision };
struct Need {
  Needs what = Needs::kNothing;
  store::Revision revision = 0;
};

// What is not well formed is the verb's to say.
Need at_least(std::string_view text) {
  if (text.empty()) return {Needs::kEverything, 0};
  auto revision = parse_revision(text);
  if (!revision || *revision <= 0) return {};
  return {Needs::kRevision, *revision};
}

Need need_of(const Call& call) {
  const authz::RequestInfo& info = call.info;
  const std::string_view version = info.query.first("resourceVersion").value_or("");
  if (info.verb == "list")
    if (const auto text = info.query.first("continue"); text && !text->empty()) {
      auto token = decode_continue(*text);
      if (!token) return {};
      return token->revision > 0 ? Need{Needs::kRevision, token->revision}
                                 : Need{Needs::kEverything, 0};
    }
  // A watch waits for the revision that it begins at by itself, unless it shows a state first.
  if (info.verb == "watch" && !version.empty() && !info.query.first("sendInitialEvents")) return {};
  if (info.verb == "get" || info.verb == "list" || info.verb == "watch") return at_least(version);
  if (info.verb != "create" || !info.subresource.empty()) return {Needs::kEverything, 0};
  // A create reads little, and its own name is compared where it is stored. A namespace that is not
  // here may be new.
  const std::string space = cat("/registry/namespaces/", info.namespace_name);
  if (!info.namespace_name.empty() && !call.services.store.get(space))
    return {Needs::kEverything, 0};
  return {};
}

}  // namespace

Task<Result<void>> show_everything(Call& call) {
  net::Loop& loop = call.exchange->loop();
  store::Store& store = *call.services.shared;
  Result<void> answer = co_await await_callback<Result<void>>([&](auto done) {
    store.refresh([&loop, done](Result<void> result) mutable {
      loop.post([done, result = std::move(result)]() mutable { done(std::move(result)); });
    });
  });
  if (!answer) co_return fail(unknown_policy(answer.error().message));
  co_return answer;
}

Error policy_moved() {
  return Error::of(Reason::kServiceUnavailable,
                   "the policy has changed while this request was decided: nothing was stored, "
                   "please try again")
      .with({.retry_after_seconds = 1});
}

Task<Result<void>> confirm_decision(Call& call) {
  const auto age = std::chrono::steady_clock::now() - call.policy_as_of;
  if (age <= call.services.staleness) co_return Result<void>();
  Result<void> fresh = co_await show_everything(call);
  if (!fresh) co_return fresh;
  call.has_policy_moved = call.services.shared->marked_revision() != call.policy_revision;
  if (call.has_policy_moved)
    co_return fail(unknown_policy("the policy has changed; please try again"));
  co_return fresh;
}

Task<Result<void>> make_fresh(Call& call) {
  const Need need = need_of(call);
  if (need.what == Needs::kNothing) co_return Result<void>();
  Result<void> answer;
  if (need.what == Needs::kEverything)
    answer = co_await show_everything(call);
  else
    answer = co_await reached(call, need.revision);
  co_return answer;
}

}  // namespace cardea::rest
