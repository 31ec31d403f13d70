#pragma once
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "store/store.h"

namespace cardea::app {

// What a server looks after beside its requests, on a thread of its own:
// - whether the store takes writes: when it stops to, and when it does again, the log has one line;
// - when certificates end: a metric, and a line a day during the last month;
// - memory that a storm of requests left free goes back to the system.
class Housekeeping {
 public:
  struct Certificate {
    std::string name;  // for people: "serving"
    std::string path;  // read anew each time, because files are replaced
  };

  // All of them outlive this.
  Housekeeping(const Log& log, MetricRegistry& metrics, const store::Store& store,
               std::vector<Certificate> certificates);
  ~Housekeeping();
  Housekeeping(const Housekeeping&) = delete;
  Housekeeping& operator=(const Housekeeping&) = delete;

 private:
  void run();
  void look_at_store();
  void look_at_certificates(bool tells);
  static void give_memory_back();

  const Log& log_;
  MetricRegistry& metrics_;
  const store::Store& store_;
  const std::vector<Certificate> certificates_;
  std::string trouble_;

  std::mutex mutex_;
  std::condition_variable stopped_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace cardea::app
