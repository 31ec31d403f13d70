#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cel/eval/node.h"

namespace cardea::cel {

// A part of an expression with a truth value: it is true, or it is false. An error is neither. With
// `is`: the part has this value.
struct Literal {
  const Node* node;
  bool truth = true;
  const Value* is = nullptr;
};

// Values that are reasoned about: null, a bool, an int or a text. Others may be equal in ways that
// constants do not show.
bool is_simple(const Value& value);

// The texts of parts, each made once. Parts with one text have one value wherever they stand.
class Texts {
 public:
  const std::string& of(const Node& node);

 private:
  std::unordered_map<const Node*, std::string> known_;
};

// What is known when some literals hold at once, and which other literals follow. It knows what
// equality, `in`, order, and prefixes say about one term, that a field is there if it was read, and
// that a loop over the same list follows from a stronger one. Sound, not complete. Borrows nodes
// and texts.
class Facts {
 public:
  explicit Facts(Texts& texts) : texts_(texts) {}

  void add(const Literal& literal);
  // That an attribute (`request.verb`) has this value.
  void add(const std::string& attribute, const Value& value) { terms_[attribute].learn(value); }
  // Whether they cannot all hold.
  bool are_contradictory() const;
  bool entail(const Literal& literal);

 private:
  // What is known of one term. It has a value, in any case.
  struct Term {
    std::optional<std::vector<Value>> values;  // one of these
    std::vector<Value> others;                 // none of these
    // From here, to here; whether these themselves are left out.
    std::vector<std::pair<Value, bool>> above, below;
    std::vector<std::string> prefixes, suffixes, infixes;

    void learn(const Value& value) { learn_one_of({value}); }
    void learn_one_of(std::vector<Value> more);
    bool allows(const Value& value) const;
    bool is_text() const { return !prefixes.empty() || !suffixes.empty() || !infixes.empty(); }
  };

  // A literal about one term and a constant.
  struct Claim {
    enum class Kind { kIs, kIsNot, kAbove, kBelow, kPrefix, kSuffix, kInfix };
    Kind kind;
    const Node* term;
    std::vector<Value> values = {};  // kIs, kIsNot: of a set; else one
    bool strict = false;             // kAbove, kBelow: the value itself is left out
  };
  static std::optional<Claim> claim_of(const Literal& literal);
  static bool holds(const Claim& claim, const Value& value);
  bool entail(const Claim& claim);
  bool entail_loop(const Node& loop);
  bool was_read(const Node& has);
  bool is_unequal_by_kind(const Claim& claim);
  // All that was computed on the way to a result.
  void add_reads(const Node& node);
  std::string opaque_text(const Literal& literal);

  Texts& texts_;
  std::map<std::string, Term, std::less<>> terms_;
  std::set<std::string, std::less<>> opaque_;  // `+text`: true; `-text`: false
  std::set<std::string, std::less<>> read_;    // plain selections that gave a value
  std::set<std::string, std::less<>> opened_;  // terms of which a field or an item was read
  std::vector<const Node*> loops_;             // that are true
};

}  // namespace cardea::cel
