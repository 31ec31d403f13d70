#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "json/value.h"
#include "schema/schema.h"

namespace cardea::schema {

// Writes objects in Kubernetes' Protobuf, byte for byte as kube-apiserver does. Pure functions,
// safe from any thread.
//
// The order is that of the field numbers. Scalars and structs that Go holds by value are written
// even when they are zero, pointers when they are set, lists and maps when they are not empty. So
// the value must have the form in which Kubernetes prints it (`normalize`, schema/wire/decode.h).

// The message of an object of a built-in type, without an envelope.
std::string encode_protobuf(const Schema& schema, const json::Value& value);

// An object in its envelope: the magic bytes, then a message that names the kind and holds the
// object's message.
struct Enveloped {
  std::string bytes;
  std::size_t message_at = 0, message_size = 0;

  std::string_view message() const {
    return std::string_view(bytes).substr(message_at, message_size);
  }
};

// Kind and version are those that `value` says.
Enveloped encode_enveloped(const Schema& schema, const json::Value& value);

// A list in its envelope, from the messages of its metadata and of its items.
std::string enveloped_list(std::string_view api_version, std::string_view kind,
                           std::string_view metadata, std::span<const std::string_view> items);

// One frame of a watch: its length in four bytes, then the event with an object in its envelope.
std::string watch_frame(std::string_view type, std::string_view enveloped);

}  // namespace cardea::schema
