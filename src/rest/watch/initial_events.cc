#include "rest/watch/initial_events.h"

namespace cardea::rest {

store::EventPtr first_event(store::RecordPtr record) {
  const store::Revision revision = record->mod_revision;
  return std::make_shared<store::Event>(
      store::Event{store::EventType::kPut, revision, std::move(record), nullptr});
}

std::string InitialEvents::next_event(const WatchView& view) {
  const std::size_t at = next_++;
  if (at < objects_.size() && view.selection.selects_all())
    return added_event(*std::exchange(objects_[at], nullptr), view);
  WatchEvent event(at < objects_.size() ? first_event(std::move(objects_[at]))
                                        : std::move(changes_[at - objects_.size()]));
  auto bytes = event.bytes_for(view);
  return bytes ? *bytes : std::string();
}

}  // namespace cardea::rest
