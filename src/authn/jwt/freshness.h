#pragma once
#include <chrono>
#include <optional>

#include "http/message.h"

namespace cardea::authn {

// For how long the headers of an answer say that it may be used without asking again (RFC 9111,
// section 4.2.1): s-maxage, else max-age, else the time from Date to Expires. Zero: not at all.
// nullopt: they say nothing that can be read.
std::optional<std::chrono::seconds> lifetime_of(const http::Headers& headers);

}  // namespace cardea::authn
