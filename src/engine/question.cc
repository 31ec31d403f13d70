#include "engine/question.h"

#include "base/strings.h"

namespace cardea::engine {
namespace {

std::string problem_of(const v1::Request& r, const authz::Selectors* selectors) {
  if (r.user.name.empty() && r.user.groups.empty())
    return "the request names neither a user nor a group";
  if (r.verb.empty()) return "the request has no verb";
  if (r.resource.empty() && r.path.empty())
    return "the request names neither a resource nor a path";
  if (!r.resource.empty() && !r.path.empty())
    return "the request names a resource and a path; it can be about one of them";
  if (selectors && !selectors->field_error.empty())
    return cat("the field selector cannot be read: ", selectors->field_error);
  if (selectors && !selectors->label_error.empty())
    return cat("the label selector cannot be read: ", selectors->label_error);
  return "";
}

}  // namespace

Question::Question(const v1::Request& request)
    : request_(request),
      user_{.name = request.user.name,
            .uid = request.user.uid,
            .groups = request.user.groups,
            .extra = request.user.extra},
      selectors_(authz::read_selectors(request_.field_selector, request_.label_selector)),
      problem_(problem_of(request_, selectors_.get())),
      attributes_(user_) {
  authz::Attributes& a = attributes_;
  a.is_resource_request = !request_.resource.empty();
  a.verb = request_.verb;
  if (a.is_resource_request) {
    a.api_group = request_.group;
    a.api_version = request_.version;
    a.resource = request_.resource;
    a.subresource = request_.subresource;
    a.namespace_name = request_.namespace_name;
    a.name = request_.name;
    a.selectors = selectors_.get();
  } else {
    a.path = request_.path;
  }
}

authz::Attributes Question::with_verb(std::string_view verb) const {
  authz::Attributes out = attributes_;
  out.verb = verb;
  return out;
}

}  // namespace cardea::engine
