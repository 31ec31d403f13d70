#include "rest/decision_history.h"

#include <algorithm>
#include <thread>

namespace cardea::rest {
namespace {

constexpr std::string_view kEllipsis = "…";

// The most bytes of each text, in the order of KeptDecision::Text. All together leave room for
// groups.
constexpr std::array<std::size_t, KeptDecision::kTexts> kMost = {32,  128, 32,  64,  64, 64,
                                                                 256, 256, 256, 256, 384};

// A part of `text` of at most `most` bytes that ends with a whole character.
std::string_view whole_characters(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return text.substr(0, most);
}

}  // namespace

std::string_view outcome_name(Outcome outcome) {
  constexpr std::string_view kNames[] = {"Allowed", "Denied", "Error"};
  return kNames[static_cast<std::size_t>(outcome)];
}

void KeptDecision::add(std::string_view text, std::size_t most) {
  const std::size_t begin = pieces_ == 0 ? 0 : ends_[pieces_ - 1];
  most = std::min(most, kBytes - begin);
  std::size_t length = text.size();
  if (length > most) {
    is_cut = true;
    length = 0;
    if (most >= kEllipsis.size()) {
      const std::string_view start = whole_characters(text, most - kEllipsis.size());
      std::ranges::copy(start, bytes_.begin() + begin);
      std::ranges::copy(kEllipsis, bytes_.begin() + begin + start.size());
      length = start.size() + kEllipsis.size();
    }
  } else {
    std::ranges::copy(text, bytes_.begin() + begin);
  }
  ends_[pieces_++] = static_cast<std::uint16_t>(begin + length);
}

void KeptDecision::set(const DecisionFacts& f) {
  at = f.at;
  outcome = f.outcome;
  is_conditional = f.is_conditional;
  is_cut = f.groups.size() > kMostGroups;
  code = f.code;
  pieces_ = 0;
  const std::string_view texts[] = {f.verb,        f.group,          f.version, f.resource,
                                    f.subresource, f.namespace_name, f.name,    f.path,
                                    f.user,        f.impersonator,   f.reason};
  static_assert(std::size(texts) == kTexts);
  for (std::size_t i = 0; i < kTexts; ++i) add(texts[i], kMost[i]);
  for (const std::string& group : f.groups.first(std::min(f.groups.size(), kMostGroups))) {
    const std::size_t before = ends_[pieces_ - 1];
    add(group, kMost[kUser]);
    if (ends_[pieces_ - 1] == before) --pieces_;  // there is no room for it
  }
}

std::string_view KeptDecision::piece(std::size_t index) const {
  if (index >= pieces_) return {};
  const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
  return {bytes_.data() + begin, ends_[index] - begin};
}

std::vector<std::string_view> KeptDecision::groups() const {
  std::vector<std::string_view> out;
  for (std::size_t i = kTexts; i < pieces_; ++i) out.push_back(piece(i));
  return out;
}

void DecisionHistory::record(const DecisionFacts& facts) {
  Ring& ring = facts.outcome == Outcome::kAllowed ? allowed_ : refused_;
  const std::uint64_t number = last_number_.fetch_add(1, std::memory_order_relaxed) + 1;
  Slot& slot = ring.slots[ring.next.fetch_add(1, std::memory_order_relaxed) % ring.size];
  if (slot.taken.test_and_set(std::memory_order_acquire)) return;
  slot.kept.set(facts);
  slot.kept.number = number;
  slot.number.store(number, std::memory_order_relaxed);
  slot.taken.clear(std::memory_order_release);
}

// False: another one has taken its place.
bool DecisionHistory::copy(const Slot& slot, std::uint64_t number, KeptDecision& to) {
  while (slot.taken.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  const bool is_there = slot.kept.number == number;
  if (is_there) to = slot.kept;
  slot.taken.clear(std::memory_order_release);
  return is_there;
}

void DecisionHistory::read(std::uint64_t before,
                           const std::function<bool(const KeptDecision&)>& visit) const {
  std::vector<std::pair<std::uint64_t, const Slot*>> found;
  for (const Ring* ring : {&allowed_, &refused_})
    for (std::size_t i = 0; i < ring->size; ++i) {
      const std::uint64_t number = ring->slots[i].number.load(std::memory_order_relaxed);
      if (number != 0 && number < before) found.emplace_back(number, &ring->slots[i]);
    }
  std::ranges::sort(found, std::greater());
  KeptDecision one;
  for (const auto& [number, slot] : found)
    if (copy(*slot, number, one) && !visit(one)) return;
}

std::optional<KeptDecision> DecisionHistory::find(std::uint64_t number) const {
  std::optional<KeptDecision> found;
  if (number == 0 || number == UINT64_MAX) return found;
  read(number + 1, [&](const KeptDecision& kept) {
    if (kept.number == number) found = kept;
    return false;
  });
  return found;
}

}  // namespace cardea::rest
