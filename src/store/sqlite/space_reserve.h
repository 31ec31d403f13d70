#pragma once
#include <string>

namespace cardea::store {

// A file that only takes up space. When the disk is full it is given up, so that deletions, which
// have to write too, can make room again.
class SpaceReserve {
 public:
  SpaceReserve() = default;  // none
  explicit SpaceReserve(std::string path) : path_(std::move(path)) {}

  bool take();     // makes the file; false if there is no room
  bool give_up();  // whether there was one

 private:
  std::string path_;
  bool is_there_ = false;
};

}  // namespace cardea::store
