#include "feeds/node_graph_feed.h"

#include <algorithm>

#include "json/parse.h"

namespace cardea::feeds {
namespace {

using namespace authz::node;
using json::Value;

struct Source {
  std::string_view prefix;
  Kind kind;
};
constexpr Source kSources[] = {
    {"/registry/pods/", Kind::kPod},
    {"/registry/persistentvolumes/", Kind::kVolume},
    {"/registry/volumeattachments/", Kind::kVolumeAttachment},
    {"/registry/resourceslices/", Kind::kResourceSlice},
    {"/registry/podcertificaterequests/", Kind::kPodCertificateRequest},
};

Value parsed(const store::Record& record, bool& is_readable) {
  auto value = json::parse(record.value());
  is_readable &= value.has_value();
  return value ? std::move(*value) : Value();
}

// Most pods that are written often enough to matter run nowhere yet or never change what they refer
// to; those without a node need no parsing. Stored objects are printed by us, so the name is
// spelled in one way.
bool says_anything(const store::Record* record, std::string_view word) {
  return record && record->value().find(word) != std::string_view::npos;
}

Placement placement(Kind kind, const store::Record* record, bool& is_readable) {
  if (!says_anything(record, "\"nodeName\"")) return {};
  const Value object = parsed(*record, is_readable);
  return kind == Kind::kPod ? placement_of_pod(object) : placement_of(kind, object);
}

Binding binding(const store::Record* record, bool& is_readable) {
  return says_anything(record, "\"claimRef\"") ? binding_of(parsed(*record, is_readable))
                                               : Binding{};
}

}  // namespace

std::vector<std::string> NodeGraphFold::prefixes() const {
  std::vector<std::string> out;
  for (const Source& source : kSources) out.emplace_back(source.prefix);
  return out;
}

store::Folded NodeGraphFold::change(std::string_view key, const store::Record* before,
                                    const store::Record* after) {
  const auto* source = std::ranges::find_if(
      kSources, [&](const Source& s) { return key.starts_with(s.prefix); });
  bool was_readable = true, is_readable = true, is_same = true;
  if (source->kind == Kind::kVolume) {
    std::pair change{binding(before, was_readable), binding(after, is_readable)};
    is_same = change.first == change.second;
    if (!is_same) changes_.bindings.push_back(std::move(change));
  } else {
    std::pair change{placement(source->kind, before, was_readable),
                     placement(source->kind, after, is_readable)};
    is_same = change.first == change.second;
    if (!is_same) changes_.placements.push_back(std::move(change));
  }
  if (!is_readable) return store::Folded::kUnreadable;
  return is_same ? store::Folded::kSame : store::Folded::kChanged;
}

void NodeGraphFold::publish() {
  graph_.change(changes_);
  changes_ = {};
}

}  // namespace cardea::feeds
