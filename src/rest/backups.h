#pragma once
#include <atomic>
#include <memory>

#include "net/loop.h"
#include "rest/call.h"

namespace cardea::rest {

// Backups of the store of a running server: `POST /store/backup` (docs/operations.md). The answer
// is a backup (store/backup.h) of one moment, sent as fast as the client takes it.
//
// A backup shows everything to its reader, so the path alone is not enough: the caller must also be
// allowed to list every kind that is stored, without conditions. The work is done on a thread of
// its own, and writers do not wait for it. In memory are a pointer for each object, what is
// changed meanwhile, and some parts of what is sent. One backup at a time.
class Backups {
 public:
  static constexpr std::string_view kPath = "/store/backup";

  explicit Backups(const store::Store& store) : store_(store) {}

  static bool serves(const authz::RequestInfo& info) { return info.path == kPath; }
  Task<Result<Answer>> serve(Call& call);

  void stop() { work_.stop(); }  // from outside of its thread

 private:
  class Sending;

  const store::Store& store_;
  const std::shared_ptr<std::atomic<bool>> is_busy_ = std::make_shared<std::atomic<bool>>(false);
  net::Loops work_{1};
};

}  // namespace cardea::rest
