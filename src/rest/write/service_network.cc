#include "rest/write/service_network.h"

#include <arpa/inet.h>

#include "base/strings.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {

using json::Value;

namespace {
constexpr std::string_view kPrefix = "/registry/services/specs/";
}

Result<std::string> first_service_address(const std::string& cidr) {
  auto slash = cidr.find('/');
  auto bits = slash == std::string::npos ? std::nullopt
                                         : parse_int(std::string_view(cidr).substr(slash + 1));
  in_addr address{};
  if (!bits || *bits < 8 || *bits > 30 ||
      ::inet_pton(AF_INET, cidr.substr(0, slash).c_str(), &address) != 1)
    return fail(
        bad_request(cat("`", cidr, "` is not a range of IPv4 addresses; write it as 10.0.0.0/24")));
  std::uint32_t mask = ~std::uint32_t{0} << (32 - *bits), first = ntohl(address.s_addr);
  if ((first & mask) != first)
    return fail(
        bad_request(cat("`", cidr, "` does not begin a range of /", std::to_string(*bits))));
  address.s_addr = htonl(first + 1);
  char text[INET_ADDRSTRLEN];
  ::inet_ntop(AF_INET, &address, text, sizeof text);
  return text;
}

Result<std::unique_ptr<ServiceNetwork>> ServiceNetwork::make(store::Store& store, Random& random,
                                                             const std::string& cidr,
                                                             const std::string& port_range) {
  auto parts = split(port_range, '-');
  auto first = parse_int(parts[0]), last = parts.size() == 2 ? parse_int(parts[1]) : std::nullopt;
  if (!first || !last || *first < 1 || *last > 65535 || *first > *last)
    return fail(
        bad_request(cat("`", port_range, "` is not a range of ports; write it as 30000-32767")));
  auto parsed = catalog::parse_cidr(cidr);
  if (!parsed)
    return fail(
        bad_request(cat("`", cidr, "` is not a range of addresses; write it as 10.0.0.0/24")));
  catalog::ServiceAllocator allocator(cidr, static_cast<int>(*first), static_cast<int>(*last));
  std::unique_ptr<ServiceNetwork> network(new ServiceNetwork(store, random, std::move(allocator)));
  if (auto ok = network->follow(); !ok) return fail(ok.error());
  return network;
}

Result<void> ServiceNetwork::follow() {
  auto range = store_.range({.keys = store::keys_with_prefix(kPrefix)});
  if (!range) return fail(range.error());
  for (const store::RecordPtr& record : range->records) in_use_.add(parse_stored(*record));
  auto watch = store_.watch(std::string(kPrefix), range->revision,
                            [this](std::span<const store::EventPtr> events) {
                              for (const store::EventPtr& e : events) note(*e);
                            });
  if (!watch) return fail(watch.error());
  watch_ = std::move(*watch);
  return {};
}

void ServiceNetwork::note(const store::Event& event) {
  std::lock_guard lock(mutex_);
  if (event.previous) in_use_.remove(parse_stored(*event.previous));
  if (event.type == store::EventType::kPut) in_use_.add(parse_stored(*event.record));
}

bool ServiceNetwork::applies(const catalog::Resource& r) const {
  return r.storage_prefix == kPrefix;
}

Result<Reservation> ServiceNetwork::allocate(Value& object, const Value* old, bool dry_run) {
  std::lock_guard lock(mutex_);
  catalog::ServiceAllocator::Choice choice(random_.next(), dry_run);
  auto error = old ? allocator_.update(object, *old, in_use_, choice)
                   : allocator_.create(object, in_use_, choice);
  if (error) return fail(std::move(*error));
  if (dry_run) return Reservation();
  in_use_.add(object);
  return Reservation([this, taken = object] {
    std::lock_guard again(mutex_);
    in_use_.remove(taken);
    const Value& meta = taken["metadata"];
    std::string key = cat(kPrefix, meta["namespace"].as_string(), "/", meta["name"].as_string());
    if (store::RecordPtr current = store_.get(key)) in_use_.add(parse_stored(*current));
  });
}

}  // namespace cardea::rest
