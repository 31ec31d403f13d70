#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/parse.h"
#include "rest/call.h"
#include "rest/verbs/options.h"

namespace cardea::rest {

struct SentObject;  // rest/write/field_permissions.h

// The required type of a body: `kind` of `api_version` with this schema.
struct Expected {
  const catalog::Catalog* catalog;
  const catalog::Resource* resource;  // decides between built-in and custom rules
  std::string group, version, kind;
  const schema::Schema* schema;
  const Canonicalizer* canonicalizer = nullptr;  // that reads this kind; null: none does
  std::string_view namespace_name = {};          // of the request

  static Expected object_of(const Call& call);
  static Expected body_of(const Call& call);  // of call.subresource
};

// Reads the request's body as an object: format, size, kind and version, field types, unknown
// and duplicate fields by `validation` (refused, or added to the call's warnings), defaults.
// Every error is a 4xx in Kubernetes' words.
Result<json::Value> read_object(Call& call, const Expected& expected, FieldValidation validation);

// The same for an object that is already parsed, as patches and apply make them. `sent`, where
// given, receives the part that the client wrote: without defaults.
Result<json::Value> check_object(const Expected& expected, const json::Value& object,
                                 FieldValidation validation, std::vector<std::string>& warnings,
                                 SentObject* sent = nullptr);

// The body without any expectation of its kind; null when there is none. A Protobuf one is read as
// `type`.
Result<json::Document> read_document(Call& call, const schema::Schema* type);

// The parsed body of a patch.
Result<json::Value> read_patch(Call& call, PatchType type);
// The fields that it names.
schema::NamedFields named_by(PatchType type, const json::Value& patch,
                             const schema::Schema& schema);

constexpr std::size_t kMaxBody = 3u << 20;
Error body_too_large();

}  // namespace cardea::rest
