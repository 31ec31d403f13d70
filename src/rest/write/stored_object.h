#pragma once
#include <string>
#include <string_view>

#include "catalog/catalog.h"
#include "http/message.h"
#include "json/value.h"
#include "store/record.h"

namespace cardea::rest {

// The stored form of objects: JSON with `kind`, `apiVersion` and `metadata` first, in the
// storage version, without a resourceVersion. The resourceVersion is the record's revision and
// is inserted when the object is read, so that a read of an unchanged object sends the stored
// bytes.

// The key of an object; that of the collection when `name` is empty.
std::string object_key(const catalog::Resource& resource, std::string_view namespace_name,
                       std::string_view name);
std::string collection_prefix(const catalog::Resource& resource, std::string_view namespace_name);

// Whether it may be the key of an object with this name; no name is that of all.
bool is_key_of(std::string_view key, std::string_view name);

std::string stored_bytes(const json::Value& object);

// The object with its resourceVersion. Parsed anew each time: stored objects are kept as bytes.
json::Value parse_stored(const store::Record& record);
// The same as of another revision, as the last state of a deleted object is shown.
json::Value parse_stored(const store::Record& record, store::Revision revision);

// Appends the object as JSON with its resourceVersion; without kind and apiVersion when `is_item`,
// as in lists of built-in kinds.
void append_stored(std::string& out, const store::Record& record, bool is_item);
void append_stored(std::string& out, const store::Record& record, bool is_item,
                   store::Revision revision);

// The object as pieces that point into the record.
http::Body stored_body(store::RecordPtr record);

}  // namespace cardea::rest
