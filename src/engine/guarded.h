#pragma once
#include <exception>
#include <string>
#include <utility>

#include "base/error.h"
#include "cardea/result.h"

namespace cardea::engine {

// Our own error in the words of the public interface.
inline v1::Error public_error(v1::Error::Code code, const Error& error) {
  return {code, error.message};
}

// Runs `work`. An exception of a library below, or of the allocator, ends here: `otherwise` makes
// the answer of its text.
template <typename Work, typename Otherwise>
auto guarded(Work work, Otherwise otherwise) noexcept -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception& e) {
    return otherwise(std::string(e.what()));
  } catch (...) {
    return otherwise(std::string("unknown exception"));
  }
}

// The same for what gives a Result.
template <typename Work>
auto guarded(Work work) noexcept -> decltype(work()) {
  return guarded(std::move(work), [](std::string what) -> decltype(work()) {
    return v1::Error{v1::Error::Code::kInternal, std::move(what)};
  });
}

}  // namespace cardea::engine
