#include "cel/authorizer.h"

#include "base/names.h"
#include "base/strings.h"
#include "cel/eval/frame.h"
#include "cel/lib/libraries.h"

namespace cardea::cel {
namespace {

using Args = const Value*;

struct DecisionValue {
  AuthorizationAnswer::Decision decision;
  std::string_view reason, error;
  bool errored;
};

const AuthorizerHandle& handle(const Value& v) {
  return *static_cast<const AuthorizerHandle*>(v.opaque);
}
const DecisionValue& decision(const Value& v) {
  return *static_cast<const DecisionValue*>(v.opaque);
}

// The functions copy, so that several checks can begin with the same one.
template <typename Change>
Value changed(Frame& f, const Value& from, Kind kind, Change change) {
  auto* made = f.arena.make<AuthorizerHandle>(handle(from));
  change(made->query);
  return Value::of_opaque(kind, made);
}

Value path(Frame& f, Args a, std::size_t) {
  if (trim(a[1].string()).empty()) return f.error("path must not be empty");
  return changed(f, a[0], Kind::kPathCheck, [&](AuthorizationQuery& q) {
    q.resource_request = false;
    q.path = a[1].string();
  });
}
Value group(Frame& f, Args a, std::size_t) {
  return changed(f, a[0], Kind::kGroupCheck,
                 [&](AuthorizationQuery& q) { q.group = a[1].string(); });
}
Value service_account(Frame& f, Args a, std::size_t) {
  if (!dns_subdomain_problems(a[2].string()).empty())
    return f.error("Invalid service account name");
  if (!dns_label_problems(a[1].string()).empty() && !dns_subdomain_problems(a[1].string()).empty())
    return f.error("Invalid service account namespace");
  return changed(f, a[0], Kind::kAuthorizer, [&](AuthorizationQuery& q) {
    q.service_account_namespace = a[1].string();
    q.service_account_name = a[2].string();
  });
}
Value resource(Frame& f, Args a, std::size_t) {
  if (trim(a[1].string()).empty()) return f.error("resource must not be empty");
  return changed(f, a[0], Kind::kResourceCheck,
                 [&](AuthorizationQuery& q) { q.resource = a[1].string(); });
}
template <std::string_view AuthorizationQuery::* kPart>
Value with_part(Frame& f, Args a, std::size_t) {
  return changed(f, a[0], Kind::kResourceCheck,
                 [&](AuthorizationQuery& q) { q.*kPart = a[1].string(); });
}
template <std::string_view AuthorizationQuery::* kPart, bool AuthorizationQuery::* kFlag>
Value with_selector(Frame& f, Args a, std::size_t) {
  return changed(f, a[0], Kind::kResourceCheck, [&](AuthorizationQuery& q) {
    q.*kPart = a[1].string();
    q.*kFlag = true;
  });
}

Value check(Frame& f, Args a, std::size_t) {
  AuthorizerHandle h = handle(a[0]);
  h.query.verb = a[1].string();
  if (h.asks == nullptr) return f.error("no authorizer to ask");
  const AuthorizationAnswer answer = h.asks->check(h.query);
  return Value::of_opaque(Kind::kDecision, f.arena.make<DecisionValue>(DecisionValue{
                                               answer.decision, f.arena.copy(answer.reason),
                                               f.arena.copy(answer.error), !answer.error.empty()}));
}
Value allowed(Frame&, Args a, std::size_t) {
  return Value::of(decision(a[0]).decision == AuthorizationAnswer::kAllow &&
                   !decision(a[0]).errored);
}
Value reason(Frame&, Args a, std::size_t) {
  return Value::of_text(decision(a[0]).reason);
}
Value errored(Frame&, Args a, std::size_t) {
  return Value::of(decision(a[0]).errored);
}
Value error(Frame&, Args a, std::size_t) {
  return Value::of_text(decision(a[0]).error);
}

using Q = AuthorizationQuery;
#define AUTHZ "kubernetes.authorization."
constexpr OverloadRow kRows[] = {
    {"path", "authorizer_path", AUTHZ "Authorizer.(string) " AUTHZ "PathCheck", path},
    {"group", "authorizer_group", AUTHZ "Authorizer.(string) " AUTHZ "GroupCheck", group},
    {"serviceAccount", "authorizer_serviceaccount",
     AUTHZ "Authorizer.(string, string) " AUTHZ "Authorizer", service_account},
    {"resource", "groupcheck_resource", AUTHZ "GroupCheck.(string) " AUTHZ "ResourceCheck",
     resource},
    {"subresource", "resourcecheck_subresource",
     AUTHZ "ResourceCheck.(string) " AUTHZ "ResourceCheck", with_part<&Q::subresource>},
    {"namespace", "resourcecheck_namespace", AUTHZ "ResourceCheck.(string) " AUTHZ "ResourceCheck",
     with_part<&Q::space>},
    {"name", "resourcecheck_name", AUTHZ "ResourceCheck.(string) " AUTHZ "ResourceCheck",
     with_part<&Q::name>},
    {"check", "pathcheck_check", AUTHZ "PathCheck.(string) " AUTHZ "Decision", check},
    {"check", "resourcecheck_check", AUTHZ "ResourceCheck.(string) " AUTHZ "Decision", check},
    {"errored", "decision_errored", AUTHZ "Decision.() bool", errored},
    {"error", "decision_error", AUTHZ "Decision.() string", error},
    {"allowed", "decision_allowed", AUTHZ "Decision.() bool", allowed},
    {"reason", "decision_reason", AUTHZ "Decision.() string", reason},
};
constexpr OverloadRow kSelectorRows[] = {
    {"fieldSelector", "authorizer_fieldselector",
     AUTHZ "ResourceCheck.(string) " AUTHZ "ResourceCheck",
     with_selector<&Q::field_selector, &Q::has_field_selector>},
    {"labelSelector", "authorizer_labelselector",
     AUTHZ "ResourceCheck.(string) " AUTHZ "ResourceCheck",
     with_selector<&Q::label_selector, &Q::has_label_selector>},
};

}  // namespace

std::span<const OverloadRow> authorizer_overloads() {
  return kRows;
}
std::span<const OverloadRow> selector_overloads() {
  return kSelectorRows;
}

}  // namespace cardea::cel
