#include "authz/secondary_checks.h"

#include <utility>

#include "base/strings.h"

namespace cardea::authz {
namespace {

constexpr std::size_t kMostQuestions = 64;

// Tells questions apart.
std::string key_of(const cel::AuthorizationQuery& q) {
  std::string out(1, q.resource_request ? 'r' : 'p');
  for (std::string_view part : {q.path, q.verb, q.group, q.resource, q.subresource, q.space, q.name,
                                q.service_account_namespace, q.service_account_name,
                                q.has_field_selector ? q.field_selector : std::string_view(),
                                q.has_label_selector ? q.label_selector : std::string_view()}) {
    // With its length, so that no text can end one part and begin the next.
    out += cat(part.size(), ":", part);
  }
  return out;
}

cel::AuthorizationAnswer answer_of(const Decision& d) {
  using Answer = cel::AuthorizationAnswer;
  Answer::Decision kind = d.kind == Decision::Kind::kAllow  ? Answer::kAllow
                          : d.kind == Decision::Kind::kDeny ? Answer::kDeny
                                                            : Answer::kNoOpinion;
  return {kind, d.reason.text(), d.error};
}

}  // namespace

cel::AuthorizationAnswer SecondaryChecks::check(const cel::AuthorizationQuery& q) {
  if (!chain_ || !user_) return {.error = "there is no authorizer to ask"};
  User account;
  bool is_account = !q.service_account_name.empty();
  if (is_account)
    // As in Kubernetes: the user has not authenticated, so the permissions of all authenticated
    // users do not count.
    account = {.name = cat("system:serviceaccount:", q.service_account_namespace, ":",
                           q.service_account_name),
               .groups = {"system:serviceaccounts",
                          cat("system:serviceaccounts:", q.service_account_namespace)}};
  Attributes a(is_account ? account : *user_);
  a.is_resource_request = q.resource_request;
  a.verb = q.verb;
  std::shared_ptr<const Selectors> selectors;
  if (q.resource_request) {
    a.api_group = q.group;
    a.api_version = "*";
    a.resource = q.resource;
    a.subresource = q.subresource;
    a.namespace_name = q.space;
    a.name = q.name;
    selectors = read_selectors(q.has_field_selector ? q.field_selector : "",
                               q.has_label_selector ? q.label_selector : "");
    a.selectors = selectors.get();
  } else {
    a.path = q.path;
  }
  std::string key = key_of(q);
  if (auto known = known_.find(key); known != known_.end()) return known->second;
  if (auto verdict = chain_->decide(a)) return answer_of(verdict->decision);
  missing_.try_emplace(std::move(key), std::make_unique<OwnedAttributes>(a));
  return {.error = "the authorizer has not answered yet"};
}

Task<bool> SecondaryChecks::wait() {
  auto asked = std::exchange(missing_, {});
  if (known_.size() + asked.size() > kMostQuestions) co_return false;
  for (const auto& [key, question] : asked) {
    Chain::Verdict verdict = co_await chain_->authorize(question->get());
    known_.emplace(key, answer_of(verdict.decision));
  }
  co_return true;
}

}  // namespace cardea::authz
