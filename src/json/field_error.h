#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "json/value.h"

namespace cardea::json {

// What is wrong with one field of an object, in the words of Kubernetes' validation:
// `spec.replicas: Invalid value: -1: must be greater than or equal to 0`.
struct FieldError {
  enum class Type {
    kNotFound,
    kRequired,
    kDuplicate,
    kInvalid,
    kNotSupported,
    kForbidden,
    kTooLong,
    kTooMany,
    kInternal,
    kTypeInvalid,
    kTooFew,
  };

  Type type;
  std::string field;   // "spec.containers[0].name"; "<nil>" prints for an empty one
  std::string detail;  // may be empty
  Value value;         // what was found, where the type shows it
  bool has_value = true;
  std::string shown;  // when not empty, printed instead of `value`: a type whose fields have an
                      // order of their own

  std::string body() const;     // "Invalid value: -1: must be greater than or equal to 0"
  std::string message() const;  // field + ": " + body
};

using FieldErrors = std::vector<FieldError>;

FieldError required(std::string field, std::string detail = "");
FieldError duplicate(std::string field, Value value);
FieldError invalid(std::string field, Value value, std::string detail);
FieldError not_supported(std::string field, Value value, const std::vector<std::string>& supported);
FieldError forbidden(std::string field, std::string detail);
FieldError too_long(std::string field, int max_bytes);
FieldError too_many(std::string field, int actual, int max);
FieldError too_few(std::string field, int actual, int min);
FieldError not_found(std::string field, Value value);
FieldError type_invalid(std::string field, Value value, std::string detail);

// The same error showing its value as this JSON text.
FieldError shown_as(FieldError error, std::string json);

// The 422 that names the object: `Pod "x" is invalid: ...`, one cause per field.
Error invalid_object(std::string_view group, std::string_view kind, std::string_view name,
                     const FieldErrors& errors);

}  // namespace cardea::json
