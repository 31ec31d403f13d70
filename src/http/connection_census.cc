#include "http/connection_census.h"

#include "base/strings.h"

namespace cardea::http {
namespace {

constexpr std::chrono::seconds kBetweenLines{10};

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1";
}

}  // namespace

struct ConnectionCensus::Place {
  Place(std::shared_ptr<ConnectionCensus> of, std::string from)
      : census(std::move(of)), address(std::move(from)) {
    census->open_.fetch_add(1, std::memory_order_relaxed);
  }
  ~Place() {
    census->open_.fetch_sub(1, std::memory_order_relaxed);
    if (address.empty()) return;
    std::lock_guard lock(census->mutex_);
    auto at = census->by_address_.find(address);
    if (at != census->by_address_.end() && --at->second == 0) census->by_address_.erase(at);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  std::shared_ptr<ConnectionCensus> census;
  std::string address;  // empty where addresses are not counted
};

bool ConnectionCensus::has_room(bool is_local) const {
  if (options_.max_connections == 0) return true;
  const std::size_t most = options_.max_connections +
                           (is_local ? options_.reserved_connections : 0);
  return open_.load(std::memory_order_relaxed) < most;
}

std::shared_ptr<void> ConnectionCensus::admit(const net::Socket& socket) {
  const bool counts_addresses = options_.max_connections_per_address > 0;
  if (!counts_addresses && has_room(false))
    return std::make_shared<Place>(shared_from_this(), std::string());
  std::string address = net::peer_of(socket).address;
  if (!has_room(is_loopback(address))) {
    refuse(cat("there are ", options_.max_connections, " connections already"));
    return nullptr;
  }
  if (!counts_addresses) return std::make_shared<Place>(shared_from_this(), std::string());
  {
    std::lock_guard lock(mutex_);
    std::size_t& here = by_address_[address];
    if (here < options_.max_connections_per_address) {
      ++here;
      return std::make_shared<Place>(shared_from_this(), std::move(address));
    }
  }
  refuse(cat(address, " has ", options_.max_connections_per_address, " connections already"));
  return nullptr;
}

void ConnectionCensus::out_of_descriptors() {
  refuse("there are no file descriptors left; accepting pauses");
}

void ConnectionCensus::refuse(const std::string& why) {
  if (options_.refused_connections) options_.refused_connections->add();
  if (!options_.warn) return;
  std::size_t untold;
  {
    std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now < quiet_until_) {
      ++untold_;
      return;
    }
    quiet_until_ = now + kBetweenLines;
    untold = std::exchange(untold_, 0);
  }
  std::string line = cat("a connection was not accepted: ", why);
  if (untold > 0) line += cat("; ", untold, " others since the last such line");
  options_.warn(line);
}

}  // namespace cardea::http
