#include "rest/fairness/retry_after.h"

#include <algorithm>

namespace cardea::rest::fairness {
namespace {

constexpr std::int64_t kLongest = 32;

}  // namespace

std::int64_t RetryAfter::refuse(std::int64_t second) {
  if (current_.at == second) {
    ++current_.refused;
    return seconds_;
  }
  if (current_.refused > 0) past_.push_back(current_);
  while (!past_.empty() && second - past_.front().at > std::min(2 * seconds_, kLongest))
    past_.pop_front();
  current_ = {second, 1};
  reconsider(second);
  return seconds_;
}

void RetryAfter::reconsider(std::int64_t now) {
  std::int64_t refused = 0;
  for (const Second& s : past_)
    if (now - s.at <= seconds_) refused += s.refused;
  if (now - raised_at_ >= seconds_ && refused >= 3 * seconds_) {
    seconds_ = std::min(2 * seconds_, kLongest);
    raised_at_ = now;
  } else if (refused < seconds_ && seconds_ > 1) {
    --seconds_;
  }
}

}  // namespace cardea::rest::fairness
