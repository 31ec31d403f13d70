#include "base/error.h"

#include <array>

namespace cardea {
namespace {

struct Row {
  Reason reason;
  std::string_view name;
  int status;
};

constexpr std::array kRows = {
    Row{Reason::kUnknown, "", 500},
    Row{Reason::kBadRequest, "BadRequest", 400},
    Row{Reason::kUnauthorized, "Unauthorized", 401},
    Row{Reason::kForbidden, "Forbidden", 403},
    Row{Reason::kNotFound, "NotFound", 404},
    Row{Reason::kMethodNotAllowed, "MethodNotAllowed", 405},
    Row{Reason::kNotAcceptable, "NotAcceptable", 406},
    Row{Reason::kAlreadyExists, "AlreadyExists", 409},
    Row{Reason::kConflict, "Conflict", 409},
    Row{Reason::kGone, "Gone", 410},
    Row{Reason::kExpired, "Expired", 410},
    Row{Reason::kRequestEntityTooLarge, "RequestEntityTooLarge", 413},
    Row{Reason::kUnsupportedMediaType, "UnsupportedMediaType", 415},
    Row{Reason::kInvalid, "Invalid", 422},
    Row{Reason::kTooManyRequests, "TooManyRequests", 429},
    Row{Reason::kInternalError, "InternalError", 500},
    Row{Reason::kNotImplemented, "NotImplemented", 501},
    Row{Reason::kServiceUnavailable, "ServiceUnavailable", 503},
    Row{Reason::kTimeout, "Timeout", 504},
};

const Row& row(Reason reason) {
  for (const Row& r : kRows)
    if (r.reason == reason) return r;
  return kRows[0];
}

}  // namespace

std::string_view reason_name(Reason reason) {
  return row(reason).name;
}
int http_status(Reason reason) {
  return row(reason).status;
}

}  // namespace cardea
