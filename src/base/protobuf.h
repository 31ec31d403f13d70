#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace cardea {

// Writes the fields of one Protobuf message. A nested message is first written to its own, because
// its length comes before it.
class ProtobufMessage {
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
  void message(int field, const ProtobufMessage& inner) { bytes(field, inner.out_); }
  void flag(int field, bool value) {
    if (value) always_flag(field, true);
  }
  void always_flag(int field, bool value) {
    tag(field, 0);
    out_.push_back(value ? 1 : 0);
  }
  void integer(int field, std::int64_t value) {
    if (value != 0) always_integer(field, value);
  }
  void always_integer(int field, std::int64_t value) {
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
  void fixed(int field, std::uint64_t value) {
    tag(field, 1);
    auto raw = std::bit_cast<std::array<char, 8>>(value);
    out_.append(raw.data(), raw.size());
  }
  void reserve(std::size_t bytes) { out_.reserve(bytes); }
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

// Reads the fields of one Protobuf message, in the order they come. Borrows the message.
//
//   for (ProtobufFields in(message); in.next();)
//     if (in.field() == 1) name = in.bytes();
//
// A malformed message ends early: ask `malformed` at the end.
class ProtobufFields {
 public:
  explicit ProtobufFields(std::string_view message) : rest_(message) {}

  bool next() {
    if (rest_.empty() || malformed_) return false;
    const std::uint64_t tag = varint();
    field_ = static_cast<int>(tag >> 3);
    integer_ = 0;
    bytes_ = {};
    switch (tag & 7) {
      case 0:
        integer_ = varint();
        break;
      case 1:
        take(8);
        break;
      case 2:
        bytes_ = take(varint());
        break;
      case 5:
        take(4);
        break;
      default:
        malformed_ = true;
    }
    return !malformed_;
  }
  int field() const { return field_; }
  std::int64_t integer() const { return static_cast<std::int64_t>(integer_); }
  bool flag() const { return integer_ != 0; }
  std::string_view bytes() const { return bytes_; }
  bool malformed() const { return malformed_; }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    malformed_ = true;
    return 0;
  }
  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) malformed_ = true;
    if (malformed_) return {};
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_;
  std::string_view bytes_;
  std::uint64_t integer_ = 0;
  int field_ = 0;
  bool malformed_ = false;
};

}  // namespace cardea
