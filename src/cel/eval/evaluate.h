#pragma once
#include <span>
#include <string>

#include "cel/eval/frame.h"
#include "cel/program.h"

namespace cardea::cel {

// Runs one step and the steps below it.
Value evaluate_node(const Node& node, Frame& frame);

// The memory and results of evaluations, one after the other. Use one per thread, again and again:
// short expressions then never allocate. The result of run() stays valid until the next run or
// reset.
class Evaluation {
 public:
  explicit Evaluation(Limits limits = {}) : limits_(limits) {}
  void set_limits(Limits limits) { limits_ = limits; }  // of the next runs
  void interrupt_when(const std::atomic<bool>* flag) { interrupt_ = flag; }

  // `variables` has a value for each slot of the program's environment; kAbsent for a variable
  // without a value.
  Value run(const Program& program, std::span<const Value> variables) {
    return run(program.root(), program, variables);
  }
  // The same for a part of a program, such as a residual.
  Value run(const Node& node, const Program& program, std::span<const Value> variables);

  std::uint64_t cost() const { return cost_; }  // of the last run
  std::uint64_t spent() const {
    return spent_;
  }  // the same, with work that cost does not count; for callers that share one limit among several
     // runs
  bool limit_exceeded() const { return fatal_; }
  Arena& arena() { return arena_; }

 private:
  Arena arena_;
  Limits limits_;
  std::uint64_t cost_ = 0, spent_ = 0;
  bool fatal_ = false;
  const std::atomic<bool>* interrupt_ = nullptr;
};

}  // namespace cardea::cel
