#include "json/field_error.h"

#include <algorithm>
#include <unordered_set>

#include "base/strings.h"
#include "json/print.h"

namespace cardea::json {
namespace {

struct Row {
  FieldError::Type type;
  std::string_view title;
  std::string_view reason;
};

constexpr Row kRows[] = {
    {FieldError::Type::kNotFound, "Not found", "FieldValueNotFound"},
    {FieldError::Type::kRequired, "Required value", "FieldValueRequired"},
    {FieldError::Type::kDuplicate, "Duplicate value", "FieldValueDuplicate"},
    {FieldError::Type::kInvalid, "Invalid value", "FieldValueInvalid"},
    {FieldError::Type::kNotSupported, "Unsupported value", "FieldValueNotSupported"},
    {FieldError::Type::kForbidden, "Forbidden", "FieldValueForbidden"},
    {FieldError::Type::kTooLong, "Too long", "FieldValueTooLong"},
    {FieldError::Type::kTooMany, "Too many", "FieldValueTooMany"},
    {FieldError::Type::kInternal, "Internal error", "InternalError"},
    {FieldError::Type::kTypeInvalid, "Invalid value", "FieldValueTypeInvalid"},
    {FieldError::Type::kTooFew, "Too few", "FieldValueTooFew"},
};

const Row& row(FieldError::Type type) {
  return *std::ranges::find(kRows, type, &Row::type);
}

std::string value_text(const Value& value) {
  if (value.is_double()) return go_float(value.as_double());
  return value.is_string() ? quoted(value.as_string()) : print(value);
}

}  // namespace

std::string FieldError::body() const {
  std::string out(row(type).title);
  if (has_value) out += ": " + (shown.empty() ? value_text(value) : shown);
  if (!detail.empty()) out += ": " + detail;
  return out;
}

std::string FieldError::message() const {
  return (field.empty() ? "<nil>" : field) + ": " + body();
}

FieldError required(std::string field, std::string detail) {
  return {FieldError::Type::kRequired, std::move(field), std::move(detail), {}, false, {}};
}
FieldError duplicate(std::string field, Value value) {
  return {FieldError::Type::kDuplicate, std::move(field), "", std::move(value), true, {}};
}
FieldError invalid(std::string field, Value value, std::string detail) {
  return {
      FieldError::Type::kInvalid, std::move(field), std::move(detail), std::move(value), true, {}};
}
FieldError not_supported(std::string field, Value value,
                         const std::vector<std::string>& supported) {
  std::string detail;
  for (const std::string& s : supported)
    detail += (detail.empty() ? "supported values: " : ", ") + quoted(s);
  return {FieldError::Type::kNotSupported,
          std::move(field),
          std::move(detail),
          std::move(value),
          true,
          {}};
}
FieldError forbidden(std::string field, std::string detail) {
  return {FieldError::Type::kForbidden, std::move(field), std::move(detail), {}, false, {}};
}
FieldError too_long(std::string field, int max_bytes) {
  return {FieldError::Type::kTooLong,
          std::move(field),
          cat("may not be more than ", max_bytes, max_bytes == 1 ? " byte" : " bytes"),
          {},
          false,
          {}};
}
FieldError too_many(std::string field, int actual, int max) {
  return {FieldError::Type::kTooMany,
          std::move(field),
          cat("must have at most ", max, max == 1 ? " item" : " items"),
          actual,
          true,
          {}};
}
FieldError too_few(std::string field, int actual, int min) {
  return {FieldError::Type::kTooFew,
          std::move(field),
          cat("must have at least ", min, min == 1 ? " item" : " items"),
          actual,
          true,
          {}};
}
FieldError not_found(std::string field, Value value) {
  return {FieldError::Type::kNotFound, std::move(field), "", std::move(value), true, {}};
}
FieldError type_invalid(std::string field, Value value, std::string detail) {
  return {FieldError::Type::kTypeInvalid,
          std::move(field),
          std::move(detail),
          std::move(value),
          true,
          {}};
}

FieldError shown_as(FieldError error, std::string json) {
  error.shown = std::move(json);
  return error;
}

Error invalid_object(std::string_view group, std::string_view kind, std::string_view name,
                     const FieldErrors& errors) {
  ErrorDetails details{
      .name = std::string(name), .group = std::string(group), .kind = std::string(kind)};
  // Every error may quote a value as large as the request.
  constexpr std::size_t kMostBytes = 1u << 20;
  std::vector<std::string> messages;
  std::unordered_set<std::string> seen;
  std::size_t bytes = 0;
  for (const FieldError& e : errors) {
    if (bytes > kMostBytes) {
      messages.push_back(
          cat("and more: ", errors.size() - details.causes.size(), " further errors"));
      break;
    }
    details.causes.push_back(
        {std::string(row(e.type).reason), e.body(), e.field.empty() ? "<nil>" : e.field});
    bytes += details.causes.back().message.size() + e.field.size();
    if (auto text = e.message(); seen.insert(text).second) messages.push_back(std::move(text));
  }
  std::string qualified(kind);
  if (!group.empty()) qualified += cat(".", group);
  std::string all = messages.size() == 1 ? messages[0] : cat("[", join(messages, ", "), "]");
  return Error::of(Reason::kInvalid, cat(qualified, " ", quoted(name), " is invalid: ", all))
      .with(std::move(details));
}

}  // namespace cardea::json
