#include "rest/pipeline/asked.h"

#include <algorithm>

#include "rest/pipeline/hops.h"
#include "rest/present/negotiation.h"

namespace cardea::rest::pipeline {

Result<Asked> ask(const http::Request& request) {
  auto info = authz::parse_request_info(request.method, request.path, request.query);
  if (!info) return fail(info.error());
  // What an earlier text of the proposal calls the same thing.
  if (info->api_group == "authorization.k8s.io" && info->resource == "admissionconditionsreviews")
    info->resource = "authorizationconditionsreviews";
  info->via = hops(request, *info);
  auto parameter = info->query.first("pretty");
  bool is_pretty = wants_pretty(request.headers.get("user-agent"), parameter.value_or(""),
                                parameter.has_value());
  return Result<Asked>(std::in_place, std::move(*info), is_pretty);
}

bool is_long_running(const authz::RequestInfo& info) {
  constexpr std::string_view kSubresources[] = {"attach", "exec", "log", "portforward", "proxy"};
  return info.is_resource_request &&
         (info.verb == "watch" || info.verb == "proxy" ||
          std::ranges::find(kSubresources, info.subresource) != std::end(kSubresources));
}

}  // namespace cardea::rest::pipeline
