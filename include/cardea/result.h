#pragma once
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <variant>

namespace cardea::v1 {

// Why something could not be done. A value.
struct Error {
  enum class Code : std::uint8_t {
    kInternal,        // a bug of the library
    kBadDocument,     // a text is not JSON or YAML, or not the expected document
    kBadQuestion,     // what is asked makes no sense: a field that must be there is empty
    kUnknownKind,     // nothing is known about this resource; load its CustomResourceDefinition
    kDoesNotCompile,  // an expression
    kEvaluation,      // an expression has no value: a division by zero, a key that is not there
    kCostLimit,       // an expression costs more than it may
  };
  Code code = Code::kInternal;
  std::string message;  // for a person
};

// A value, or the error that kept it from coming. The library throws no exceptions: this is how its
// functions fail. Ask before you take the value; value() of an error ends the process.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::move(value)) {}
  Result(Error error) : content_(std::move(error)) {}

  bool has_value() const { return content_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  const T& value() const& {
    if (!has_value()) std::abort();
    return *std::get_if<0>(&content_);
  }
  T&& value() && {
    if (!has_value()) std::abort();
    return std::move(*std::get_if<0>(&content_));
  }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }

  // Of a result without a value.
  const Error& error() const {
    if (has_value()) std::abort();
    return *std::get_if<1>(&content_);
  }

 private:
  std::variant<T, Error> content_;
};

// What a function gives that has nothing to say but that it is done.
struct Done {};
using Status = Result<Done>;

}  // namespace cardea::v1
