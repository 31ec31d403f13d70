#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cardea::authn {

// Remembers the users of verified tokens, so that the next request with the same token needs no
// signature check.
//
// Each thread has its own table: no lock, and the thread may change what it finds. A table has
// a fixed number of slots; a new token replaces the token in its slot. Tokens are compared
// completely.
template <typename T>
class TokenMemory {
 public:
  explicit TokenMemory(std::size_t places = 2048) : places_(places), id_(next_id()) {}
  TokenMemory(const TokenMemory&) = delete;
  TokenMemory& operator=(const TokenMemory&) = delete;

  // The remembered entry of the token on this thread, or null. Valid until the thread's next
  // call.
  T* find(std::string_view token) const {
    Place& place = place_of(token);
    return place.value && place.token == token ? place.value.get() : nullptr;
  }

  T* keep(std::string_view token, T value) const {
    Place& place = place_of(token);
    place.token = token;
    place.value = std::make_unique<T>(std::move(value));
    return place.value.get();
  }

  void forget(std::string_view token) const {
    Place& place = place_of(token);
    if (place.token == token) place = {};
  }

 private:
  struct Place {
    std::string token;
    std::unique_ptr<T> value;
  };
  struct Table {
    std::weak_ptr<const void> holder;
    std::vector<Place> places;
  };

  Place& place_of(std::string_view token) const {
    thread_local std::unordered_map<std::uint64_t, Table> tables;  // by holder
    auto found = tables.find(id_);
    if (found == tables.end()) {
      // Holders are made and destroyed with configurations; the tables of destroyed holders are
      // dropped here.
      std::erase_if(tables, [](const auto& entry) { return entry.second.holder.expired(); });
      found = tables.emplace(id_, Table{alive_, std::vector<Place>(places_)}).first;
    }
    // A token ends with its signature, which a sender cannot choose: its last bytes are distributed
    // as well as a hash.
    const std::string_view end = token.substr(token.size() -
                                              std::min<std::size_t>(token.size(), 32));
    return found->second.places[std::hash<std::string_view>{}(end) % places_];
  }

  // Never the same twice in a process, so that a holder never finds entries of another one.
  static std::uint64_t next_id() {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  const std::size_t places_;
  const std::uint64_t id_;
  const std::shared_ptr<const int> alive_ = std::make_shared<const int>(0);
};

}  // namespace cardea::authn
