#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "json/value.h"

namespace cardea::catalog {

// Writes the fields of one message. A nested message is first written to its own Message, because
// its length comes before it.
class Message {
 public:
  // A text that is left out when it is empty, and one that is not.
  void text(int field, std::string_view value) {
    if (!value.empty()) bytes(field, value);
  }
  void bytes(int field, std::string_view value) {
    tag(field, 2);
    varint(value.size());
    out_ += value;
  }
  void message(int field, const Message& inner) { bytes(field, inner.out_); }
  void flag(int field, bool value) {
    if (value) always_flag(field, true);
  }
  void always_flag(int field, bool value) {
    tag(field, 0);
    out_.push_back(value ? 1 : 0);
  }
  void integer(int field, std::int64_t value) {
    if (value == 0) return;
    tag(field, 0);
    varint(static_cast<std::uint64_t>(value));
  }
  void number(int field, double value) {
    if (value != 0) always_number(field, value);
  }
  void always_number(int field, double value) {
    tag(field, 1);
    auto raw = std::bit_cast<std::array<char, 8>>(value);  // little endian, as both x86-64 and
                                                           // arm64 are
    out_.append(raw.data(), raw.size());
  }
  void texts(int field, const json::Value& list) {
    for (const json::Value& item : list.items()) bytes(field, item.as_string());
  }
  std::string take() && { return std::move(out_); }

 private:
  void tag(int field, int wire) {
    varint(static_cast<std::uint64_t>(field) << 3 | static_cast<unsigned>(wire));
  }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<char>(value | 0x80));
    out_.push_back(static_cast<char>(value));
  }

  std::string out_;
};

// A message with one nested message.
inline Message wrapped(int field, const Message& inner) {
  Message out;
  out.message(field, inner);
  return out;
}

// A name, and what `write` makes of the value.
template <typename Write>
Message named(const json::Member& member, Write write) {
  Message out;
  out.text(1, member.key());
  out.message(2, write(member.value));
  return out;
}

}  // namespace cardea::catalog
