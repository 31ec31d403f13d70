#include "rest/write/service_network.h"

#include <algorithm>

#include "base/strings.h"
#include "base/time_parse.h"
#include "catalog/kinds/networking/ip_address.h"
#include "json/print.h"
#include "rest/at_rest/kubernetes_encoding.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {

using catalog::Ip;
using json::Value;

namespace {

constexpr std::string_view kServices = "/registry/services/specs/";
constexpr std::string_view kAddresses = "/registry/ipaddresses/";
constexpr std::string_view kRanges = "/registry/servicecidrs/";
constexpr std::string_view kDefaultRange = "kubernetes";

std::string key_of(const Ip& ip) {
  return cat(kAddresses, ip.text());
}

std::set<Ip> addresses_of(const Value* service) {
  return service ? catalog::service_addresses(*service) : std::set<Ip>();
}

std::vector<Ip> difference(const std::set<Ip>& from, const std::set<Ip>& without) {
  std::vector<Ip> out;
  std::ranges::set_difference(from, without, std::back_inserter(out));
  return out;
}

bool is_usable(const Value& service_cidr) {
  if (service_cidr["metadata"].has("deletionTimestamp")) return false;
  for (const Value& condition : service_cidr["status"]["conditions"].items())
    if (condition["type"].as_string() == "Ready") return condition["status"].as_string() == "True";
  return true;  // whoever sets the condition may be on its way
}

// The server made it and owns all of it.
Value owners_of_address(const std::string& now) {
  const Value here = Value::object();
  Value labels = Value::object({{".", here},
                                {"f:ipaddress.kubernetes.io/ip-family", here},
                                {cat("f:", catalog::kManagedByLabel), here}});
  Value parent = Value::object(
      {{".", here}, {"f:name", here}, {"f:namespace", here}, {"f:resource", here}});
  Value fields = Value::object({{"f:metadata", Value::object({{"f:labels", std::move(labels)}})},
                                {"f:spec", Value::object({{"f:parentRef", std::move(parent)}})}});
  return Value::array({Value::object({{"apiVersion", "networking.k8s.io/v1"},
                                      {"fieldsType", "FieldsV1"},
                                      {"fieldsV1", std::move(fields)},
                                      {"manager", "cardea"},
                                      {"operation", "Update"},
                                      {"time", now}})});
}

std::set<std::int64_t> ports_of(const Value* service) {
  std::set<std::int64_t> out;
  if (!service) return out;
  for (const Value& port : (*service)["spec"]["ports"].items())
    if (const std::int64_t number = port["nodePort"].as_int(); number > 0) out.insert(number);
  const std::int64_t health = (*service)["spec"]["healthCheckNodePort"].as_int();
  if (health > 0) out.insert(health);
  return out;
}

}  // namespace

Result<std::unique_ptr<ServiceNetwork>> ServiceNetwork::make(store::Store& store,
                                                             const Clock& clock, Random& random,
                                                             const std::string& ranges,
                                                             const std::string& ports) {
  auto parts = split(ports, '-');
  auto first = parse_int(parts[0]), last = parts.size() == 2 ? parse_int(parts[1]) : std::nullopt;
  if (!first || !last || *first < 1 || *last > 65535 || *first > *last)
    return fail(bad_request(cat("`", ports, "` is not a range of ports; write it as 30000-32767")));
  auto parsed = catalog::ServiceRanges::parse(ranges);
  if (!parsed) return fail(parsed.error());
  catalog::ServiceAllocator allocator(std::move(*parsed), static_cast<int>(*first),
                                      static_cast<int>(*last));
  std::unique_ptr<ServiceNetwork> network(
      new ServiceNetwork(store, clock, random, std::move(allocator), {*first, *last}));
  for (std::string_view prefix : {kRanges, kAddresses, kServices, kNodePortsKey})
    if (auto ok = network->follow(prefix); !ok) return fail(ok.error());
  return network;
}

Result<void> ServiceNetwork::follow(std::string_view prefix) {
  auto range = store_.range({.keys = store::keys_with_prefix(prefix)});
  if (!range) return fail(range.error());
  for (const store::RecordPtr& record : range->records)
    note({.type = store::EventType::kPut, .revision = record->mod_revision, .record = record});
  auto watch = store_.watch(std::string(prefix), range->revision,
                            [this](std::span<const store::EventPtr> events) {
                              for (const store::EventPtr& e : events) note(*e);
                            });
  if (!watch) return fail(watch.error());
  watches_.push_back(std::move(*watch));
  return {};
}

void ServiceNetwork::note(const store::Event& event) {
  const std::string_view key = event.record->key();
  std::lock_guard lock(mutex_);
  if (key.starts_with(kServices)) return note_service(event);
  if (key.starts_with(kRanges)) return note_range(event);
  if (key == kNodePortsKey) return note_ports(event);
  const auto ip = catalog::parse_ip(key.substr(kAddresses.size()));
  if (!ip) return;
  if (event.type == store::EventType::kPut)
    in_use_.hold(*ip);
  else
    in_use_.release(*ip);
}

void ServiceNetwork::note_service(const store::Event& event) {
  if (event.previous) in_use_.remove(parse_stored(*event.previous));
  if (event.type == store::EventType::kPut) in_use_.add(parse_stored(*event.record));
}

void ServiceNetwork::note_range(const store::Event& event) {
  const std::string name(event.record->key().substr(kRanges.size()));
  stored_.erase(name);
  if (event.type == store::EventType::kPut) {
    const Value object = parse_stored(*event.record);
    StoredRange& range = stored_[name];
    range.revision = event.revision;
    range.is_usable = is_usable(object);
    for (const Value& text : object["spec"]["cidrs"].items())
      if (const auto cidr = catalog::parse_cidr(text.as_string()))
        range.ranges.emplace_back(*cidr, std::string(text.as_string()), name);
  }
  // The range that every cluster has comes first.
  const auto usual = stored_.find(std::string(kDefaultRange));
  std::vector<catalog::ServiceRange> all = usual == stored_.end() ? configured_
                                           : usual->second.is_usable
                                               ? usual->second.ranges
                                               : std::vector<catalog::ServiceRange>();
  for (const auto& [other, range] : stored_)
    if (other != kDefaultRange && range.is_usable)
      all.insert(all.end(), range.ranges.begin(), range.ranges.end());
  allocator_ = allocator_.with(std::move(all));
}

void ServiceNetwork::note_ports(const store::Event& event) {
  std::set<std::int64_t> taken;
  if (event.type == store::EventType::kPut)
    if (const auto range = NodePortRange::read(event.record->value()))
      range->each([&taken](std::int64_t port) { taken.insert(port); });
  in_use_.hold_ports(std::move(taken));
}

std::string ServiceNetwork::warning() {
  std::lock_guard lock(mutex_);
  const auto usual = stored_.find(std::string(kDefaultRange));
  if (usual == stored_.end()) return "";
  const std::vector<catalog::ServiceRange>& has = usual->second.ranges;
  // A second family may be added to the first.
  const bool fits = has.size() <= configured_.size() &&
                    std::ranges::equal(
                        has.begin(), has.end(), configured_.begin(),
                        configured_.begin() + static_cast<std::ptrdiff_t>(has.size()), {},
                        &catalog::ServiceRange::text, &catalog::ServiceRange::text);
  if (fits) return "";
  return "--service-cluster-ip-range is not the range of the ServiceCIDR `kubernetes`, which stays "
         "in use";
}

bool ServiceNetwork::applies(const catalog::Resource& r) const {
  return r.storage_prefix == kServices;
}

Result<Reservation> ServiceNetwork::allocate(Value& object, const Value* old, bool dry_run) {
  std::lock_guard lock(mutex_);
  catalog::ServiceAllocator::Choice choice(random_.next(), dry_run);
  auto error = old ? allocator_.update(object, *old, in_use_, choice)
                   : allocator_.create(object, in_use_, choice);
  if (error) return fail(std::move(*error));
  if (dry_run) return Reservation();
  // Only what this attempt has taken goes back: the object may name what another service has.
  return Reservation([this, taken = in_use_.add(object), meta = object["metadata"]] {
    std::lock_guard again(mutex_);
    in_use_.remove(taken);
    std::string key = cat(kServices, meta["namespace"].as_string(), "/", meta["name"].as_string());
    if (store::RecordPtr current = store_.get(key)) in_use_.add(parse_stored(*current));
  });
}

std::string ServiceNetwork::bytes_of_address(const Ip& ip, const Value& service) {
  const Value& meta = service["metadata"];
  Value object = catalog::ip_address_of_service(ip, meta["namespace"].as_string(),
                                                meta["name"].as_string());
  const std::string now = rfc3339(clock_.now());
  Value& own = object.member("metadata");
  own.set("uid", make_uid(random_));
  own.set("creationTimestamp", now);
  own.set("managedFields", owners_of_address(now));
  return json::print_object(object);
}

Result<Claims> ServiceNetwork::claims(const Value* old, const Value* now) {
  Claims out;
  const std::set<Ip> before = addresses_of(old), after = addresses_of(now);
  std::set<std::string> relied_on;
  for (const Ip& ip : difference(after, before)) {
    std::lock_guard lock(mutex_);
    const catalog::ServiceRange* range = allocator_.ranges().with(ip);
    if (!range)
      return fail(Error::of(Reason::kConflict, cat("the range of the address ", ip.text(),
                                                   " was taken away; please try again")));
    // A ServiceCIDR that changes may be on its way out.
    if (!range->owner().empty() && relied_on.insert(range->owner()).second)
      out.compares.push_back({cat(kRanges, range->owner()), stored_[range->owner()].revision});
    out.compares.push_back({key_of(ip), 0});
    out.ops.push_back(store::Put{key_of(ip), bytes_of_address(ip, *now)});
  }
  for (const Ip& ip : difference(before, after)) {
    const store::RecordPtr record = store_.get(key_of(ip));
    const Value& meta = (*old)["metadata"];
    if (!record || !catalog::is_address_of(parse_stored(*record), meta["namespace"].as_string(),
                                           meta["name"].as_string()))
      continue;
    out.compares.push_back({key_of(ip), record->mod_revision});
    out.ops.push_back(store::Delete{key_of(ip)});
  }
  if (!store_.is_always_fresh())
    if (auto ok = claim_ports(old, now, out); !ok) return fail(ok.error());
  return out;
}

// Other servers on the same store give out ports too.
Result<void> ServiceNetwork::claim_ports(const Value* old, const Value* now, Claims& out) {
  const std::set<std::int64_t> before = ports_of(old), after = ports_of(now);
  if (before == after) return {};
  const store::RecordPtr record = store_.get(kNodePortsKey);
  auto range = record ? NodePortRange::read(record->value()) : ports_;
  if (!range)
    return fail(internal_error(cat("the stored record `", kNodePortsKey, "` cannot be read")));
  if (range->text() != ports_.text())
    return fail(internal_error(cat("the cluster gives out the node ports ", range->text(),
                                   ", and --service-node-port-range says ", ports_.text())));
  if (!record) {
    // Nobody has counted yet.
    std::lock_guard lock(mutex_);
    for (const std::int64_t port : in_use_.ports())
      if (range->covers(port) && !after.contains(port)) range->set(port, true);
  }
  bool is_changed = false;
  auto set = [&](std::int64_t port, bool is_taken) {
    if (!range->covers(port)) return;  // a health check's may be anywhere
    range->set(port, is_taken);
    is_changed = true;
  };
  for (const std::int64_t port : before)
    if (!after.contains(port)) set(port, false);
  for (const std::int64_t port : after) {
    if (before.contains(port)) continue;
    if (range->has(port)) {
      // It was just given out. This does not hold, and the next attempt takes another one.
      out.compares.push_back({std::string(kNodePortsKey), 0});
      return {};
    }
    set(port, true);
  }
  if (!is_changed) return {};
  out.compares.push_back({std::string(kNodePortsKey), record ? record->mod_revision : 0});
  out.ops.emplace_back(store::Put{std::string(kNodePortsKey), range->stored()});
  return {};
}

}  // namespace cardea::rest
