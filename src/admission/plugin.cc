#include "admission/plugin.h"

namespace cardea::admission {

std::string_view operation_name(Operation operation) {
  switch (operation) {
    case Operation::kCreate: return "CREATE";
    case Operation::kUpdate: return "UPDATE";
    case Operation::kDelete: return "DELETE";
    case Operation::kConnect: return "CONNECT";
  }
  return "";
}

Task<Result<void>> Plugin::mutate(Review&) const { co_return Result<void>{}; }
Task<Result<void>> Plugin::validate(const Review&) const { co_return Result<void>{}; }

bool Chain::handles(const Review& review) const {
  for (const auto& plugin : plugins_)
    if (plugin->handles(review)) return true;
  return false;
}

Task<Result<void>> Chain::mutate(Review& review) const {
  for (const auto& plugin : plugins_) {
    if (!plugin->handles(review)) continue;
    Result<void> done = co_await plugin->mutate(review);
    if (!done) co_return done;
  }
  co_return Result<void>{};
}

Task<Result<void>> Chain::validate(const Review& review) const {
  for (const auto& plugin : plugins_) {
    if (!plugin->handles(review)) continue;
    Result<void> done = co_await plugin->validate(review);
    if (!done) co_return done;
  }
  co_return Result<void>{};
}

}  // namespace cardea::admission
