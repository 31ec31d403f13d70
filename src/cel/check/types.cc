#include "cel/check/types.h"

namespace cardea::cel {
namespace {

constexpr std::string_view kSimpleNames[] = {"dyn",      "*error*", "null",   "bool",  "int",
                                             "uint",     "double",  "string", "bytes", "timestamp",
                                             "duration", "list",    "map",    "type"};

}  // namespace

TypePool::TypePool() {
  for (int kind = Type::kDyn; kind <= Type::kDuration; ++kind)
    simple_.push_back(Type{static_cast<Type::Kind>(kind), "", {}});
}

const Type* TypePool::make(Type type) {
  return &made_.emplace_back(std::move(type));
}
const Type* TypePool::list(const Type* element) {
  return make({Type::kList, "", {element}});
}
const Type* TypePool::map(const Type* key, const Type* value) {
  return make({Type::kMap, "", {key, value}});
}
const Type* TypePool::type_of(const Type* inner) {
  return make({Type::kType, "", {inner}});
}
const Type* TypePool::optional(const Type* inner) {
  return make({Type::kOptional, "", {inner}});
}
const Type* TypePool::opaque(std::string_view name) {
  return make({Type::kOpaque, std::string(name), {}});
}
const Type* TypePool::object(std::string_view name) {
  return make({Type::kObject, std::string(name), {}});
}
const Type* TypePool::param(std::string_view name) {
  return make({Type::kParam, std::string(name), {}});
}

const Type* TypePool::wrapper(Type::Kind kind) {
  Type type{kind, "", {}};
  type.nullable = true;
  return make(std::move(type));
}

const Type* TypePool::parse(std::string_view text) {
  std::size_t at = 0;
  return parse_at(text, at);
}

const Type* TypePool::parse_at(std::string_view text, std::size_t& at) {
  while (at < text.size() && text[at] == ' ') ++at;
  const std::size_t start = at;
  while (at < text.size() && text[at] != '(' && text[at] != ')' && text[at] != ',') ++at;
  const std::string_view name = text.substr(start, at - start);
  std::vector<const Type*> params;
  if (at < text.size() && text[at] == '(') {
    do {
      ++at;
      params.push_back(parse_at(text, at));
    } while (at < text.size() && text[at] == ',');
    ++at;  // the closing parenthesis
  }
  if (name == "list") return list(params.empty() ? dyn() : params[0]);
  if (name == "map") return params.size() == 2 ? map(params[0], params[1]) : map(dyn(), dyn());
  if (name == "type") return params.empty() ? type_of(dyn()) : type_of(params[0]);
  if (name == "optional") return optional(params.empty() ? dyn() : params[0]);
  for (int kind = Type::kDyn; kind <= Type::kDuration; ++kind)
    if (name == kSimpleNames[kind]) return simple(static_cast<Type::Kind>(kind));
  if (name.size() == 1 && name[0] >= 'A' && name[0] <= 'Z') return param(name);
  if (name.starts_with('.')) return object(name.substr(1));
  return opaque(name);
}

bool same_type(const Type* a, const Type* b) {
  if (a == b) return true;
  if (a->kind != b->kind || a->nullable != b->nullable || a->name != b->name ||
      a->params.size() != b->params.size())
    return false;
  for (std::size_t i = 0; i < a->params.size(); ++i)
    if (!same_type(a->params[i], b->params[i])) return false;
  return true;
}

std::string print_type(const Type* type) {
  std::string out;
  if (type->nullable)
    out = "wrapper(" + std::string(kSimpleNames[type->kind]) + ")";
  else if (type->kind == Type::kOptional)
    out = "optional_type";
  else if (type->kind == Type::kOpaque || type->kind == Type::kObject || type->kind == Type::kParam)
    out = type->name;
  else if (type->kind == Type::kDyn && !type->name.empty())
    out = type->name;  // `any` and `dyn` differ only in messages
  else
    out = kSimpleNames[type->kind];
  if (type->params.empty()) return out;
  out += "(";
  for (std::size_t i = 0; i < type->params.size(); ++i)
    out += (i > 0 ? ", " : "") + print_type(type->params[i]);
  return out + ")";
}

}  // namespace cardea::cel
