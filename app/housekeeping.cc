#include "app/housekeeping.h"

#include <malloc.h>

#include <chrono>
#include <ctime>

#include "app/certificates.h"
#include "app/data_directory.h"
#include "base/strings.h"

namespace cardea::app {
namespace {

constexpr std::size_t kFreeBytes = 64u << 20;  // so much may stay free for the next storm
constexpr std::int64_t kDay = 86'400, kSoon = 30 * kDay;

}  // namespace

Housekeeping::Housekeeping(const Log& log, MetricRegistry& metrics, const store::Store& store,
                           std::vector<Certificate> certificates)
    : log_(log),
      metrics_(metrics),
      store_(store),
      certificates_(std::move(certificates)),
      thread_([this] { run(); }) {}

Housekeeping::~Housekeeping() {
  {
    std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  stopped_.notify_all();
  thread_.join();
}

void Housekeeping::run() {
  for (std::int64_t second = 0;; ++second) {
    look_at_store();
    if (second % 3600 == 0) look_at_certificates(second % kDay == 0);
    if (second % 10 == 9) give_memory_back();
    std::unique_lock lock(mutex_);
    if (stopped_.wait_for(lock, std::chrono::seconds(1), [this] { return is_over_; })) return;
  }
}

void Housekeeping::look_at_store() {
  std::string trouble = store_.stats().trouble;
  if (trouble == trouble_) return;
  if (trouble.empty())
    log_.write(LogLevel::kInfo, "the store takes writes again");
  else
    log_.write(LogLevel::kError, cat("the store has trouble: ", trouble));
  trouble_ = std::move(trouble);
}

void Housekeeping::look_at_certificates(bool tells) {
  for (const Certificate& certificate : certificates_) {
    const auto text = read_file(certificate.path);
    const auto end = text ? end_of(*text) : Result<std::int64_t>(fail(text.error()));
    if (!end) {
      if (tells)
        log_.write(LogLevel::kWarning, cat("the ", certificate.name,
                                           " certificate cannot be read: ", end.error().message));
      continue;
    }
    metrics_
        .gauge({"cardea_certificate_expiration_timestamp_seconds",
                "When a certificate of the server ends, in seconds since 1970."},
               {{"certificate", certificate.name}})
        .set(static_cast<double>(*end));
    const std::int64_t left = *end - std::time(nullptr);
    if (!tells || left > kSoon) continue;
    log_.write(LogLevel::kWarning,
               left > 0
                   ? cat("the ", certificate.name, " certificate ends in ", left / kDay, " days")
                   : cat("the ", certificate.name, " certificate has ended"),
               {{"file", certificate.path}});
  }
}

void Housekeeping::give_memory_back() {
  // Free but kept, over all arenas.
  if (::mallinfo2().fordblks > kFreeBytes) ::malloc_trim(kFreeBytes / 4);
}

}  // namespace cardea::app
