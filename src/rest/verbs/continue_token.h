#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/store.h"

namespace cardea::rest {

// Where the next page of a list begins, and in which state. Opaque to clients.
struct ContinueToken {
  store::Revision revision = 0;  // negative: whatever is current, since the state of the first page
                                 // is gone
  std::string start;             // the rest of the key after the collection's prefix
};

std::string encode(const ContinueToken& token);
Result<ContinueToken> decode_continue(std::string_view text);

}  // namespace cardea::rest
