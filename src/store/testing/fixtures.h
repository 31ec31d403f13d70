#pragma once
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>

#include "base/clock.h"
#include "store/store.h"

// Shared parts of the tests of this room.
namespace cardea::store {

// A directory that is removed at the end of the test.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "cardea-store-XXXXXX").string();
    CARDEA_CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string path(std::string_view name = "data") const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

// A clock that a test moves while the store's threads read it.
class TestClock : public Clock {
 public:
  std::chrono::system_clock::time_point now() const override {
    return std::chrono::system_clock::time_point(std::chrono::seconds(seconds_.load()));
  }
  void advance(std::chrono::seconds by) { seconds_ += by.count(); }

 private:
  std::atomic<std::int64_t> seconds_{1'700'000'000};
};

// Collects events, and lets a test wait for a revision.
class Collector {
 public:
  Store::Sink sink() {
    return [this](std::span<const EventPtr> events) {
      std::lock_guard guard(lock_);
      events_.insert(events_.end(), events.begin(), events.end());
      changed_.notify_all();
    };
  }
  std::vector<EventPtr> events() const {
    std::lock_guard guard(lock_);
    return events_;
  }
  void wait_for(Revision revision) {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [&] { return !events_.empty() && events_.back()->revision >= revision; });
  }
  // "put /a=1@2 delete /a@3"
  std::string text() const {
    std::string out;
    for (const EventPtr& event : events()) {
      bool put = event->type == EventType::kPut;
      out += out.empty() ? "" : " ";
      out += put ? "put " : "delete ";
      out += event->record->key();
      if (put) out += "=" + std::string(event->record->value());
      out += "@" + std::to_string(event->revision);
    }
    return out;
  }

 private:
  mutable std::mutex lock_;
  std::condition_variable changed_;
  std::vector<EventPtr> events_;
};

inline Txn put(std::string key, std::string value) {
  return {{}, {Put{std::move(key), std::move(value)}}};
}
inline Txn create(std::string key, std::string value) {
  return {{{key, 0}}, {Put{key, std::move(value)}}};
}
inline Txn update(std::string key, Revision at, std::string value) {
  return {{{key, at}}, {Put{key, std::move(value)}}};
}
inline Txn remove(std::string key) {
  return {{}, {Delete{std::move(key)}}};
}

// "/a=1 /b=2"
inline std::string text(const std::vector<RecordPtr>& records) {
  std::string out;
  for (const RecordPtr& record : records) {
    out += out.empty() ? "" : " ";
    out += std::string(record->key()) + "=" + std::string(record->value());
  }
  return out;
}

}  // namespace cardea::store
