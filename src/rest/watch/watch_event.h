#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "catalog/catalog.h"
#include "rest/present/negotiation.h"
#include "rest/verbs/selection.h"
#include "store/store.h"

namespace cardea::rest {

// A client's view of a collection: which objects, and in which form.
struct WatchView {
  std::shared_ptr<const catalog::Catalog> catalog;
  const catalog::Resource* resource = nullptr;
  const catalog::Resource* storage = nullptr;
  Selection selection;
  View view;
  const Clock* clock = nullptr;
  std::string include_object;  // of tables
  bool table_headers = true;   // columns are named in the first event alone

  // Two watchers with the same form read the same bytes.
  bool same_form(const WatchView& other) const {
    return resource == other.resource && view.shape == other.view.shape &&
           view.format == other.view.format && view.table_version == other.view.table_version &&
           include_object == other.include_object && table_headers == other.table_headers;
  }
};

// A change of the store for many watchers: parsed and encoded at most once per form.
class WatchEvent {
 public:
  explicit WatchEvent(store::EventPtr event) : event_(std::move(event)) {}

  // The objects in the version of `resource`, where a webhook converts them: then the views of that
  // version alone may ask for bytes. Null where the event has none.
  void set_converted(const catalog::Resource& resource, json::Value current, json::Value previous);

  store::Revision revision() const { return event_->revision; }
  const store::EventPtr& change() const { return event_; }
  std::string_view key() const { return event_->record->key(); }
  // The bytes for this view; null when the change does not affect it.
  std::shared_ptr<const std::string> bytes_for(const WatchView& view);

 private:
  struct Encoded {
    WatchView form;
    std::string_view type;
    std::shared_ptr<const std::string> bytes;
  };
  const json::Value& current(const WatchView& view);
  const json::Value& previous(const WatchView& view);
  std::string_view type_for(const WatchView& view);

  store::EventPtr event_;
  const catalog::Resource* parsed_for_ = nullptr;
  std::optional<json::Value> current_, previous_;
  std::vector<Encoded> encoded_;
};

// In the form of the view: `{"type":"ADDED","object":{...}}` and a newline, or a frame of Protobuf.
std::string encode_event(std::string_view type, const json::Value& object, const WatchView& view);
std::string added_event(const store::Record& record, const WatchView& view);
std::string bookmark_event(store::Revision revision, bool ends_initial_events,
                           const WatchView& view);
std::string error_event(const Error& error, const WatchView& view);

}  // namespace cardea::rest
