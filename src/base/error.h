#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cardea {

// Why something failed, in Kubernetes' own words. Each has one HTTP status code.
enum class Reason {
  kUnknown,
  kBadRequest,
  kUnauthorized,
  kForbidden,
  kNotFound,
  kMethodNotAllowed,
  kNotAcceptable,
  kAlreadyExists,
  kConflict,
  kGone,
  kExpired,
  kRequestEntityTooLarge,
  kUnsupportedMediaType,
  kInvalid,
  kTooManyRequests,
  kInternalError,
  kNotImplemented,
  kServiceUnavailable,
  kTimeout,
};

std::string_view reason_name(Reason reason);  // "NotFound"; "" for kUnknown
int http_status(Reason reason);               // 404

// One cause of a failure, usually one field of an object.
struct Cause {
  std::string reason;   // "FieldValueRequired"
  std::string message;  // "Required value: name or generateName is required"
  std::string field;    // "metadata.name"
};

// What a failure is about. Every part may be empty.
struct ErrorDetails {
  std::string name;
  std::string group;
  std::string kind;
  std::string uid;
  std::vector<Cause> causes;
  int retry_after_seconds = 0;
};

// The one error type of the project: a reason for programs, a message for people, and the
// object it is about. A value: cheap to move, safe to share.
struct Error {
  Reason reason = Reason::kInternalError;
  std::string message;
  std::shared_ptr<const ErrorDetails> details;  // may be null
  int code = 0;                                 // overrides the reason's HTTP status when not 0

  static Error of(Reason reason, std::string message) {
    return {reason, std::move(message), nullptr, 0};
  }
  Error&& with(ErrorDetails d) && {
    details = std::make_shared<const ErrorDetails>(std::move(d));
    return std::move(*this);
  }
};

inline Error bad_request(std::string message) {
  return Error::of(Reason::kBadRequest, std::move(message));
}
inline Error internal_error(std::string message) {
  return Error::of(Reason::kInternalError, std::move(message));
}

}  // namespace cardea
