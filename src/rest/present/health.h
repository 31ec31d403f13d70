#pragma once
#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest/call.h"

namespace cardea::rest {

// The answers of /livez, /readyz and /healthz, and of each check below them (/readyz/store), in
// kube-apiserver's forms: "ok", with `?verbose` one line per check, without those of `?exclude=`.
// A failed check makes the answer 500 with all lines; the reason is told below its own path alone.
class Health {
 public:
  // Tells what is wrong; empty: nothing is. Called from any thread, with every request.
  using Trouble = std::function<std::string()>;
  enum class Of : std::uint8_t {
    kReadiness,             // /readyz and /healthz: the server should get no requests
    kLivenessAndReadiness,  // also /livez: the server should be started again
    kNothing,  // shown with readiness, and fails nothing: the server works without this part
  };
  // Before the first request.
  void add(std::string name, Of of, Trouble trouble);

  // A readiness check that fails until the stage of the start is reached, or after it is lost.
  class Stage {
   public:
    void reach() { is_reached_.store(true); }
    void lose() { is_reached_.store(false); }

   private:
    friend class Health;
    std::atomic<bool> is_reached_{false};
  };
  // Lives as long as this.
  Stage& add_stage(std::string name);

  // nullopt: no path of these.
  std::optional<Answer> answer(const authz::RequestInfo& info) const;

 private:
  struct Check {
    std::string name;
    Of of;
    Trouble trouble;
  };
  std::vector<Check> checks_;
  std::deque<Stage> stages_;
};

// Plain text, as `/healthz` and unknown paths answer.
Answer text_answer(int status, std::string text);

}  // namespace cardea::rest
