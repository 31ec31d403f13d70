#pragma once
#include <cstdio>
#include <cstdlib>
#include <expected>

#include "base/error.h"

namespace cardea {

// An answer or the error that kept it from coming. Exceptions do not cross a room's door.
template <typename T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(Error error) {
  return std::unexpected<Error>(std::move(error));
}

}  // namespace cardea

// Stops the process, loudly: for bugs of ours, never for what a client sends.
#define CARDEA_CHECK(condition)                                                          \
  do {                                                                                   \
    if (!(condition)) [[unlikely]] {                                                     \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)
