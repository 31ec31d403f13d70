#include "rest/verbs/body.h"

#include <algorithm>

#include "base/strings.h"
#include "json/print.h"
#include "json/yaml.h"
#include "rest/audit_trail.h"
#include "rest/write/canonicalizer.h"
#include "rest/write/field_permissions.h"
#include "rest/write/object_rules.h"
#include "schema/wire/protobuf.h"

namespace cardea::rest {

using json::Document;
using json::Value;

namespace {

// The beginning of a body, for an error message: JSON as it is, anything else in hex.
std::string summary(std::string_view body) {
  constexpr std::size_t kShown = 30;
  if (body.empty()) return "<empty>";
  std::string_view head = body.substr(0, kShown);
  std::string out;
  if (body[0] == '{') {
    out = head;
  } else {
    constexpr char kHex[] = "0123456789abcdef";
    for (unsigned char c : head) {
      out += kHex[c >> 4];
      out += kHex[c & 15];
    }
  }
  return body.size() > kShown ? out + " ..." : out;
}

std::unexpected<Error> unrecognized(const Expected& e, std::string_view why,
                                    std::string_view body) {
  return fail(bad_request(cat("the object provided is unrecognized (must be of type ", e.kind,
                              "): ", why, " (", summary(body), ")")));
}

// An unknown kind of a built-in group.
Result<void> check_registered(const Expected& e, std::string_view version, std::string_view kind) {
  constexpr std::string_view kOtherSchemes[] = {"apiextensions.k8s.io", "apiregistration.k8s.io"};
  auto parts = split(version, '/');
  std::string_view group = parts.size() == 2 ? parts[0] : "";
  if (std::ranges::find(kOtherSchemes, std::string_view(e.group)) != std::end(kOtherSchemes))
    return {};
  if (e.catalog->kind_type(group, parts.back(), kind)) return {};
  return fail(
      bad_request(cat(kind, " in version ", quoted(parts.back()), " cannot be handled as a ",
                      e.kind, ": no kind ", quoted(kind), " is registered for version ",
                      quoted(version), " in scheme \"pkg/runtime/scheme.go:111\"")));
}

Result<void> check_version_and_kind(const Expected& e, const Value& object, std::string_view body) {
  if (!object.is_object() && !object.is_null())
    return unrecognized(e,
                        cat("couldn't get version/kind; json parse error: json: cannot unmarshal ",
                            json::go_kind(object),
                            " into Go value of type struct { APIVersion string "
                            "\"json:\\\"apiVersion,omitempty\\\"\"; "
                            "Kind string \"json:\\\"kind,omitempty\\\"\" }"),
                        body);
  for (std::string_view key : {"apiVersion", "kind"})
    if (const Value& v = object[key]; !v.is_null() && !v.is_string())
      return unrecognized(
          e,
          cat("couldn't get version/kind; json parse error: json: cannot unmarshal ",
              json::go_kind(v), " into Go struct field .", key, " of type string"),
          body);
  std::string_view version = object["apiVersion"].as_string(), kind = object["kind"].as_string();
  std::string want = e.group.empty() ? e.version : cat(e.group, "/", e.version);
  if (split(version, '/').size() > 2)
    return unrecognized(e, cat("unexpected GroupVersion string: ", version), body);
  if (e.resource->is_custom) {
    if (kind.empty()) return unrecognized(e, cat("Object 'Kind' is missing in '", body, "'"), body);
    if (version != want)
      return fail(bad_request(cat("the API version in the data (", version,
                                  ") does not match the expected API version (", want, ")")));
    if (kind != e.kind)
      return fail(bad_request(cat("the kind in the data (", kind,
                                  ") does not match the expected kind (", e.kind, ")")));
    return {};
  }
  if (version.empty()) version = want;
  if (kind.empty()) kind = e.kind;
  if (version == want && kind == e.kind) return {};
  if (kind != e.kind) {
    // Of a known kind, versions may be registered that are no longer served.
    if (auto ok = check_registered(e, version, kind); !ok) return ok;
    auto parts = split(version, '/');
    std::string internal_group = e.group.empty() ? "core" : std::string(split(e.group, '.')[0]);
    return fail(
        bad_request(cat(kind, " in version ", quoted(parts.back()), " cannot be handled as a ",
                        e.kind, ": converting (", parts.back(), ".", kind, ") to (", internal_group,
                        ".", e.kind, "): unknown conversion")));
  }
  return fail(bad_request(cat("the API version in the data (", version,
                              ") does not match the expected API version (", want, ")")));
}

Value kind_of(const schema::Envelope& envelope) {
  Value out = Value::object();
  // A version with more than one slash says nothing to Kubernetes.
  if (!envelope.api_version.empty() && std::ranges::count(envelope.api_version, '/') < 2)
    out.set("apiVersion", envelope.api_version);
  if (!envelope.kind.empty()) out.set("kind", envelope.kind);
  return out;
}

// An object in its Protobuf envelope, which names its kind.
Result<Document> read_enveloped(const schema::Schema* type, const schema::Envelope& envelope) {
  Value object = Value::object();
  if (type) {
    auto read = schema::decode_protobuf(*type, envelope.raw);
    if (!read) return fail(read.error());
    object = std::move(*read);
  }
  for (const json::Member& m : kind_of(envelope).members()) object.set(m.key(), m.value);
  return Document{std::move(object), {}, {}};
}

Result<Document> read_protobuf(const schema::Schema* type, std::string_view body) {
  auto envelope = schema::open_envelope(body);
  if (!envelope) return fail(envelope.error());
  return read_enveloped(type, *envelope);
}

// The same, of the expected kind.
Result<Document> read_protobuf(const Expected& e, std::string_view body) {
  auto envelope = schema::open_envelope(body);
  if (!envelope) return unrecognized(e, envelope.error().message, body);
  if (auto fits = check_version_and_kind(e, kind_of(*envelope), body); !fits)
    return fail(fits.error());
  auto read = read_enveloped(e.schema, *envelope);
  if (!read)
    return fail(bad_request(cat(e.kind, " in version ", quoted(e.version),
                                " cannot be handled as a ", e.kind, ": ", read.error().message)));
  return read;
}

Result<Value> finish(const Expected& e, const Document& document, std::string_view text,
                     FieldValidation validation, std::vector<std::string>& warnings,
                     SentObject* sent) {
  Document complete = document;
  complete.duplicates = document.duplicate_lines.empty() ? document.duplicates
                                                         : std::vector<std::string>();
  if (complete.value.is_null()) complete.value = Value::object();
  // A patch may replace the whole document.
  if (!complete.value.is_object())
    return fail(bad_request(cat("json: cannot unmarshal ", json::go_kind(complete.value),
                                " into Go value of type ", e.kind)));
  std::string api_version = e.group.empty() ? e.version : cat(e.group, "/", e.version);
  complete.value.set("kind", e.kind);
  complete.value.set("apiVersion", api_version);
  auto decoded = decode_form(*e.catalog, *e.resource, *e.schema, complete, text,
                             sent ? &sent->decoded : nullptr);
  if (!decoded) return fail(decoded.error());
  if (sent) sent->written = complete.value;
  if (!document.duplicate_lines.empty())
    decoded->strict.insert(decoded->strict.begin(), cat("yaml: unmarshal errors:\n  ",
                                                        join(document.duplicate_lines, "\n  ")));
  if (!decoded->strict.empty()) {
    if (validation == FieldValidation::kStrict)
      return fail(bad_request(schema::strict_error(decoded->strict)));
    if (validation == FieldValidation::kWarn)
      for (const std::string& s : decoded->strict) warnings.push_back(s);
  }
  // An empty list of owners is a wish, which the typed form would drop.
  if (const Value& owners = document.value["metadata"]["managedFields"];
      owners.is_array() && decoded->value["metadata"].is_object())
    decoded->value.member("metadata").set("managedFields", owners);
  return std::move(decoded->value);
}

}  // namespace

Expected Expected::object_of(const Call& call) {
  const catalog::Resource& r = *call.resource;
  const Canonicalizer* canonicalizer = call.services.canonicalizer &&
                                               call.services.canonicalizer->applies(r)
                                           ? call.services.canonicalizer
                                           : nullptr;
  return {call.catalog.get(),      &r, r.group, r.version, r.kind, r.schema, canonicalizer,
          call.info.namespace_name};
}

Expected Expected::body_of(const Call& call) {
  const catalog::Resource& r = *call.resource;
  const catalog::Subresource& s = *call.subresource;
  if (!s.schema || s.kind.empty() || s.kind == r.kind) return object_of(call);
  return {call.catalog.get(),
          &r,
          s.version.empty() ? r.group : s.group,
          s.version.empty() ? r.version : s.version,
          s.kind,
          s.schema};
}

Error body_too_large() {
  return Error::of(Reason::kRequestEntityTooLarge,
                   cat("Request entity too large: limit is ", kMaxBody));
}

Result<Document> read_document(Call& call, const schema::Schema* type) {
  http::Request& request = call.request();
  if (request.body_too_large) return fail(body_too_large());
  if (request.body.empty()) return Document{};
  auto format = body_format(request.headers.get("content-type"));
  if (!format) return fail(format.error());
  if (*format == Format::kProtobuf) return read_protobuf(type, request.body);
  if (*format == Format::kYaml) return json::parse_yaml(request.body, kMaxBody);
  auto document = json::parse_document(request.body);
  if (!document)
    return fail(bad_request(
        cat("couldn't get version/kind; json parse error: ", document.error().message)));
  return document;
}

Result<Value> read_object(Call& call, const Expected& e, FieldValidation validation) {
  http::Request& request = call.request();
  if (request.body_too_large) return fail(body_too_large());
  auto format = body_format(request.headers.get("content-type"));
  if (!format) return fail(format.error());
  std::string_view body = request.body;
  Document document;
  std::string_view text;
  if (*format == Format::kProtobuf) {
    // Custom resources have no Protobuf form.
    if (e.resource->is_custom && e.schema == e.resource->schema)
      return fail(Error::of(
          Reason::kUnsupportedMediaType,
          "the body of the request was in an unknown format - accepted media types include: "
          "application/json, application/yaml"));
    auto read = read_protobuf(e, body);
    if (!read) return fail(read.error());
    document = std::move(*read);
  } else if (*format == Format::kYaml) {
    auto parsed = json::parse_yaml(body, kMaxBody);
    if (!parsed) return unrecognized(e, parsed.error().message, body);
    document = std::move(*parsed);
  } else {
    auto parsed = json::parse_document(body);
    if (!parsed)
      return unrecognized(
          e, cat("couldn't get version/kind; json parse error: ", parsed.error().message), body);
    document = std::move(*parsed);
    text = body;
  }
  if (e.canonicalizer && document.value.is_object()) {
    auto canonical = e.canonicalizer->canonical(*e.resource, e.namespace_name, document.value);
    if (!canonical) return canonical;
    document.value = std::move(*canonical);
    text = {};
  }
  if (auto fits = check_version_and_kind(e, document.value, body); !fits) return fail(fits.error());
  auto object = finish(e, document, text, validation, call.warnings,
                       e.schema == call.resource->schema ? sent_object(call) : nullptr);
  if (!object && object.error().reason == Reason::kBadRequest)
    return fail(bad_request(cat(e.kind, " in version ", quoted(e.version),
                                " cannot be handled as a ", e.kind, ": ", object.error().message)));
  if (object && call.trail) call.trail->sent_object(*object, body.size());
  return object;
}

Result<Value> check_object(const Expected& e, const Value& object, FieldValidation validation,
                           std::vector<std::string>& warnings, SentObject* sent) {
  if (!e.canonicalizer || !object.is_object())
    return finish(e, Document{object, {}}, "", validation, warnings, sent);
  auto canonical = e.canonicalizer->canonical(*e.resource, e.namespace_name, object);
  if (!canonical) return canonical;
  return finish(e, Document{std::move(*canonical), {}}, "", validation, warnings, sent);
}

}  // namespace cardea::rest
