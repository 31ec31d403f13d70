#include "cel/check/function.h"

namespace cardea::cel {

KindSet kinds_of(const Type* type) {
  switch (type->kind) {
    case Type::kNull:
      return set_of(Kind::kNull);
    case Type::kBool:
      return set_of(Kind::kBool);
    case Type::kInt:
      return set_of(Kind::kInt);
    case Type::kUint:
      return set_of(Kind::kUint);
    case Type::kDouble:
      return set_of(Kind::kDouble);
    case Type::kString:
      return set_of(Kind::kString);
    case Type::kBytes:
      return set_of(Kind::kBytes);
    case Type::kTimestamp:
      return set_of(Kind::kTimestamp);
    case Type::kDuration:
      return set_of(Kind::kDuration);
    case Type::kList:
      return set_of(Kind::kList);
    case Type::kMap:
      return set_of(Kind::kMap);
    case Type::kType:
      return set_of(Kind::kType);
    case Type::kOptional:
      return set_of(Kind::kOptional);
    case Type::kOpaque: {
      for (int k = static_cast<int>(Kind::kIp); k <= static_cast<int>(Kind::kDecision); ++k) {
        Value v;
        v.kind = static_cast<Kind>(k);
        if (type_name(v) == type->name) return set_of(v.kind);
      }
      return kAnyKind;
    }
    default:
      return kAnyKind;
  }
}

Overload make_overload(TypePool& types, const OverloadRow& row) {
  Overload out;
  out.id = row.id;
  out.call = row.call;
  out.cost = row.cost;
  std::string_view text = row.signature;
  const std::size_t open = text.starts_with('(') ? 0 : text.find(".(") + 1;
  if (open > 0) {
    out.member = true;
    out.params.push_back(types.parse(text.substr(0, open - 1)));
  }
  // Split the parameters at commas outside parentheses.
  std::size_t depth = 0;
  std::size_t start = open + 1;
  std::size_t at = open;
  for (; at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    const bool end = text[at] == ')' && --depth == 0;
    if (end || (text[at] == ',' && depth == 1)) {
      if (at > start) out.params.push_back(types.parse(text.substr(start, at - start)));
      start = at + 1;
    }
    if (end) break;
  }
  out.result = types.parse(text.substr(at + 2));
  for (const Type* param : out.params) out.kinds.push_back(kinds_of(param));
  return out;
}

}  // namespace cardea::cel
