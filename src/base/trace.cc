#include "base/trace.h"

namespace cardea {
namespace {

// A request that goes on for ever has an end here.
constexpr std::size_t kMostSpans = 256;

std::optional<unsigned> small_hex(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  return std::nullopt;  // capitals are not allowed
}

// False: not so many digits, or all of them are nought.
template <std::size_t kBytes>
bool read_hex(std::string_view text, std::array<std::uint8_t, kBytes>& into) {
  bool is_zero = true;
  for (std::size_t i = 0; i < kBytes; ++i) {
    const auto high = small_hex(text[2 * i]), low = small_hex(text[2 * i + 1]);
    if (!high || !low) return false;
    into[i] = static_cast<std::uint8_t>(*high << 4 | *low);
    is_zero = is_zero && into[i] == 0;
  }
  return !is_zero;
}

}  // namespace

std::string hex_of_id(std::span<const std::uint8_t> id) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const std::uint8_t byte : id) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::optional<TraceContext> parse_traceparent(std::string_view header) {
  // 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01; later versions may go on after a dash.
  constexpr std::size_t kSize = 55;
  if (header.size() < kSize || header[2] != '-' || header[35] != '-' || header[52] != '-')
    return std::nullopt;
  const auto high = small_hex(header[0]), low = small_hex(header[1]);
  if (!high || !low || (*high == 15 && *low == 15)) return std::nullopt;
  const bool is_first_version = *high == 0 && *low == 0;
  if (header.size() > kSize && (is_first_version || header[kSize] != '-')) return std::nullopt;
  TraceContext out;
  const auto flags_high = small_hex(header[53]), flags = small_hex(header[54]);
  if (!flags_high || !flags || !read_hex(header.substr(3, 32), out.trace) ||
      !read_hex(header.substr(36, 16), out.parent))
    return std::nullopt;
  out.is_sampled = *flags & 1;
  return out;
}

Trace::Trace(TraceContext context, bool is_invited, std::string name, std::uint64_t seed)
    : context_(context), is_invited_(is_invited), seed_(seed | 1) {
  begin(std::move(name));
}

void Trace::begin(std::string name) {
  const std::size_t parent = open_.empty() ? 0 : open_.back();
  if (spans_.size() >= kMostSpans) return open_.push_back(parent);
  open_.push_back(spans_.size());
  spans_.push_back({.name = std::move(name),
                    .parent = parent,
                    .began = std::chrono::steady_clock::now(),
                    .ended = {},
                    .notes = {}});
}

void Trace::end() {
  if (open_.empty()) return;
  const std::size_t last = open_.back();
  open_.pop_back();
  // A span beyond the limit stands for the one around it, which goes on.
  const bool is_shared = !open_.empty() && open_.back() == last;
  if (!is_shared) spans_[last].ended = std::chrono::steady_clock::now();
}

void Trace::note(std::string_view key, std::string value) {
  spans_[0].notes.emplace_back(key, std::move(value));
}

void Trace::finish() {
  while (!open_.empty()) end();
}

// The seed is odd, and so are all ids.
std::array<std::uint8_t, 8> Trace::span_id(std::size_t place) const {
  const std::uint64_t id = seed_ + 2 * place;
  std::array<std::uint8_t, 8> out;
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = static_cast<std::uint8_t>(id >> (8 * k));
  return out;
}

std::string Trace::traceparent() const {
  std::string out = "00-";
  out += hex_of_id(context_.trace);
  out += '-';
  out += hex_of_id(span_id(open_.empty() ? 0 : open_.back()));
  out += is_accepted() ? "-01" : "-00";
  return out;
}

std::uint64_t Trace::unix_time(std::chrono::steady_clock::time_point at) const {
  const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(at - spans_[0].began);
  const auto first = std::chrono::duration_cast<std::chrono::nanoseconds>(
      began_.time_since_epoch());
  return static_cast<std::uint64_t>((first + since).count());
}

}  // namespace cardea
