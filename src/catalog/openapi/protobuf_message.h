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
    if (value) {
      tag(field, 0);
      out_.push_back(1);
    }
  }
  void integer(int field, std::int64_t value) {
    if (value == 0) return;
    tag(field, 0);
    varint(static_cast<std::uint64_t>(value));
  }
  void number(int field, double value) {
    if (value == 0) return;
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

}  // namespace cardea::catalog
