#include "rest/subresources.h"

#include <algorithm>

#include "base/strings.h"
#include "rest/status.h"
#include "rest/verbs.h"

namespace cardea::rest {
namespace {

bool allows(const catalog::Subresource& s, std::string_view verb) {
  return std::ranges::find(s.verbs, verb) != s.verbs.end();
}

// Subresources that are the object itself, with rules of their own about what a write may touch.
bool is_object_view(const catalog::Resource& r, const catalog::Subresource& s) {
  return s.kind.empty() || (s.kind == r.kind && s.name != "scale");
}

}  // namespace

Task<Result<Answer>> serve_subresource(Call& call) {
  const catalog::Subresource& s = *call.subresource;
  if (!allows(s, call.info.verb)) co_return fail(method_not_allowed());
  if (is_object_view(*call.resource, s)) {
    if (call.info.verb == "get") {
      Result<Answer> answer = co_await get(call);
      co_return answer;
    }
    if (call.info.verb == "update") {
      Result<Answer> answer = co_await update(call);
      co_return answer;
    }
    if (call.info.verb == "patch") {
      Result<Answer> answer = co_await patch(call);
      co_return answer;
    }
  }
  co_return fail(Error::of(Reason::kNotImplemented, cat("the subresource ", quoted(s.name), " is not served")));
}

}  // namespace cardea::rest
