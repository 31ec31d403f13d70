#include "rest/present/status.h"

#include "base/strings.h"

namespace cardea::rest {

using json::Value;

namespace {

Value details_document(const ErrorDetails& d) {
  Value out = Value::object();
  if (!d.name.empty()) out.set("name", d.name);
  if (!d.group.empty()) out.set("group", d.group);
  if (!d.kind.empty()) out.set("kind", d.kind);
  if (!d.uid.empty()) out.set("uid", d.uid);
  for (const Cause& c : d.causes) {
    Value cause = Value::object();
    if (!c.reason.empty()) cause.set("reason", c.reason);
    if (!c.message.empty()) cause.set("message", c.message);
    if (!c.field.empty()) cause.set("field", c.field);
    out.member("causes").push_back(std::move(cause));
  }
  if (d.retry_after_seconds) out.set("retryAfterSeconds", d.retry_after_seconds);
  return out;
}

Value base_document(std::string_view outcome) {
  return Value::object({{"kind", "Status"},
                        {"apiVersion", "v1"},
                        {"metadata", Value::object()},
                        {"status", outcome}});
}

ErrorDetails about(const catalog::Resource& r, std::string_view name) {
  return {.name = std::string(name), .group = r.group, .kind = r.name};
}

}  // namespace

int status_code(const Error& error) {
  return error.code ? error.code : http_status(error.reason);
}

Value status_document(const Error& error) {
  Value out = base_document("Failure");
  if (!error.message.empty()) out.set("message", error.message);
  if (auto name = reason_name(error.reason); !name.empty()) out.set("reason", name);
  if (error.details) out.set("details", details_document(*error.details));
  out.set("code", status_code(error));
  return out;
}

Value success_document(const catalog::Resource& resource, std::string_view name,
                       std::string_view uid) {
  Value out = base_document("Success");
  ErrorDetails d = about(resource, name);
  d.uid = uid;
  out.set("details", details_document(d));
  return out;
}

Error not_found(const catalog::Resource& r, std::string_view name) {
  if (!r.called.empty())
    return Error::of(Reason::kNotFound, cat(r.called, " ", quoted(name), " not found"))
        .with({.name = std::string(name), .kind = r.called});
  return Error::of(Reason::kNotFound, cat(r.qualified_name(), " ", quoted(name), " not found"))
      .with(about(r, name));
}

Error already_exists(const catalog::Resource& r, std::string_view name) {
  return Error::of(Reason::kAlreadyExists,
                   cat(r.qualified_name(), " ", quoted(name), " already exists"))
      .with(about(r, name));
}

Error conflict(const catalog::Resource& r, std::string_view name, std::string_view why) {
  return Error::of(Reason::kConflict, cat("Operation cannot be fulfilled on ", r.qualified_name(),
                                          " ", quoted(name), ": ", why))
      .with(about(r, name));
}

Error modified_conflict(const catalog::Resource& r, std::string_view name) {
  return conflict(r, name,
                  "the object has been modified; please apply your changes to the latest version "
                  "and try again");
}

Error unknown_resource() {
  return Error::of(Reason::kNotFound, "the server could not find the requested resource").with({});
}

Error method_not_allowed() {
  return Error::of(Reason::kMethodNotAllowed,
                   "the server does not allow this method on the requested resource")
      .with({});
}

Error verb_not_supported(const catalog::Resource& resource, std::string_view verb) {
  if (!resource.is_custom) return method_not_allowed();
  return Error::of(Reason::kMethodNotAllowed, cat(verb, " is not supported on resources of kind ",
                                                  quoted(resource.qualified_name())))
      .with({.group = resource.group, .kind = resource.name});
}

}  // namespace cardea::rest
