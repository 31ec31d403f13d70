#include "store/sqlite/space_reserve.h"

#include <fcntl.h>
#include <unistd.h>

namespace cardea::store {
namespace {

constexpr off_t kBytes = 8 << 20;

}  // namespace

bool SpaceReserve::take() {
  if (is_there_ || path_.empty()) return is_there_;
  const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return false;
  is_there_ = ::posix_fallocate(file, 0, kBytes) == 0;
  ::close(file);
  if (!is_there_) ::unlink(path_.c_str());
  return is_there_;
}

bool SpaceReserve::give_up() {
  if (!is_there_) return false;
  is_there_ = false;
  return ::unlink(path_.c_str()) == 0;
}

}  // namespace cardea::store
