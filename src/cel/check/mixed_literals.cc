#include "base/strings.h"
#include "cel/check/checker.h"

namespace cardea::cel {
namespace {

class Finder {
 public:
  explicit Finder(const Checked& checked) : checked_(checked) {}

  void visit(const Expr* e, Expr::Kind wanted) {
    if (e == nullptr) return;
    const bool exempt = e->kind == Expr::Kind::kCall && e->name == "format";
    exempt_ += exempt;
    if (e->kind == wanted && exempt_ == 0) wanted == Expr::Kind::kList ? list(e) : map(e);
    visit(e->target, wanted);
    for (const Expr* arg : e->args) visit(arg, wanted);
    exempt_ -= exempt;
  }

  std::vector<Issue> issues;

 private:
  const Type* type_of(const Expr* e, bool marked) const {
    const Type* type = checked_.meanings[e->id].type;
    return marked && type->kind == Type::kOptional ? type->params[0] : type;
  }
  bool differs(const Expr* e, const Type* first, const Type* type) {
    if (same_type(first, type)) return false;
    issues.push_back({e->position, cat("expected type '", print_type(first), "' but found '",
                                       print_type(type), "'")});
    return true;
  }

  void list(const Expr* e) {
    const auto type = [&](std::size_t i) {
      return type_of(e->args[i], i < e->marked.size() && e->marked[i]);
    };
    for (std::size_t i = 1; i < e->args.size(); ++i)
      if (differs(e->args[i], type(0), type(i))) return;
  }

  void map(const Expr* e) {
    const auto value = [&](std::size_t i) { return type_of(e->args[i + 1], e->marked[i / 2]); };
    for (std::size_t i = 2; i < e->args.size(); i += 2) {
      differs(e->args[i], type_of(e->args[0], false), type_of(e->args[i], false));
      differs(e->args[i + 1], value(0), value(i));
    }
  }

  const Checked& checked_;
  int exempt_ = 0;
};

}  // namespace

std::vector<Issue> mixed_literals(const Ast& ast, const Checked& checked) {
  Finder finder(checked);
  finder.visit(ast.root, Expr::Kind::kList);
  finder.visit(ast.root, Expr::Kind::kMap);
  return std::move(finder.issues);
}

}  // namespace cardea::cel
