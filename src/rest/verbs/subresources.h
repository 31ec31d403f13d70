#pragma once
#include "base/result.h"
#include "base/task.h"
#include "rest/call.h"

namespace cardea::rest {

// A request for a part of an object: status, scale, binding, eviction, approval... call.subresource
// is set.
Task<Result<Answer>> serve_subresource(Call& call);

// Resources that are answered but not stored: bindings, reviews, ComponentStatus, Decision.
Task<Result<Answer>> serve_unstored(Call& call);

Task<Result<Answer>> review_self(Call& call);          // SelfSubjectReview: the user of the request
Task<Result<Answer>> review_token(Call& call);         // TokenReview: the user of a token
Task<Result<Answer>> request_token(Call& call);        // serviceaccounts/token
Task<Result<Answer>> review_access(Call& call);        // SubjectAccessReview: may this user do it
Task<Result<Answer>> review_local_access(Call& call);  // the same in one namespace
Task<Result<Answer>> review_own_access(Call& call);    // may I?
Task<Result<Answer>> review_own_rules(Call& call);     // SelfSubjectRulesReview: the caller's
                                                       // permissions
Task<Result<Answer>> review_batch(Call& call);         // BatchSubjectAccessReview: up to a thousand
                                                       // questions
Task<Result<Answer>> review_who_can(Call& call);  // ResourceAccessReview: which subjects may do it
Task<Result<Answer>> review_explanation(Call& call);    // AccessExplanationReview: what each
                                                        // authorizer says
Task<Result<Answer>> review_impersonation(Call& call);  // ImpersonationReview: what acting as
                                                        // another user needs
Task<Result<Answer>> review_expression(Call& call);  // ExpressionReview: the value of an expression
Task<Result<Answer>> review_conditions(Call& call);  // AuthorizationConditionsReview: do these
                                                     // conditions hold
Task<Result<Answer>> serve_scale(Call& call);
Task<Result<Answer>> component_statuses(Call& call);  // ComponentStatus: get and list
Task<Result<Answer>> show_decisions(Call& call);      // Decision: get and list
Task<Result<Answer>> bind_pod(Call& call);            // pods/binding, and bindings themselves
Task<Result<Answer>> evict_pod(Call& call);           // pods/eviction
Task<Result<Answer>> connect(Call& call);             // exec, attach, portforward, proxy
// Whether a connection that was made may still be had: `options` are those that it was made with.
// Nothing is connected.
Task<Result<void>> may_still_connect(Call& call, json::Value options);
Task<Result<Answer>> read_log(Call& call);  // pods/log

}  // namespace cardea::rest
