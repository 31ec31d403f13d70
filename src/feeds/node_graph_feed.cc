#include "feeds/node_graph_feed.h"

#include "json/parse.h"

namespace cardea::feeds {

using json::Value;
using namespace authz::node;

namespace {

struct Source {
  const char* prefix;
  Kind kind;
};
constexpr Source kSources[] = {
    {"/registry/pods/", Kind::kPod},
    {"/registry/persistentvolumes/", Kind::kVolume},
    {"/registry/volumeattachments/", Kind::kVolumeAttachment},
    {"/registry/resourceslices/", Kind::kResourceSlice},
    {"/registry/podcertificaterequests/", Kind::kPodCertificateRequest},
};

Value parsed(const store::RecordPtr& record) {
  auto value = json::parse(record->value());
  return value ? std::move(*value) : Value();
}

// Most pods that are written often enough to matter run nowhere yet or never change what they refer
// to; those without a node need no parsing. Stored objects are printed by us, so the name is
// spelled in one way.
bool says_anything(const store::RecordPtr& record, std::string_view word) {
  return record && !record->deleted() && record->value().find(word) != std::string_view::npos;
}

Placement placement(Kind kind, const store::RecordPtr& record) {
  if (!says_anything(record, "\"nodeName\"")) return {};
  return kind == Kind::kPod ? placement_of_pod(parsed(record)) : placement_of(kind, parsed(record));
}

Binding binding(const store::RecordPtr& record) {
  return says_anything(record, "\"claimRef\"") ? binding_of(parsed(record)) : Binding{};
}

void take(Graph& graph, Kind kind, const store::RecordPtr& before, const store::RecordPtr& after) {
  if (kind == Kind::kVolume)
    graph.change(binding(before), binding(after));
  else
    graph.change(placement(kind, before), placement(kind, after));
}

}  // namespace

Result<std::unique_ptr<NodeGraphFeed>> NodeGraphFeed::start(store::Store& store, Graph& graph) {
  auto feed = std::make_unique<NodeGraphFeed>();
  for (const Source& source : kSources) {
    auto present = store.range({.keys = store::keys_with_prefix(source.prefix)});
    if (!present) return fail(present.error());
    std::vector<Placement> placements;
    std::vector<Binding> bindings;
    for (const store::RecordPtr& record : present->records) {
      if (source.kind == Kind::kVolume)
        bindings.push_back(binding(record));
      else
        placements.push_back(placement(source.kind, record));
    }
    graph.add(placements, bindings);
    auto watch = store.watch(source.prefix, present->revision,
                             [&graph, kind = source.kind](std::span<const store::EventPtr> events) {
                               for (const store::EventPtr& e : events)
                                 take(graph, kind, e->previous, e->record);
                             });
    if (!watch) return fail(watch.error());
    feed->watches_.push_back(std::move(*watch));
  }
  return feed;
}

}  // namespace cardea::feeds
