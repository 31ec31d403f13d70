#pragma once
#include <cstdio>
#include <cstdlib>
#include <expected>

#include "base/error.h"

namespace cardea {

// A value or an error. Exceptions do not leave a room.
template <typename T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(Error error) {
  return std::unexpected<Error>(std::move(error));
}

}  // namespace cardea

// Stops the process with a message: for bugs in Cardea, never for the content of a request.
#define CARDEA_CHECK(condition)                                                          \
  do {                                                                                   \
    if (!(condition)) [[unlikely]] {                                                     \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)
