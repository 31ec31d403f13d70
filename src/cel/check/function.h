#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cel/check/types.h"
#include "cel/eval/value.h"

namespace cardea::cel {

struct Frame;

// Computes a function. Arguments are never errors and fit the overload's kinds.
using Implementation = Value (*)(Frame& frame, const Value* args, std::size_t count);
// What a call costs, given its arguments (which may be errors) and result.
using CostRule = std::uint64_t (*)(const Value* args, std::size_t count, const Value& result);

// One line of a library's table. The signature reads `(int, string) bool`, or `string.(int) string`
// for a method. A rule of null costs 1.
struct OverloadRow {
  std::string_view function;
  std::string_view id;
  std::string_view signature;
  Implementation call = nullptr;
  CostRule cost = nullptr;
  int version = 0;  // the library that declares it
};

struct Overload {
  std::string id;
  bool member = false;
  std::vector<const Type*> params;  // receiver first
  const Type* result = nullptr;
  std::vector<KindSet> kinds;
  Implementation call = nullptr;
  CostRule cost = nullptr;
};

struct Function {
  std::string name;
  bool standard = false;  // runs the overload that fits the values, whichever the checker expected
  std::vector<Overload> overloads;
};

Overload make_overload(TypePool& types, const OverloadRow& row);
KindSet kinds_of(const Type* type);

}  // namespace cardea::cel
