#pragma once
#include <string_view>

// The names of operators as functions, as in every CEL implementation.
namespace cardea::cel::op {

constexpr std::string_view kConditional = "_?_:_";
constexpr std::string_view kAnd = "_&&_";
constexpr std::string_view kOr = "_||_";
constexpr std::string_view kNot = "!_";
constexpr std::string_view kEqual = "_==_";
constexpr std::string_view kNotEqual = "_!=_";
constexpr std::string_view kLess = "_<_";
constexpr std::string_view kLessEqual = "_<=_";
constexpr std::string_view kGreater = "_>_";
constexpr std::string_view kGreaterEqual = "_>=_";
constexpr std::string_view kAdd = "_+_";
constexpr std::string_view kSubtract = "_-_";
constexpr std::string_view kMultiply = "_*_";
constexpr std::string_view kDivide = "_/_";
constexpr std::string_view kModulo = "_%_";
constexpr std::string_view kNegate = "-_";
constexpr std::string_view kIn = "@in";
constexpr std::string_view kIndex = "_[_]";
constexpr std::string_view kOptionalIndex = "_[?_]";

}  // namespace cardea::cel::op
