#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cardea::authz::wire {

// The type of a condition that only the server that sent it can evaluate, or have evaluated.
inline constexpr std::string_view kSealedType = "access.cardea.dev/sealed";

// The text of such a condition: `CODE.[time,verb,name,type,text]`. Readable for people; the code
// binds it to more than it shows.
struct SealedText {
  std::string code;  // bytes
  std::int64_t issued = 0;
  std::string verb, name;  // of the question
  std::string type, text;  // of the condition inside

  std::string print() const;
  static std::optional<SealedText> parse(std::string_view text);
};

}  // namespace cardea::authz::wire
