#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "cel/environment.h"
#include "cel/program.h"

namespace cardea::cel {

// Programs by their texts, for texts that others send again and again. Texts that do not compile
// are remembered too. Bounded: when it is full, it forgets everything. Of one thread.
class KnownTexts {
 public:
  static constexpr std::size_t kMostBytes = 1u << 20;  // of all texts, each counted with an
                                                       // overhead

  explicit KnownTexts(std::shared_ptr<const Environment> environment)
      : environment_(std::move(environment)) {}

  // Null: it does not compile.
  std::shared_ptr<const Program> compiled(std::string_view text) {
    if (auto known = programs_.find(text); known != programs_.end()) return known->second;
    if (bytes_ += text.size() + kOverhead; bytes_ > kMostBytes) {
      programs_.clear();
      bytes_ = text.size() + kOverhead;
    }
    auto program = compile(text, environment_);
    return programs_.emplace(text, program ? std::move(*program) : nullptr).first->second;
  }
  std::size_t size() const { return programs_.size(); }

 private:
  static constexpr std::size_t kOverhead = 1'024;

  const std::shared_ptr<const Environment> environment_;
  std::map<std::string, std::shared_ptr<const Program>, std::less<>> programs_;
  std::size_t bytes_ = 0;
};

}  // namespace cardea::cel
