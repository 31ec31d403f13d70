#pragma once
#include <map>
#include <string>

#include "cel/check/types.h"

namespace cardea::cel {

// Type parameters and the types that they were found to stand for.
class Inference {
 public:
  explicit Inference(TypePool& types) : types_(types) {}

  // Whether a value of type `from` can be used where `to` is expected. Records parameters only if
  // it can.
  bool assignable(const Type* from, const Type* to);
  bool assignable(const std::vector<const Type*>& from, const std::vector<const Type*>& to);
  // Replaces known parameters; unknown ones become dyn if `finish`.
  const Type* substitute(const Type* type, bool finish);
  const Type* more_general(const Type* a, const Type* b) const;
  // The same signature with its own parameters.
  const Type* fresh(const Type* type, std::map<std::string, const Type*>& renamed);
  const Type* fresh_parameter();

 private:
  using Known = std::map<std::string, const Type*>;
  bool assign(const Type* from, const Type* to);
  bool learn(const Type* type, const Type* param, bool& had);
  bool occurs(const Type* param, const Type* in) const;
  bool assign_all(const Type* from, const Type* to);

  TypePool& types_;
  Known known_;
  int next_ = 0;
};

}  // namespace cardea::cel
