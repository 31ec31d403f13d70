#include "rest/memory_budget.h"

#include <algorithm>

namespace cardea::rest {

struct MemoryBudget::Share {
  Share(std::shared_ptr<MemoryBudget> from, std::string of, std::size_t n)
      : budget(std::move(from)), user(std::move(of)), bytes(n) {}
  ~Share() {
    std::lock_guard lock(budget->mutex_);
    budget->held_ -= bytes;
    auto at = budget->by_user_.find(user);
    at->second -= bytes;
    if (at->second == 0) budget->by_user_.erase(at);
  }
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;

  std::shared_ptr<MemoryBudget> budget;
  std::string user;
  std::size_t bytes;
};

std::shared_ptr<void> MemoryBudget::take(const authz::User& user, std::size_t bytes) {
  const bool is_master = std::ranges::find(user.groups, authz::kMastersGroup) != user.groups.end();
  if (bytes == 0) bytes = 1;
  {
    std::lock_guard lock(mutex_);
    auto at = by_user_.find(user.name);
    const std::size_t own = at == by_user_.end() ? 0 : at->second;
    if (own > 0 && own + bytes > of_one_) return nullptr;
    if (!is_master && held_ > 0 && held_ + bytes > of_all_) return nullptr;
    held_ += bytes;
    if (at == by_user_.end())
      by_user_.emplace(user.name, bytes);
    else
      at->second += bytes;
  }
  return std::make_shared<Share>(shared_from_this(), user.name, bytes);
}

std::size_t MemoryBudget::held() const {
  std::lock_guard lock(mutex_);
  return held_;
}

}  // namespace cardea::rest
