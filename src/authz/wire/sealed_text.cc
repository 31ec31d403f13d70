#include "authz/wire/sealed_text.h"

#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"

namespace cardea::authz::wire {

using json::Value;

std::string SealedText::print() const {
  return cat(base64_url(code), ".", json::print(Value::array({issued, verb, name, type, text})));
}

std::optional<SealedText> SealedText::parse(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  auto code = base64_url_decode(text.substr(0, dot));
  auto parts = json::parse(text.substr(dot + 1));
  if (!code || !parts || !parts->is_array() || parts->size() != 5) return std::nullopt;
  const Value& all = *parts;
  if (!all[0].is_int()) return std::nullopt;
  for (std::size_t i = 1; i < 5; ++i)
    if (!all[i].is_string()) return std::nullopt;
  auto word = [&](std::size_t i) { return std::string(all[i].as_string()); };
  return SealedText{std::move(*code), all[0].as_int(), word(1), word(2), word(3), word(4)};
}

}  // namespace cardea::authz::wire
