#pragma once
#include <chrono>
#include <memory>

#include "base/task.h"
#include "rest/aggregation/aggregator.h"
#include "rest/call.h"

namespace cardea::rest {

// Hands an authorized request on to the server that an APIService names, with the user's name in
// headers and without the client's credentials, and its answer back. `longest` is for all of it,
// 0: for ever.
//
// INVARIANT: the request was allowed as it is. What conditions or permissions on fields left open
// cannot be settled here, where nobody reads the object, and is refused.
Task<Result<Answer>> forward(Call& call, const Aggregator& aggregator,
                             std::shared_ptr<const Remote> remote,
                             std::chrono::milliseconds longest);

// The parts of it that need no connection.

// The headers of the request, and X-Remote-User, -Uid, -Group and -Extra-* for the user. An error
// when a header cannot carry the user exactly: another user would arrive.
Result<http::Headers> headers_for_server(const http::Request& request, const authz::User& user,
                                         bool is_upgrade);

// The path and query as they were understood here, and not as they were sent: nobody is asked about
// one path and another one is called. An error for paths that servers read in different ways.
Result<std::string> target_for_server(const authz::RequestInfo& info);

}  // namespace cardea::rest
