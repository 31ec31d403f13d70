#include "authz/condition_line.h"

#include <algorithm>

#include "authz/conditions.h"
#include "base/strings.h"
#include "base/utf8.h"

namespace cardea::authz {
namespace {

using Effect = Condition::Effect;

std::string_view effect_words(Effect effect) {
  switch (effect) {
    case Effect::kDeny:
      return "denied if ";
    case Effect::kNoOpinion:
      return "not allowed by this if ";
    case Effect::kAllow:
      break;
  }
  return "allowed if ";
}

// What is longer is for programs, and for those who ask for it.
constexpr std::size_t kLongestText = 400;

// Only their author can read conditions of other types; the id says which one it is.
std::string what_it_says(const Condition& c, bool with_descriptions) {
  const bool is_cel = is_cel_type(c.type) || c.type == kParentType;
  std::string text = is_cel ? c.shown_text() : std::string();
  const bool is_named = text.empty() || (text.size() > kLongestText && !c.description.empty());
  std::string out = is_named ? cat("condition ", quoted(c.id), " holds") : std::move(text);
  if (with_descriptions && !c.description.empty()) out += cat(" (", c.description, ")");
  return out;
}

void add(std::string& line, const Decision& decision, bool with_descriptions);

void add_set(std::string& line, const Conditions::Set& set, bool with_descriptions) {
  for (Effect effect : {Effect::kDeny, Effect::kNoOpinion, Effect::kAllow}) {
    bool is_first = true;
    for (const Condition& c : set.conditions) {
      if (c.effect != effect || line.size() > kLongestLine) continue;
      line += is_first ? cat(line.empty() ? "" : "; ", effect_words(effect)) : ", or if ";
      line += what_it_says(c, with_descriptions);
      is_first = false;
    }
  }
}

void add(std::string& line, const Decision& decision, bool with_descriptions) {
  if (decision.kind == Decision::Kind::kAllow || decision.kind == Decision::Kind::kDeny) {
    line += cat(line.empty() ? "" : "; otherwise ", decision.allowed() ? "allowed" : "denied");
    return;
  }
  if (!decision.conditions) return;
  if (const Conditions::Set* set = decision.conditions->set())
    add_set(line, *set, with_descriptions);
  if (decision.conditions->deferred())
    line += cat(line.empty() ? "" : "; ", "otherwise further authorizers are asked");
  if (const Conditions::Chain* chain = decision.conditions->chain())
    for (const NamedDecision& n : *chain) add(line, n.decision, with_descriptions);
}

}  // namespace

std::string condition_line(const Decision& decision, bool with_descriptions) {
  if (decision.kind != Decision::Kind::kConditional) return "";
  std::string line;
  add(line, decision, with_descriptions);
  std::ranges::replace_if(line, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  if (line.size() <= kLongestLine) return line;
  return cat(utf8_prefix(line, kLongestLine), " ...");
}

}  // namespace cardea::authz
