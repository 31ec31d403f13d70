#include "base/strings.h"
#include "cel/eval/frame.h"
#include "cel/lib/libraries.h"

namespace cardea::cel {
namespace {

Value encode(Frame& f, const Value* a, std::size_t) {
  return f.text(base64(a[0].string()));
}

Value decode(Frame& f, const Value* a, std::size_t) {
  // Padding may be left out, and line ends may be anywhere.
  std::string text(a[0].string());
  std::erase_if(text, [](char c) { return c == '\r' || c == '\n'; });
  if (text.find('=') == std::string::npos) text.append((4 - text.size() % 4) % 4, '=');
  const auto bytes = base64_decode(text);
  if (!bytes) return f.error("illegal base64 data");
  return Value::of_bytes(f.arena.copy(*bytes));
}

constexpr OverloadRow kRows[] = {
    {"base64.decode", "base64_decode_string", "(string) bytes", decode},
    {"base64.encode", "base64_encode_bytes", "(bytes) string", encode}};

}  // namespace

std::span<const OverloadRow> encoders_overloads() {
  return kRows;
}

}  // namespace cardea::cel
