#include "rest/write/write.h"

#include "authz/eligibility.h"
#include "rest/present/status.h"
#include "rest/write/blind_caller.h"
#include "rest/write/steps.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {

using catalog::Resource;
using json::Value;

namespace {

constexpr int kTriesToCreateBehindUpdate = 20;

// A write that is tried again says what it has to say again.
class Warnings {
 public:
  explicit Warnings(Call& call) : call_(call), said_before_(call.warnings.size()) {}
  void forget() { call_.warnings.resize(said_before_); }

 private:
  Call& call_;
  const std::size_t said_before_;
};

}  // namespace

catalog::StrategyContext strategy_context(const Call& call, std::string_view subresource) {
  return {.group = call.resource->group,
          .version = call.resource->version,
          .resource = call.resource->name,
          .subresource = subresource,
          .namespace_name = call.info.namespace_name,
          .user = call.user.name,
          .user_info = &call.user_info(),
          .namespace_labels =
              [&call] {
                const Resource* namespaces = call.catalog->find("", "v1", "namespaces");
                store::RecordPtr record = call.services.store.get(
                    object_key(*namespaces, "", call.info.namespace_name));
                return record ? parse_stored(*record)["metadata"]["labels"] : Value();
              },
          .now = call.started.text(),
          .allow_privileged = call.services.allow_privileged};
}

admission::Review review_of(Call& call, admission::Operation operation, bool dry_run,
                            const Value& options) {
  // A patch updates or creates; the options that admission gets name the operation.
  Value told = options;
  if (told["kind"].as_string() == "PatchOptions") {
    told.set("kind",
             operation == admission::Operation::kCreate ? "CreateOptions" : "UpdateOptions");
    told.erase("force");
  }
  return admission::Review{.operation = operation,
                           .catalog = *call.catalog,
                           .resource = *call.resource,
                           .subresource = call.info.subresource,
                           .namespace_name = call.info.namespace_name,
                           .name = call.info.name,
                           .user = call.user,
                           .dry_run = dry_run,
                           .options = std::move(told),
                           .audit = &call.audit_annotations,
                           .refusal = &call.open.refusal,
                           .authorization = call.open.reopen(call),
                           .loop = &call.exchange->loop(),
                           .now = call.started.text(),
                           .trace = call.trace.get(),
                           .webhooks = call.services.conversion};
}

void take_warnings(Call& call, const admission::Review& review) {
  for (std::string& w : review.warnings) call.warnings.push_back(std::move(w));
  review.warnings.clear();
}

Task<Result<void>> admit(Call& call, admission::Review& review) {
  Result<void> admitted = co_await call.services.admission.mutate(review);
  if (admitted) admitted = co_await call.services.admission.validate(review);
  take_warnings(call, review);
  co_return admitted;
}

Task<Result<void>> settle_on(Call& call, Value sent, WriteOptions options) {
  if (!call.open.has_conditions()) co_return Result<void>{};
  admission::Review review = review_of(call, admission::Operation::kCreate, options.dry_run,
                                       options.document);
  review.object = std::move(sent);
  Result<void> admitted = co_await admit(call, review);
  if (admitted) call.open.close();
  co_return admitted;
}

authz::Asking asking(const Services& services, const authz::Attributes& attributes) {
  bool is_open = services.conditional_authorization && authz::may_be_conditional(attributes);
  return is_open ? authz::Asking::kConditionsAware : authz::Asking::kFolded;
}

Task<Result<Written>> write_new(Call& call, Value object, const WriteOptions& options) {
  Write write(call, WriteKind::kCreate, options);
  write.made = &object;
  Warnings warnings(call);
  for (;; ++write.tries, warnings.forget()) {
    Result<Next> next = co_await attempt(write);
    if (!next) co_return fail(next.error());
    if (*next == Next::kDone) co_return Written{std::move(write.result), true};
  }
}

Task<Result<Written>> write_change(Call& call, Change change) {
  Write write(call, change.kind, change.options);
  write.change = &change;
  write.key = object_key(*call.resource, call.info.namespace_name, call.info.name);
  if (may_be_blind(call)) {
    Result<void> judged = co_await judge_blindly(call);
    if (!judged) co_return fail(judged.error());
  }
  Warnings warnings(call);
  for (;; ++write.tries, warnings.forget()) {
    Result<Next> next = co_await attempt(write);
    if (!next) co_return fail(next.error());
    if (*next == Next::kDone) co_return Written{std::move(write.result), false};
    if (*next == Next::kAgain) continue;
    if (!change.make) co_return fail(not_found(*call.resource, call.info.name));
    Result<void> may = co_await call.open.ask_to_create(call);
    if (!may) co_return fail(may.error());
    Result<Value> made = change.make();
    if (!made) co_return fail(made.error());
    if (change.checks_uid)
      if (auto ok = check_uid(write, *made); !ok) co_return fail(ok.error());
    Result<Written> written = co_await write_new(call, std::move(*made), change.options);
    const bool is_there_now = !written && written.error().reason == Reason::kAlreadyExists;
    if (!is_there_now || write.tries >= kTriesToCreateBehindUpdate) co_return written;
  }
}

Task<Result<Value>> write_removal(Call& call, Removal removal) {
  const WriteOptions options{.dry_run = removal.options.dry_run,
                             .document = removal.options.document};
  Write write(call, removal.kind, options);
  write.removal = &removal;
  write.key = removal.key;
  Warnings warnings(call);
  for (;; ++write.tries, warnings.forget()) {
    Result<Next> next = co_await attempt(write);
    if (!next) co_return fail(next.error());
    if (*next == Next::kDone) co_return std::move(write.result);
    if (*next == Next::kMissing)
      co_return fail(not_found(*call.resource, removal.key.substr(removal.key.rfind('/') + 1)));
  }
}

}  // namespace cardea::rest
