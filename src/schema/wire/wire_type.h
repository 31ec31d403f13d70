#pragma once
#include <cstdint>

namespace cardea::schema {

// How Protobuf writes a field's value; the low three bits of its tag.
enum class Wire : std::uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5
};

}  // namespace cardea::schema
