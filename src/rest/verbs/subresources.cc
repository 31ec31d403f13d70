#include "rest/verbs/subresources.h"

#include <algorithm>

#include "base/strings.h"
#include "rest/policy/reviews.h"
#include "rest/present/status.h"
#include "rest/verbs/verbs.h"

namespace cardea::rest {
namespace {

struct Row {
  std::string_view name;
  Task<Result<Answer>> (*serve)(Call&);
};

constexpr Row kSpecial[] = {
    {"scale", serve_scale}, {"binding", bind_pod}, {"eviction", evict_pod},
    {"exec", connect},      {"attach", connect},   {"portforward", connect},
    {"log", read_log},      {"proxy", connect},    {"token", request_token},
};

// The others are the object itself, with their own rules about the fields that a write may change.
constexpr Row kVerbs[] = {{"get", get}, {"update", update}, {"patch", patch}};

constexpr Row kUnstored[] = {
    {"bindings", bind_pod},
    {"componentstatuses", component_statuses},
    {"decisions", show_decisions},
    {"selfsubjectreviews", review_self},
    {"tokenreviews", review_token},
    {"subjectaccessreviews", review_access},
    {"localsubjectaccessreviews", review_local_access},
    {"selfsubjectaccessreviews", review_own_access},
    {"selfsubjectrulesreviews", review_own_rules},
    {"batchsubjectaccessreviews", review_batch},
    {"resourceaccessreviews", review_who_can},
    {"accessexplanationreviews", review_explanation},
    {"impersonationreviews", review_impersonation},
    {"expressionreviews", review_expression},
    {"authorizationconditionsreviews", review_conditions},
};

}  // namespace

Task<Result<Answer>> serve_unstored(Call& call) {
  // They share the names of others.
  if (policy::serves_review(*call.resource)) {
    Result<Answer> reviewed = co_await policy::serve_review(call);
    co_return reviewed;
  }
  const Row* row = std::ranges::find(kUnstored, std::string_view(call.resource->name), &Row::name);
  if (row == std::end(kUnstored))
    co_return fail(Error::of(Reason::kNotImplemented,
                             cat(call.resource->qualified_name(), " is not served yet")));
  Result<Answer> answer = co_await row->serve(call);
  co_return answer;
}

Task<Result<Answer>> serve_subresource(Call& call) {
  const catalog::Subresource& s = *call.subresource;
  if (std::ranges::find(s.verbs, call.info.verb) == s.verbs.end())
    co_return fail(verb_not_supported(*call.resource, call.info.verb));
  const Row* row = std::ranges::find(kSpecial, std::string_view(s.name), &Row::name);
  if (row == std::end(kSpecial)) {
    if (!s.kind.empty() && s.kind != call.resource->kind)
      co_return fail(Error::of(Reason::kNotImplemented,
                               cat("the subresource ", quoted(s.name), " is not served")));
    row = std::ranges::find(kVerbs, std::string_view(call.info.verb), &Row::name);
    if (row == std::end(kVerbs)) co_return fail(method_not_allowed());
  }
  Result<Answer> answer = co_await row->serve(call);
  co_return answer;
}

}  // namespace cardea::rest
