#pragma once
#include <deque>
#include <string>
#include <vector>

#include "base/result.h"

namespace cardea::app {

class CommandLine;

// The flags of kube-apiserver that `cardea serve` knows and does not use, so that a command line
// written for kube-apiserver starts Cardea. A flag that cannot matter here is accepted, with one
// warning. A flag that an operator relies on for safety is refused, with the reason.
class KubeFlags {
 public:
  // This object outlives the reading of the line.
  void declare(CommandLine& line);

  // After the line was read: the warnings, or the error of the first refused flag.
  Result<std::vector<std::string>> warnings() const;

 private:
  std::deque<std::string> values_;  // in the order of the table; empty: not given
};

}  // namespace cardea::app
