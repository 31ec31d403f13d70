#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "rest/call.h"

namespace cardea::rest {

// /statusz and /flagz: since when the program runs, what it was built from, and its flags. Text for
// people, or the documents Statusz and Flagz of config.k8s.io for programs. And what there is in
// place of /debug/pprof.
class DebugPages {
 public:
  using Flags = std::vector<std::pair<std::string, std::string>>;  // names without dashes, sorted

  DebugPages(const Clock& clock, Flags flags)
      : clock_(clock), started_(clock.now()), flags_(std::move(flags)) {}

  // nullopt: no path of these.
  std::optional<Result<Answer>> answer(const http::Request& request,
                                       const authz::RequestInfo& info) const;

 private:
  Result<Answer> status(std::string_view accept) const;
  Result<Answer> flags(std::string_view accept) const;

  const Clock& clock_;
  const std::chrono::system_clock::time_point started_;
  const Flags flags_;
};

}  // namespace cardea::rest
