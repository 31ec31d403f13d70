#pragma once
#include "http/message.h"
#include "rest/call.h"

namespace cardea::rest {

// Turns what a verb said into the response the client asked for: tables, partial metadata, YAML, indentation,
// warnings. `resource` is null for paths that are no resource.
http::Response present(Result<Answer> answer, const View& view, const std::vector<std::string>& warnings,
                       const catalog::Resource* resource, const authz::Query& query, const Clock& clock);

// One object in the shape of the view.
json::Value present_object(const json::Value& object, const View& view, const catalog::Resource& resource,
                           const Clock& clock);

// Two spaces per level, as people read it.
std::string print_pretty(const json::Value& value);

}  // namespace cardea::rest
