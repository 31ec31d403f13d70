#pragma once
#include <string_view>

#include "base/result.h"
#include "json/value.h"
#include "schema/schema.h"

namespace cardea::schema {

// Kubernetes' Protobuf envelope: four magic bytes, then a message that names the kind and holds the
// object.
inline constexpr std::string_view kProtobufMagic("k8s\0", 4);

struct Envelope {
  std::string_view api_version, kind;
  std::string_view raw;           // the object's message
  std::string_view content_type;  // of `raw`; empty: Protobuf
};

// `bytes` with the magic. Borrows from them.
Result<Envelope> open_envelope(std::string_view bytes);

// The object as JSON, read by the field numbers of a built-in type. Unknown fields are skipped, as
// Protobuf does; a malformed message is a BadRequest. Nothing is defaulted or normalized.
Result<json::Value> decode_protobuf(const Schema& schema, std::string_view message);

}  // namespace cardea::schema
