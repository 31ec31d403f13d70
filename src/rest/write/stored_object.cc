#include "rest/write/stored_object.h"

#include "base/result.h"
#include "base/strings.h"
#include "json/print.h"
#include "json/stored_depth.h"
#include "rest/unreadable_records.h"

namespace cardea::rest {
namespace {

constexpr std::string_view kMetadata = "\"metadata\":{";

// Where the first member of metadata begins. kind and apiVersion hold no unescaped quotes, so the
// first match is the object's own.
std::size_t after_metadata(std::string_view value) {
  auto at = value.find(kMetadata);
  return at == std::string_view::npos ? at : at + kMetadata.size();
}

// In place of a record that cannot be read (rest/unreadable_records.h), for those that have to go
// on. It has no uid: nothing can be concluded from it.
json::Value nothing_but_a_name(std::string_view key, store::Revision revision) {
  return json::Value::object(
      {{"metadata", json::Value::object({{"name", key.substr(key.rfind('/') + 1)},
                                         {"resourceVersion", std::to_string(revision)}})}});
}

std::string revision_member(store::Revision revision, std::string_view value, std::size_t at) {
  return cat("\"resourceVersion\":\"", revision, value[at] == '}' ? "\"" : "\",");
}

}  // namespace

std::string collection_prefix(const catalog::Resource& resource, std::string_view namespace_name) {
  if (!resource.namespaced || namespace_name.empty()) return resource.storage_prefix;
  return cat(resource.storage_prefix, namespace_name, "/");
}

std::string object_key(const catalog::Resource& resource, std::string_view namespace_name,
                       std::string_view name) {
  return cat(collection_prefix(resource, namespace_name), name);
}

bool is_key_of(std::string_view key, std::string_view name) {
  return name.empty() || key.substr(key.rfind('/') + 1) == name;
}

std::string stored_bytes(const json::Value& object) {
  json::Value copy = object;
  copy.member("metadata").erase("resourceVersion");
  return json::print_object(copy);
}

json::Value parse_stored(const store::Record& record) {
  return parse_stored(record, record.mod_revision);
}

json::Value parse_stored(const store::Record& record, store::Revision revision) {
  auto value = json::parse(record.value(), json::kMaxStoredDepth);
  if (!value || !value->is_object() || !(*value)["metadata"].is_object())
    return nothing_but_a_name(record.key(), revision);
  value->member("metadata").set("resourceVersion", std::to_string(revision));
  return std::move(*value);
}

void append_stored(std::string& out, const store::Record& record, bool is_item) {
  append_stored(out, record, is_item, record.mod_revision);
}

void append_stored(std::string& out, const store::Record& record, bool is_item,
                   store::Revision revision) {
  std::string_view value = record.value();
  std::size_t at = after_metadata(value);
  if (at == std::string_view::npos)
    return json::print_to(out, nothing_but_a_name(record.key(), revision));
  if (is_item) {
    out += '{';
    out += kMetadata;
  } else {
    out += value.substr(0, at);
  }
  out += revision_member(revision, value, at);
  out += value.substr(at);
}

http::Body stored_body(store::RecordPtr record) {
  std::string_view value = record->value();
  std::size_t at = after_metadata(value);
  if (at == std::string_view::npos)
    return http::Body(json::print(nothing_but_a_name(record->key(), record->mod_revision)) + "\n");
  http::Body body(http::Piece{record, value.substr(0, at)});
  body.add(http::Piece::of(revision_member(record->mod_revision, value, at)));
  body.add(http::Piece{record, value.substr(at)});
  body.add(http::Piece::literal("\n"));
  return body;
}

}  // namespace cardea::rest
