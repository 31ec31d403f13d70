#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cardea::rest {

// The resource that shows them.
inline constexpr std::string_view kOwnGroup = "access.cardea.dev", kDecisions = "decisions";

enum class Outcome : std::uint8_t { kAllowed, kDenied, kError };
std::string_view outcome_name(Outcome outcome);  // "Allowed"

// What is remembered of one request: who asked for what, and what came of it. No header, no query,
// no body and no extra values of the user. The texts belong to whoever made it.
struct DecisionFacts {
  std::chrono::system_clock::time_point at;
  Outcome outcome = Outcome::kError;
  bool is_conditional = false;  // the object or the changed fields decided
  int code = 0;                 // the status of the answer
  std::string_view verb, group, version, resource, subresource, namespace_name, name;
  std::string_view path;                // of a request that is about no resource
  std::string_view user, impersonator;  // for whom, and who sent it if that is another one
  std::string_view reason;              // of a refusal
  std::span<const std::string> groups;  // of the user
};

// One of them as it is kept: a fixed number of bytes. Longer texts are cut, and end with `…`.
class KeptDecision {
 public:
  static constexpr std::size_t kBytes = 2048, kMostGroups = 16;
  enum Text : std::uint8_t {
    kVerb,
    kGroup,
    kVersion,
    kResource,
    kSubresource,
    kNamespace,
    kName,
    kPath,
    kUser,
    kImpersonator,
    kReason,
    kTexts
  };

  void set(const DecisionFacts& facts);
  std::string_view text(Text which) const { return piece(which); }
  std::vector<std::string_view> groups() const;

  std::uint64_t number = 0;  // a later decision has a larger one
  std::chrono::system_clock::time_point at;
  Outcome outcome = Outcome::kError;
  bool is_conditional = false;
  bool is_cut = false;  // a text or a group is not there as a whole
  int code = 0;

 private:
  void add(std::string_view text, std::size_t most);
  std::string_view piece(std::size_t index) const;

  std::array<std::uint16_t, kTexts + kMostGroups> ends_{};  // of the texts and groups in bytes_
  std::uint16_t pieces_ = 0;
  std::array<char, kBytes> bytes_;
};

// The last decisions of this server, in memory: so many that allowed, and as many that did not, so
// that a busy cluster does not push the refusals out. It is lost with the process, and no audit
// log.
//
// Any thread. Recording takes two atomic additions and a copy, neither memory nor a lock: where the
// place is being read, the decision is not kept.
class DecisionHistory {
 public:
  explicit DecisionHistory(std::size_t size) : allowed_(size), refused_(size) {}

  void record(const DecisionFacts& facts);
  // Newest first, those with a number below `before`, until `visit` says false.
  void read(std::uint64_t before, const std::function<bool(const KeptDecision&)>& visit) const;
  std::optional<KeptDecision> find(std::uint64_t number) const;

 private:
  struct Slot {
    mutable std::atomic_flag taken;  // by whoever reads or writes it
    std::atomic<std::uint64_t> number = 0;
    KeptDecision kept;
  };
  struct Ring {
    explicit Ring(std::size_t count)
        : size(count), slots(std::make_unique_for_overwrite<Slot[]>(count)) {}
    const std::size_t size;
    const std::unique_ptr<Slot[]> slots;
    std::atomic<std::uint64_t> next = 0;
  };
  static bool copy(const Slot& slot, std::uint64_t number, KeptDecision& to);

  std::atomic<std::uint64_t> last_number_ = 0;
  Ring allowed_, refused_;
};

}  // namespace cardea::rest
