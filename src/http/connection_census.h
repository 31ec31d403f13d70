#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "http/server.h"
#include "net/socket.h"

namespace cardea::http {

// How many connections there are, altogether and from each address, and whether one more fits.
//
// Beyond the limit only clients on this machine are let in, up to a reserve: whoever administers a
// server that strangers have filled can still reach it. Any thread; must be held by a shared_ptr.
class ConnectionCensus : public std::enable_shared_from_this<ConnectionCensus> {
 public:
  explicit ConnectionCensus(const ServerOptions& options) : options_(options) {}

  // Counts the connection as long as the answer lives. Null: it does not fit; the log was told.
  std::shared_ptr<void> admit(const net::Socket& socket);
  // The system had no descriptor left for a connection.
  void out_of_descriptors();

 private:
  struct Place;
  bool has_room(bool is_local) const;
  void refuse(const std::string& why);

  const ServerOptions options_;
  std::atomic<std::size_t> open_{0};
  std::mutex mutex_;
  std::map<std::string, std::size_t, std::less<>> by_address_;  // where they are limited
  std::chrono::steady_clock::time_point quiet_until_;           // of the log
  std::size_t untold_ = 0;
};

}  // namespace cardea::http
