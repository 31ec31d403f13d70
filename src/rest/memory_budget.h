#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "authz/user.h"

namespace cardea::rest {

// Bytes that requests hold for long: bodies that are being read, answers that clients have not
// taken yet. Bounded for each user and for all of them together, so that neither one user nor many
// connections fill the memory of the server. Any thread; held by a shared_ptr.
class MemoryBudget : public std::enable_shared_from_this<MemoryBudget> {
 public:
  MemoryBudget(std::size_t of_one, std::size_t of_all) : of_one_(of_one), of_all_(of_all) {}

  static constexpr std::size_t kCounted = 64 * 1024;  // less is not counted

  // The bytes are taken as long as the answer lives. Null: there is no room, and the client should
  // try again later. A user who holds nothing may take more than the bound of one: otherwise a
  // single large list could never be read. Administrators (system:masters) have room while others
  // have taken all of it.
  std::shared_ptr<void> take(const authz::User& user, std::size_t bytes);

  std::size_t held() const;

 private:
  struct Share;

  const std::size_t of_one_, of_all_;
  mutable std::mutex mutex_;
  std::map<std::string, std::size_t, std::less<>> by_user_;
  std::size_t held_ = 0;
};

}  // namespace cardea::rest
