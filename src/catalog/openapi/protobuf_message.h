#pragma once
#include "base/protobuf.h"
#include "json/value.h"

namespace cardea::catalog {

class Message : public ProtobufMessage {
 public:
  void texts(int field, const json::Value& list) {
    for (const json::Value& item : list.items()) bytes(field, item.as_string());
  }
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
