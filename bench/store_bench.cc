// How fast the SQLite store is by itself: durable commits with concurrent writers, loading, memory.
//
//   store_bench DIRECTORY [records] [value bytes]
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "base/strings.h"
#include "store/sqlite/sqlite_store.h"

namespace {

using namespace cardea;
using namespace cardea::store;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double resident_mib() {
  std::ifstream statm("/proc/self/statm");
  long total = 0, resident = 0;
  statm >> total >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

std::string key_of(int i) {
  std::string number = std::to_string(i);
  return "/registry/configmaps/default/config-" +
         std::string(7 - std::min<std::size_t>(7, number.size()), '0') + number;
}

std::unique_ptr<Store> open(const std::string& directory) {
  auto store = open_sqlite_store({directory, {}, "", nullptr});
  if (!store) {
    std::fprintf(stderr, "%s\n", store.error().message.c_str());
    std::exit(1);
  }
  return std::move(*store);
}

// Keeps `writers` transactions in flight from one thread, as an event loop would: each answer is
// handed back to the loop, which sends the next.
template <typename Make>
void drive(Store& store, const char* what, int total, int writers, Make make) {
  std::mutex lock;
  std::condition_variable wake;
  std::vector<std::chrono::steady_clock::time_point> answered;
  std::vector<double> latencies;
  latencies.reserve(static_cast<std::size_t>(total));
  int free_slots = writers;
  int sent = 0;
  int received = 0;
  auto start = std::chrono::steady_clock::now();
  while (received < total) {
    int slots;
    {
      std::unique_lock guard(lock);
      wake.wait(guard, [&] { return (free_slots > 0 && sent < total) || received == total; });
      slots = std::exchange(free_slots, 0);
    }
    for (; slots > 0 && sent < total; --slots, ++sent) {
      auto begun = std::chrono::steady_clock::now();
      store.commit(make(sent), [&, begun](Result<Commit> answer) {
        if (!answer || !answer->succeeded) {
          std::fprintf(stderr, "%s\n", answer ? "compare failed" : answer.error().message.c_str());
          std::exit(1);
        }
        std::lock_guard guard(lock);
        latencies.push_back(seconds_since(begun) * 1e3);
        ++free_slots;
        ++received;
        wake.notify_one();
      });
    }
  }
  double elapsed = seconds_since(start);
  std::sort(latencies.begin(), latencies.end());
  auto at = [&](double part) { return latencies[static_cast<std::size_t>(part * (total - 1))]; };
  std::printf("%-28s %8.0f /s   p50 %.2f ms  p99 %.2f ms  max %.1f ms\n", what, total / elapsed,
              at(0.5), at(0.99), at(1));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: store_bench DIRECTORY [records] [value bytes]\n");
    return 2;
  }
  std::string directory = std::string(argv[1]) + "/store_bench";
  int records = argc > 2 ? std::atoi(argv[2]) : 150'000;
  std::size_t size = argc > 3 ? static_cast<std::size_t>(std::atoi(argv[3])) : 1300;
  std::filesystem::remove_all(directory);
  std::string value(size, 'v');
  for (std::size_t i = 0; i < size; ++i) value[i] = static_cast<char>('a' + i * 7 % 26);
  auto create = [&](int i) { return Txn{{{key_of(i), 0}}, {Put{key_of(i), value}}}; };
  auto update = [&](int i) { return Txn{{}, {Put{key_of(i * 7919 % records), value}}}; };
  {
    auto store = open(directory);
    drive(*store, "create, 64 writers", records, 64, create);
    drive(*store, "update, 64 writers", 100'000, 64, update);
    drive(*store, "update, 1 writer", 5'000, 1, update);
    auto start = std::chrono::steady_clock::now();
    int reads = 300'000;
    for (int i = 0; i < reads; ++i) {
      if (!store->get(key_of(static_cast<int>(i * 7919ll % records)))) std::exit(1);
    }
    std::printf("%-28s %8.0f /s\n", "get, 1 reader", reads / seconds_since(start));
    start = std::chrono::steady_clock::now();
    auto page = store->range({keys_with_prefix("/registry/configmaps/"), 500});
    std::printf("%-28s %8.3f ms\n", "list of 500", seconds_since(start) * 1e3);
    start = std::chrono::steady_clock::now();
    auto all = store->range({keys_with_prefix("/registry/configmaps/")});
    std::printf("%-28s %8.3f ms for %zu\n", "list of all", seconds_since(start) * 1e3,
                all->records.size());
    if (auto done = compact_sync(*store, store->current_revision()); !done) std::exit(1);
    auto stats = store->stats();
    std::printf("%-28s %8.1f MiB live, %.1f MiB file\n", "after compaction",
                static_cast<double>(stats.live_bytes) / (1 << 20),
                static_cast<double>(stats.file_bytes) / (1 << 20));
    start = std::chrono::steady_clock::now();
    store.reset();
    std::printf("%-28s %8.3f s\n", "close", seconds_since(start));
  }
  std::fflush(stdout);
  // A separate process shows the cost of a fresh start.
  if (pid_t child = fork(); child == 0) {
    auto start = std::chrono::steady_clock::now();
    double before = resident_mib();
    auto store = open(directory);
    std::printf("%-28s %8.3f s for %llu records, %.0f MiB more resident\n", "load",
                seconds_since(start), static_cast<unsigned long long>(store->stats().keys),
                resident_mib() - before);
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  wait(&status);
  std::filesystem::remove_all(directory);
}
