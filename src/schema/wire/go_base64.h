#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cardea::schema {

// Reads standard base64 as Go does, line breaks allowed. Gives nothing when the text is already in
// canonical form, else the canonical text, or the error `illegal base64 data at input byte 4`.
Result<std::optional<std::string>> canonical_base64(std::string_view text);

}  // namespace cardea::schema
