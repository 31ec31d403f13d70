#include "rest/heavy_lanes.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "http/message.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

// Work that takes a few milliseconds. A byte of a written object costs about 100 ns over all steps,
// one of YAML 1 µs more; an object in a list about 10 µs when it is selected or converted.
constexpr std::size_t kHeavyBytes = 32 * 1024;
constexpr std::size_t kHeavyYamlBytes = 4 * 1024;
constexpr std::size_t kHeavySelectorBytes = 4 * 1024;
constexpr std::int64_t kHeavyObjects = 200;
constexpr int kLaneNiceness = 5;

bool has_heavy_body(const Call& call) {
  const http::Request& request = call.exchange->request();
  if (request.body.size() < kHeavyYamlBytes) return false;
  return request.body.size() >= kHeavyBytes || request.headers.get("content-type").contains("yaml");
}

bool is_heavy_list(const Call& call, const catalog::Resource& resource) {
  if (call.info.field_selector.size() + call.info.label_selector.size() >= kHeavySelectorBytes)
    return true;
  const auto keys = store::keys_with_prefix(collection_prefix(resource, call.info.namespace_name));
  return call.services.store.count(keys) >= kHeavyObjects;
}

bool is_heavy(const Call& call) {
  const authz::RequestInfo& info = call.info;
  // These last, on the loop of their connection.
  if (info.verb == "watch" || info.verb == "connect" || call.exchange->request().has_upgrade)
    return false;
  if (info.subresource == "exec" || info.subresource == "attach" ||
      info.subresource == "portforward" || info.subresource == "proxy" || info.subresource == "log")
    return false;
  if (has_heavy_body(call)) return true;
  const catalog::Resource* resource = call.catalog->find(info.api_group, info.api_version,
                                                         info.resource);
  if (resource && resource->is_computed()) return info.verb == "list";
  if (!resource || resource->storage_prefix.empty()) return false;
  if (info.verb == "list" || info.verb == "deletecollection") return is_heavy_list(call, *resource);
  if (info.name.empty()) return false;
  const auto record = call.services.store.get(
      object_key(*resource, info.namespace_name, info.name));
  return record && record->value().size() >= kHeavyBytes;
}

}  // namespace

HeavyLanes::HeavyLanes(std::size_t count)
    : loops_(std::max<std::size_t>(count, 1)), waiting_(loops_.size()) {
  for (std::size_t i = 0; i < loops_.size(); ++i)
    loops_.at(i).post([] {
      // Of this thread alone, on Linux. Without it lanes and loops share as equals.
      ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kLaneNiceness);
    });
}

HeavyLanes::~HeavyLanes() = default;

net::Loop* HeavyLanes::lane_for(const Call& call) {
  return is_heavy(call) ? &shortest() : nullptr;
}

net::Loop* HeavyLanes::lane_for(const authz::RequestInfo& info) {
  return info.path.starts_with("/openapi/") ? &shortest() : nullptr;
}

net::Loop& HeavyLanes::shortest() {
  auto at = std::ranges::min_element(
      waiting_, {}, [](const std::atomic<int>& n) { return n.load(std::memory_order_relaxed); });
  return loops_.at(static_cast<std::size_t>(at - waiting_.begin()));
}

HeavyLanes::Stay::Stay(HeavyLanes& lanes, const net::Loop& lane) {
  for (std::size_t i = 0; i < lanes.waiting_.size(); ++i)
    if (&lanes.loops_.at(i) == &lane) waiting_ = &lanes.waiting_[i];
  if (waiting_) waiting_->fetch_add(1, std::memory_order_relaxed);
}

HeavyLanes::Stay::~Stay() {
  if (waiting_) waiting_->fetch_sub(1, std::memory_order_relaxed);
}

void HeavyLanes::stop() {
  loops_.stop();
}

}  // namespace cardea::rest
