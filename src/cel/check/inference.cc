#include "cel/check/inference.h"

namespace cardea::cel {
namespace {

bool is_dyn(const Type* t) {
  return t->kind == Type::kDyn || t->kind == Type::kError;
}

bool accepts_null(const Type* t) {
  return t->nullable || t->kind == Type::kNull || t->kind == Type::kObject ||
         t->kind == Type::kOpaque || t->kind == Type::kOptional || t->kind == Type::kTimestamp ||
         t->kind == Type::kDuration;
}

bool at_least_as_general(const Type* a, const Type* b) {
  if (is_dyn(a) || a->kind == Type::kParam) return true;
  if (is_dyn(b) || b->kind == Type::kParam) return false;
  if (b->kind == Type::kNull && a->kind != Type::kNull) return accepts_null(a);
  if (a->nullable != b->nullable) return a->nullable;
  if (a->kind != b->kind || a->params.size() != b->params.size()) return false;
  for (std::size_t i = 0; i < a->params.size(); ++i)
    if (!at_least_as_general(a->params[i], b->params[i])) return false;
  return a->name == b->name;
}

}  // namespace

const Type* Inference::more_general(const Type* a, const Type* b) const {
  return at_least_as_general(a, b) ? a : b;
}

bool Inference::occurs(const Type* param, const Type* in) const {
  if (in->kind == Type::kParam) {
    if (in->name == param->name) return true;
    const auto found = known_.find(in->name);
    return found != known_.end() && occurs(param, found->second);
  }
  for (const Type* inner : in->params)
    if (occurs(param, inner)) return true;
  return false;
}

bool Inference::learn(const Type* type, const Type* param, bool& had) {
  had = true;
  if (same_type(type, param)) return true;
  const auto found = known_.find(param->name);
  if (found != known_.end()) {
    const Type* before = found->second;
    if (same_type(type, before)) return true;
    if (!assign(type, before)) return false;
    const Type* wider = more_general(type, before);
    if (!occurs(param, wider)) known_[param->name] = wider;
    return true;
  }
  had = false;
  if (occurs(param, type)) return false;
  known_[param->name] = type;
  return true;
}

bool Inference::assign_all(const Type* from, const Type* to) {
  if (from->params.size() != to->params.size()) return false;
  for (std::size_t i = 0; i < from->params.size(); ++i)
    if (!assign(from->params[i], to->params[i])) return false;
  return true;
}

bool Inference::assign(const Type* from, const Type* to) {
  bool had = false;
  if (to->kind == Type::kParam) {
    if (learn(from, to, had)) return true;
    if (had) return false;
  }
  if (from->kind == Type::kParam) return learn(to, from, had);
  if (is_dyn(from) || is_dyn(to)) return true;
  if (from->kind == Type::kNull) return accepts_null(to);
  if (to->kind == Type::kNull) return accepts_null(from);
  if (from->kind != to->kind) return false;
  switch (from->kind) {
    case Type::kObject:
      return from->name == to->name;
    case Type::kOpaque:
      return from->name == to->name && assign_all(from, to);
    case Type::kType:
      return true;
    default:
      return assign_all(from, to);
  }
}

bool Inference::assignable(const Type* from, const Type* to) {
  return assignable(std::vector<const Type*>{from}, {to});
}

bool Inference::assignable(const std::vector<const Type*>& from,
                           const std::vector<const Type*>& to) {
  if (from.size() != to.size()) return false;
  Known before = known_;
  for (std::size_t i = 0; i < from.size(); ++i)
    if (!assign(from[i], to[i])) {
      known_ = std::move(before);
      return false;
    }
  return true;
}

const Type* Inference::substitute(const Type* type, bool finish) {
  if (type->kind == Type::kParam) {
    const auto found = known_.find(type->name);
    if (found != known_.end()) return substitute(found->second, finish);
    return finish ? types_.dyn() : type;
  }
  if (type->params.empty()) return type;
  Type out = *type;
  bool changed = false;
  for (const Type*& inner : out.params) {
    const Type* replaced = substitute(inner, finish);
    changed |= replaced != inner;
    inner = replaced;
  }
  return changed ? types_.make(std::move(out)) : type;
}

const Type* Inference::fresh_parameter() {
  return types_.param("_var" + std::to_string(next_++));
}

const Type* Inference::fresh(const Type* type, std::map<std::string, const Type*>& renamed) {
  if (type->kind == Type::kParam) {
    const Type*& made = renamed[type->name];
    if (made == nullptr) made = fresh_parameter();
    return made;
  }
  if (type->params.empty()) return type;
  Type out = *type;
  for (const Type*& inner : out.params) inner = fresh(inner, renamed);
  return types_.make(std::move(out));
}

}  // namespace cardea::cel
