#pragma once
#include <chrono>
#include <optional>

#include "http/message.h"

namespace cardea::authn {

// How long an answer may be used without a new request, by its headers (RFC 9111, section
// 4.2.1): s-maxage, else max-age, else the time from Date to Expires. Zero: not at all.
// nullopt: the headers do not say, or cannot be read.
std::optional<std::chrono::seconds> lifetime_of(const http::Headers& headers);

}  // namespace cardea::authn
