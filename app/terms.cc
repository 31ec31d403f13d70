#include "app/terms.h"

#include "app/text_table.h"
#include "authz/wire/sealed_text.h"
#include "base/strings.h"

namespace cardea::app {

using json::Value;

namespace {

std::string text_of(const Value& condition) {
  std::string text(condition["condition"].as_string());
  if (condition["type"].as_string() == authz::wire::kSealedType)
    if (auto inside = authz::wire::SealedText::parse(text))
      text = inside->text.empty() ? "" : cat(inside->text, " (", inside->type, ")");
  return text.empty() ? cat("`", condition["id"].as_string(), "` holds") : text;
}

std::string_view effect_words(std::string_view effect) {
  return effect == "Allow" ? "allowed if" : effect == "Deny" ? "denied if" : "left to others if";
}

}  // namespace

std::string conditions_text(const Value& conditions, std::string_view author,
                            std::string_view indent) {
  std::string out;
  for (std::string_view effect : {"Deny", "NoOpinion", "Allow"})
    for (const Value& c : conditions.items()) {
      if (c["effect"].as_string() != effect) continue;
      out += cat(indent, effect_words(effect), " ", harmless(text_of(c)), "\n");
      out += cat(indent, "  ", author, author.empty() ? "" : ": ", harmless(c["id"].as_string()));
      if (std::string_view d = c["description"].as_string(); !d.empty())
        out += cat(": ", harmless(d));
      out += '\n';
    }
  return out;
}

std::string terms_text(const Value& chain) {
  std::string out;
  for (const Value& set : chain.items()) {
    std::string name = harmless(set["authorizerName"].as_string());
    out += conditions_text(set["conditions"], name);
    if (set["allowed"].as_bool()) out += cat("  else allowed by ", name, "\n");
    if (set["denied"].as_bool()) out += cat("  else denied by ", name, "\n");
  }
  return out;
}

bool can_allow(const Value& chain) {
  for (const Value& set : chain.items()) {
    if (set["allowed"].as_bool()) return true;
    for (const Value& c : set["conditions"].items())
      if (c["effect"].as_string() == "Allow") return true;
  }
  return false;
}

}  // namespace cardea::app
