#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cel/eval/evaluate.h"
#include "cel/program.h"

namespace cardea::cel {

// One step of an attribute pattern: a key, or any key.
struct Qualifier {
  Value key;  // string, int, uint, double or bool; ignored when wildcard
  bool wildcard = false;
};

// A part of a variable that is not known yet: `object` as a whole, or `request.userInfo.extra[*]`.
struct UnknownPattern {
  std::string variable;
  std::vector<Qualifier> qualifiers;
};

// Whether an attribute (a variable and qualifiers) touches a pattern: one is a prefix of the other.
bool touches(const UnknownPattern& pattern, std::string_view variable,
             std::span<const Qualifier> qualifiers);

// The unknown parts of an environment's variables, prepared for many evaluations. Immutable.
class Unknowns {
 public:
  Unknowns(const Environment& environment, const std::vector<UnknownPattern>& patterns);
  static Unknowns variables(const Environment& environment, const std::vector<std::string>& names);

  std::uint64_t bits() const { return bits_; }
  bool whole(std::uint32_t slot) const { return slot < by_slot_.size() && by_slot_[slot].whole; }
  bool partly(std::uint32_t slot) const {
    return slot < by_slot_.size() && !by_slot_[slot].patterns.empty();
  }
  bool touched(std::uint32_t slot, std::span<const Qualifier> qualifiers) const;
  bool any(std::uint32_t slot) const { return whole(slot) || partly(slot); }

 private:
  struct Slot {
    bool whole = false;
    std::vector<std::vector<Qualifier>> patterns;
  };
  std::uint64_t bits_ = 0;
  std::vector<Slot> by_slot_;
};

// The rest of a program when some of its variables are known: a value, or a smaller expression that
// reads only the unknown ones.
//
// For all values of the unknown variables the expression gives the same value as the program, and
// fails exactly where the program fails. It can be run, prints as CEL, and owns everything that it
// needs besides the program.
class Residual {
 public:
  bool is_value() const {
    return node_ == nullptr;
  }  // perhaps an error: then the program fails in every completion
  const Value& value() const { return value_; }
  const Node* node() const { return node_; }
  const Program& program() const { return *program_; }
  std::string print() const;  // canonical CEL
  std::uint64_t spent() const {
    return spent_;
  }  // by reducing, as Evaluation counts it; the residual is included

  // Runs the residual. `variables` needs values only for the unknown variables.
  Value run(Evaluation& evaluation, std::span<const Value> variables) const;

  // Upper bounds: false means it cannot happen in any completion.
  bool can_be_true() const;
  bool can_be_false() const;
  bool can_fail() const;
  // The attributes it reads, such as `object.spec.storageClassName`, each once.
  std::vector<std::string> reads() const;

 private:
  friend Residual reduce(std::shared_ptr<const Program>, std::span<const Value>, const Unknowns&,
                         const Limits&);
  friend Residual reduce(const Residual&, std::span<const Value>, const Unknowns&, const Limits&);
  static Residual reduced(std::shared_ptr<const Program> program, const Node& root,
                          std::span<const Value> variables, const Unknowns& unknowns,
                          const Limits& limits);
  std::shared_ptr<const Program> program_;
  std::unique_ptr<Arena> arena_;  // null for plain true and false
  const Node* node_ = nullptr;
  Value value_;
  std::uint64_t spent_ = 0;
};

// Evaluates as far as possible with the known variables. `variables` has a value for each known
// slot.
Residual reduce(std::shared_ptr<const Program> program, std::span<const Value> variables,
                const Unknowns& unknowns, const Limits& limits = {});
// The same for a residual, when more variables are known. Borrows `rest`.
Residual reduce(const Residual& rest, std::span<const Value> variables, const Unknowns& unknowns,
                const Limits& limits = {});

}  // namespace cardea::cel
