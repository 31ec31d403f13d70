#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cardea::store {

// A port of this machine that leads to another one, and can be closed: connections end, and new
// ones are ended at once.
class Road {
 public:
  explicit Road(std::uint16_t to);
  ~Road();
  Road(const Road&) = delete;
  Road& operator=(const Road&) = delete;

  std::string endpoint() const;
  void close();
  void open() { is_open_ = true; }

 private:
  void accept_all();
  void carry(int from, int to);

  const std::uint16_t to_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> is_open_ = true;
  std::atomic<bool> is_over_ = false;
  std::mutex lock_;
  std::vector<int> ends_;              // open sockets
  std::vector<std::thread> carriers_;  // guarded by lock_
  std::thread acceptor_;
};

}  // namespace cardea::store
