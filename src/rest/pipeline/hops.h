#pragma once
#include <string>
#include <string_view>

#include "authz/request_info.h"
#include "base/result.h"
#include "http/message.h"

namespace cardea::rest::pipeline {

// The servers that passed a review on to this one (authz::kViaHeader); empty for other requests.
std::string hops(const http::Request& request, const authz::RequestInfo& info);

// An error with the status 508 when this server is among them, or when they are too many: servers
// ask each other in a circle. An asking server takes it for a denial, whatever its failure policy
// is, so that the sender of a review gains nothing by a made-up header.
Result<void> check_hops(std::string_view hops, std::string_view server_id);

}  // namespace cardea::rest::pipeline
