#include "rest/watch/watch_event.h"

#include "base/strings.h"
#include "json/print.h"
#include "rest/present/presentation.h"
#include "rest/present/status.h"
#include "rest/present/stored_protobuf.h"
#include "rest/write/object_rules.h"
#include "rest/write/stored_object.h"
#include "schema/wire/decode.h"
#include "schema/wire/protobuf_writer.h"

namespace cardea::rest {

using json::Value;

namespace {

bool is_plain(const WatchView& v) {
  return v.view.shape == View::Shape::kObject && v.resource == v.storage && !v.resource->is_custom;
}

// A document that is in the shape of the view already.
std::string framed(std::string_view type, const Value& document, const WatchView& v) {
  if (v.view.format != Format::kProtobuf)
    return cat("{\"type\":\"", type, "\",\"object\":", json::print_object(document), "}\n");
  const schema::Schema* form = protobuf_type(*v.catalog, document);
  if (!form) return framed("ERROR", status_document(not_in_protobuf(document)), v);
  return schema::watch_frame(type, schema::encode_enveloped(*form, document).bytes);
}

// The object as it lies in the record.
std::string plain_event(std::string_view type, const store::Record& record,
                        store::Revision revision, const WatchView& v) {
  if (v.view.format == Format::kProtobuf) {
    // The last state of a deleted object has another revision than the one that was kept.
    if (revision == record.mod_revision)
      return schema::watch_frame(type, stored_protobuf(record, *v.storage).bytes);
    return framed(type, parse_stored(record, revision), v);
  }
  std::string out = cat("{\"type\":\"", type, "\",\"object\":");
  append_stored(out, record, false, revision);
  out += "}\n";
  return out;
}

}  // namespace

void WatchEvent::set_converted(const catalog::Resource& resource, Value current, Value previous) {
  parsed_for_ = &resource;
  current_ = std::move(current);
  previous_ = std::move(previous);
}

const Value& WatchEvent::current(const WatchView& v) {
  if (parsed_for_ != v.resource) {
    current_.reset();
    previous_.reset();
    parsed_for_ = v.resource;
  }
  if (!current_) current_ = converted(parse_stored(*event_->record), *v.storage, *v.resource);
  return *current_;
}

const Value& WatchEvent::previous(const WatchView& v) {
  if (parsed_for_ != v.resource) {
    current_.reset();
    previous_.reset();
    parsed_for_ = v.resource;
  }
  if (!previous_)
    previous_ = converted(parse_stored(*event_->previous, event_->revision), *v.storage,
                          *v.resource);
  return *previous_;
}

// What this change is to someone who sees only what their selection matches; empty: nothing.
std::string_view WatchEvent::type_for(const WatchView& v) {
  bool exists = event_->type == store::EventType::kPut;
  // What cannot be read is not shown as something else: watchers keep what they know.
  if (exists && event_->record->value().empty()) return "";
  bool existed = event_->previous != nullptr;
  bool all = v.selection.selects_all();
  bool matches = exists && (all || v.selection.matches(current(v)));
  bool matched = existed && (all || v.selection.matches(previous(v)));
  if (matches) return matched ? "MODIFIED" : "ADDED";
  return matched ? "DELETED" : "";
}

std::shared_ptr<const std::string> WatchEvent::bytes_for(const WatchView& v) {
  // A watcher of one name need not look at the others.
  const std::string& name = v.selection.name();
  if (!name.empty() && !is_key_of(key(), name)) return nullptr;
  std::string_view type = type_for(v);
  if (type.empty()) return nullptr;
  for (const Encoded& e : encoded_)
    if (e.type == type && e.form.same_form(v)) return e.bytes;
  bool gone = type == "DELETED";
  std::string bytes;
  if (is_plain(v))
    bytes = plain_event(type, gone ? *event_->previous : *event_->record, event_->revision, v);
  else
    bytes = encode_event(type, gone ? previous(v) : current(v), v);
  encoded_.push_back({v, type, std::make_shared<const std::string>(std::move(bytes))});
  return encoded_.back().bytes;
}

std::string encode_event(std::string_view type, const Value& object, const WatchView& v) {
  Frame frame{.view = v.view,
              .catalog = v.catalog.get(),
              .resource = v.resource,
              .include_object = v.include_object,
              .table_headers = v.table_headers,
              .now = v.clock->now()};
  auto form = shaped(object, false, frame);
  return framed(type, form ? *form : object, v);
}

std::string added_event(const store::Record& record, const WatchView& v) {
  if (is_plain(v)) return plain_event("ADDED", record, record.mod_revision, v);
  return encode_event("ADDED", converted(parse_stored(record), *v.storage, *v.resource), v);
}

std::string bookmark_event(store::Revision revision, bool ends_initial_events, const WatchView& v) {
  Value metadata = Value::object({{"resourceVersion", std::to_string(revision)}});
  if (ends_initial_events)
    metadata.set("annotations", Value::object({{"k8s.io/initial-events-end", "true"}}));
  Value object = Value::object({{"kind", v.resource->kind},
                                {"apiVersion", v.resource->api_version()},
                                {"metadata", metadata}});
  if (!v.resource->is_custom) object = schema::normalize(*v.resource->schema, object);
  return encode_event("BOOKMARK", object, v);
}

std::string error_event(const Error& error, const WatchView& v) {
  return framed("ERROR", status_document(error), v);
}

}  // namespace cardea::rest
