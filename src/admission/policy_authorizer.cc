#include "admission/policy_authorizer.h"

#include "authz/current_chain.h"
#include "base/strings.h"
#include "net/loop.h"

namespace cardea::admission {
namespace {

cel::AuthorizationAnswer answer_of(const authz::Decision& decision) {
  cel::AuthorizationAnswer out;
  out.decision = decision.kind == authz::Decision::Kind::kAllow       ? cel::AuthorizationAnswer::kAllow
                 : decision.kind == authz::Decision::Kind::kNoOpinion ? cel::AuthorizationAnswer::kNoOpinion
                                                                      : cel::AuthorizationAnswer::kDeny;
  out.reason = decision.reason.text();
  out.error = decision.error;
  return out;
}

}  // namespace

authz::Attributes PolicyAuthorizer::Question::attributes() const {
  authz::Attributes a(user);
  a.is_resource_request = is_resource_request;
  a.verb = verb;
  a.path = path;
  if (!is_resource_request) return a;
  a.api_group = group;
  a.api_version = "*";
  a.namespace_name = space;
  a.resource = resource;
  a.subresource = subresource;
  a.name = name;
  a.selectors = selectors.get();
  return a;
}

PolicyAuthorizer::Question PolicyAuthorizer::question(const cel::AuthorizationQuery& q) const {
  Question out{.key = {}, .user = user_, .is_resource_request = q.resource_request, .path = std::string(q.path), .verb = std::string(q.verb),
               .group = std::string(q.group), .resource = std::string(q.resource), .subresource = std::string(q.subresource),
               .space = std::string(q.space), .name = std::string(q.name), .selectors = nullptr};
  if (!q.service_account_name.empty()) {
    out.user = {};
    out.user.name = cat("system:serviceaccount:", q.service_account_namespace, ":", q.service_account_name);
    out.user.groups = {"system:serviceaccounts", cat("system:serviceaccounts:", q.service_account_namespace)};
  }
  if (q.has_field_selector || q.has_label_selector) out.selectors = authz::read_selectors(q.field_selector, q.label_selector);
  for (const std::string_view part : {std::string_view(out.user.name), q.path, q.verb, q.group, q.resource, q.subresource, q.space, q.name,
                                      q.field_selector, q.label_selector}) {
    out.key += part;
    out.key += '\0';
  }
  out.key += q.resource_request ? 'r' : 'p';
  return out;
}

cel::AuthorizationAnswer PolicyAuthorizer::check(const cel::AuthorizationQuery& query) {
  Question asked = question(query);
  if (const auto known = answers_.find(asked.key); known != answers_.end()) return known->second;
  cel::AuthorizationAnswer denied;
  if (const auto verdict = chain_.decide(asked.attributes())) return answers_[asked.key] = answer_of(verdict->decision);
  if (!open_) open_ = std::move(asked);
  denied.error = "the answer is not there yet";
  return denied;
}

Task<bool> PolicyAuthorizer::settle(net::Loop* loop) {
  if (!open_) co_return false;
  const authz::Attributes attributes = open_->attributes();
  authz::Chain::Verdict verdict = co_await chain_.authorize(attributes);
  answers_[open_->key] = answer_of(verdict.decision);
  open_.reset();
  if (loop == nullptr) co_return true;
  const bool back = co_await await_callback<bool>([loop](auto done) { loop->post([done]() mutable { done(true); }); });
  co_return back;
}

}  // namespace cardea::admission
