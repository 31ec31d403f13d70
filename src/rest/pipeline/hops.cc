#include "rest/pipeline/hops.h"

#include "authz/attributes.h"
#include "base/strings.h"

namespace cardea::rest::pipeline {

std::string hops(const http::Request& request, const authz::RequestInfo& info) {
  if (!info.is_resource_request || info.verb != "create" || !info.resource.ends_with("reviews"))
    return "";
  return std::string(request.headers.get(authz::kViaHeader));
}

Result<void> check_hops(std::string_view hops, std::string_view server_id) {
  for (std::size_t count = 0; !hops.empty(); ++count) {
    const std::size_t comma = hops.find(',');
    const bool is_own = trim(hops.substr(0, comma)) == server_id;
    if (is_own || count == authz::kMostHops)
      return fail(Error{Reason::kInternalError,
                        is_own ? "this server is asked in a circle, because of its own question"
                               : "the question has come through too many servers",
                        nullptr, authz::kCircle});
    hops = comma == std::string_view::npos ? "" : hops.substr(comma + 1);
  }
  return {};
}

}  // namespace cardea::rest::pipeline
