#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace cardea::json {

// Paths to what is wrong in a document, up to an amount of text.
//
// All of them together can be many times longer than the document: a key of a megabyte stands in
// the path of every member below it. Ask has_room() before a path is put together.
class NotedPaths {
 public:
  static constexpr std::size_t kMostBytes = 256 * 1024;

  // False: there are more than can be named. That is remembered.
  bool has_room() {
    if (bytes_ < kMostBytes) return true;
    has_more_ = true;
    return false;
  }
  void add(std::string path) {
    bytes_ += path.size() + 1;
    paths_.push_back(std::move(path));
  }
  // Forgets all but the first `count`.
  void shorten_to(std::size_t count) {
    for (; paths_.size() > count; paths_.pop_back()) bytes_ -= paths_.back().size() + 1;
  }

  const std::vector<std::string>& all() const { return paths_; }
  std::vector<std::string> take() { return std::move(paths_); }
  std::size_t size() const { return paths_.size(); }
  bool empty() const { return paths_.empty(); }
  bool has_more() const { return has_more_; }

 private:
  std::vector<std::string> paths_;
  std::size_t bytes_ = 0;
  bool has_more_ = false;
};

}  // namespace cardea::json
