#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "cel/check/function.h"
#include "cel/eval/value.h"
#include "cel/syntax/ast.h"

namespace re2 {
class RE2;
}

namespace cardea::cel {

enum class Op : std::uint8_t {
  kConst,       // value; with args, the conversion that made it: name(args[0])
  kSlot,        // a variable; index
  kLocal,       // a loop's variable; index
  kBound,       // a bound variable, computed on first use; index, args[0] computes it
  kUnresolved,  // an undeclared name
  kPath,        // variable and constant fields: index, fields
  kSelect,
  kHas,
  kOptionalSelect,  // args[0], name
  kIndex,
  kOptionalIndex,  // args[0], args[1]
  kAnd,
  kOr,  // two or more args
  kNot,
  kConditional,
  kEqual,
  kNotEqual,
  kInSet,  // args[0] in args[1], a constant list
  kCall,   // target; args, receiver first
  kOptionalOr,
  kOptionalOrValue,
  kList,
  kMap,
  kStruct,
  kLoop,         // macro; args: range, [filter,] body
  kBind,         // args: init, body
  kOptionalMap,  // macro; args: optional, body; three locals: the variable, the value, its price
  kTake,         // the value of the enclosing kOptionalMap, paid for; index
  kBlock,        // args: items, body last
};

// Whether cel-go plans a step of this kind as an attribute: a variable with selections, or a
// conditional.
constexpr bool is_attribute(Op op) {
  switch (op) {
    case Op::kSlot:
    case Op::kLocal:
    case Op::kBound:
    case Op::kUnresolved:
    case Op::kPath:
    case Op::kSelect:
    case Op::kHas:
    case Op::kOptionalSelect:
    case Op::kIndex:
    case Op::kOptionalIndex:
    case Op::kOptionalMap:  // cel-go expands it into a conditional
    case Op::kConditional:
      return true;
    default:
      return false;
  }
}

// The functions that a call may run, and its price.
struct CallTarget {
  std::span<const Overload* const> overloads;
  CostRule cost = nullptr;
  bool effect = false;       // depends on something outside the expression: never folded
  bool stops_early = false;  // stops at the first argument that fails; that argument costs nothing
};

// One step of a program. It runs as it is, can be reduced to a smaller step, and prints as CEL. It
// is immutable, lives in the arena of its program or residual, and may share parts with the program
// from which it was made.
struct Node {
  Op op = Op::kConst;
  Macro macro = Macro::kNone;
  bool free_root = false;      // the variable at its root costs nothing here, as cel-go counts
  bool member = false;         // a call written receiver.name(args)
  bool constant_body = false;  // a map() whose body is a constant
  bool typed_keys = false;     // a sortBy whose keys have a known type
  bool reads_locals = false;
  bool dyn_typed = false;   // of no known type
  bool bool_typed = false;  // a variable or path declared to be a bool
  bool optional_typed = false;
  bool plain_target = false;  // selects from what a plain selection gave: an optional stored there
                              // is not looked into
  bool has_effects = false;
  std::uint16_t count = 0;  // of args
  std::uint32_t position = 0;
  std::uint32_t index = 0;  // slot or local; second variable of a loop is index + 1
  std::uint64_t reads = 0;  // slots read, slot 63 and above share the last bit
  const Node* const* args = nullptr;
  Value value;
  std::string_view name;  // variable, field, function, macro or struct type
  std::string_view var1, var2;
  std::span<const std::string_view> fields;  // of a path or struct
  std::span<const FieldKey> keys;            // the fields of a path
  std::span<const bool> marked;
  const CallTarget* target = nullptr;
  const re2::RE2* pattern = nullptr;

  std::span<const Node* const> children() const { return {args, count}; }
};

constexpr std::uint64_t slot_bit(std::uint32_t slot) {
  return std::uint64_t{1} << (slot < 63 ? slot : 63);
}

}  // namespace cardea::cel
