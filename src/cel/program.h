#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cel/environment.h"
#include "cel/eval/node.h"

namespace cardea::cel {

// A compiled expression. Immutable: threads may share it and run it, each in its own Evaluation.
class Program {
 public:
  ~Program();
  const Node& root() const { return *root_; }
  const Type* type() const { return type_; }
  const Environment& environment() const { return *environment_; }
  std::uint32_t locals() const { return locals_; }
  bool is_checked() const { return checked_; }
  const Source& source() const { return *source_; }

 private:
  friend class Compiler;
  Program() = default;

  Arena arena_;
  const Node* root_ = nullptr;
  const Type* type_ = nullptr;
  std::uint32_t locals_ = 0;
  bool checked_ = false;
  std::shared_ptr<const Environment> environment_;
  std::shared_ptr<const Source> source_;
  std::shared_ptr<TypePool> types_;
  std::vector<std::unique_ptr<re2::RE2>> patterns_;
};

struct CompileOptions {
  bool check = true;  // without, type errors are reported at evaluation
};

// The reason why an expression does not compile.
struct CompileError {
  bool parsing = false;  // else checking
  std::vector<Issue> issues;
  std::string text;  // as cel-go prints it, caret lines included
};

// Parses, checks and prepares `text`.
std::expected<std::shared_ptr<const Program>, CompileError> compile(
    std::string_view text, std::shared_ptr<const Environment> environment,
    const CompileOptions& options = {});

}  // namespace cardea::cel
