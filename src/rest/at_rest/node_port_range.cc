#include "rest/at_rest/node_port_range.h"

#include <algorithm>

#include "base/protobuf.h"
#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"
#include "schema/wire/protobuf.h"

namespace cardea::rest {
namespace {

using json::Value;

constexpr std::string_view kRangeKind = "RangeAllocation";
constexpr std::int64_t kMostPorts = 65'536;

// Metadata in which nothing is set, as Kubernetes writes it: the texts and the generation.
std::string empty_metadata() {
  ProtobufMessage out;
  for (int field : {1, 2, 3, 4, 5, 6}) out.bytes(field, "");
  out.always_integer(7, 0);
  out.bytes(8, "");
  return std::move(out).take();
}

Error no_range() {
  return bad_request("it is not a range of ports");
}

}  // namespace

Result<NodePortRange> NodePortRange::of(std::string_view text, std::string_view bits) {
  const auto parts = split(text, '-');
  const auto first = parse_int(parts[0]);
  const auto last = parts.size() == 2 ? parse_int(parts[1]) : std::nullopt;
  if (!first || !last || *first < 0 || *last < *first || *last >= kMostPorts)
    return fail(no_range());
  NodePortRange out(*first, *last);
  out.taken_.assign(bits.rbegin(), bits.rend());
  while (out.taken_.ends_with('\0')) out.taken_.pop_back();
  const auto size = static_cast<std::size_t>(*last - *first) / 8 + 1;
  if (out.taken_.size() > size) return fail(no_range());
  return out;
}

Result<NodePortRange> NodePortRange::read(std::string_view stored) {
  auto object = json::parse(stored);
  if (!object || (*object)["kind"].as_string() != kRangeKind) return fail(no_range());
  const auto bits = base64_decode((*object)["data"].as_string());
  if (!bits) return fail(no_range());
  return of((*object)["range"].as_string(), *bits);
}

std::string NodePortRange::text() const {
  return cat(first_, "-", last_);
}

bool NodePortRange::has(std::int64_t port) const {
  const auto at = static_cast<std::size_t>(port - first_);
  return covers(port) && at / 8 < taken_.size() &&
         (static_cast<unsigned char>(taken_[at / 8]) >> at % 8 & 1) != 0;
}

void NodePortRange::set(std::int64_t port, bool is_taken) {
  CARDEA_CHECK(covers(port));
  const auto at = static_cast<std::size_t>(port - first_);
  if (at / 8 >= taken_.size()) taken_.resize(at / 8 + 1);
  const auto bit = static_cast<unsigned char>(1u << at % 8);
  auto byte = static_cast<unsigned char>(taken_[at / 8]);
  byte = static_cast<unsigned char>(is_taken ? byte | bit : byte & ~bit);
  taken_[at / 8] = static_cast<char>(byte);
}

// One large number, its most significant byte first.
std::string NodePortRange::bits() const {
  std::string out(taken_.rbegin(), taken_.rend());
  out.erase(0, std::min(out.find_first_not_of('\0'), out.size()));
  return out;
}

std::string NodePortRange::stored() const {
  return json::print_object(Value::object({{"kind", kRangeKind},
                                           {"apiVersion", "v1"},
                                           {"metadata", Value::object()},
                                           {"range", text()},
                                           {"data", base64(bits())}}));
}

Result<std::string> NodePortRange::to_etcd(std::string_view stored) {
  auto range = read(stored);
  if (!range) return fail(range.error());
  ProtobufMessage object, type, out;
  object.bytes(1, empty_metadata());
  object.bytes(2, range->text());
  object.bytes(3, range->bits());
  type.bytes(1, "v1");
  type.bytes(2, kRangeKind);
  out.message(1, type);
  out.message(2, object);
  out.bytes(3, "");
  out.bytes(4, "");
  return cat(schema::kProtobufMagic, std::move(out).take());
}

Result<std::string> NodePortRange::from_etcd(std::string_view value) {
  auto envelope = schema::open_envelope(value);
  if (!envelope) return fail(envelope.error());
  if (envelope->kind != kRangeKind) return fail(no_range());
  std::string_view text, bits;
  ProtobufFields in(envelope->raw);
  while (in.next()) {
    if (in.field() == 2) text = in.bytes();
    if (in.field() == 3) bits = in.bytes();
  }
  if (in.malformed()) return fail(no_range());
  auto range = of(text, bits);
  if (!range) return fail(range.error());
  return range->stored();
}

}  // namespace cardea::rest
