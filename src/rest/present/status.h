#pragma once
#include <string>
#include <string_view>

#include "base/error.h"
#include "catalog/catalog.h"
#include "json/value.h"

namespace cardea::rest {

// The one place where an Error becomes the `v1.Status` a client reads.
json::Value status_document(const Error& error);
int status_code(const Error& error);

// What a delete answers when nothing is left to show.
json::Value success_document(const catalog::Resource& resource, std::string_view name,
                             std::string_view uid);

// Errors about one object of a resource, in Kubernetes' words.
Error not_found(const catalog::Resource& resource, std::string_view name);
Error already_exists(const catalog::Resource& resource, std::string_view name);
Error conflict(const catalog::Resource& resource, std::string_view name, std::string_view why);
Error modified_conflict(const catalog::Resource& resource, std::string_view name);
Error unknown_resource();  // a known group, an unknown resource
Error method_not_allowed();
Error verb_not_supported(const catalog::Resource& resource, std::string_view verb);  // by a custom
                                                                                     // resource, or
                                                                                     // a part of it

}  // namespace cardea::rest
