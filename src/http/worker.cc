#include <ctime>

#include "http/session.h"

namespace cardea::http {
namespace {

constexpr std::size_t kSpareRequests = 64;
constexpr std::size_t kKeptBody = 64 * 1024;
constexpr std::size_t kKeptHeaders = 16 * 1024;
constexpr std::size_t kMostDiscarded = 16u << 20;

}  // namespace

bool Discard::from(net::Connection& connection, std::span<char> buffer) {
  while (bytes_ < kMostDiscarded) {
    const net::IoResult got = connection.read(buffer);
    if (got.status == net::Io::kWouldBlock) return !connection.broken();
    if (got.status != net::Io::kDone) return false;
    bytes_ += got.bytes;
  }
  return false;
}

Worker::Worker(net::Loop& loop, Handler& handler, const ServerOptions& options,
               std::atomic<std::size_t>& connections, net::Callback emptied,
               std::shared_ptr<BodyBudget> bodies)
    : loop_(loop),
      handler_(handler),
      options_(options),
      connections_(connections),
      emptied_(std::move(emptied)),
      bodies_(bodies ? std::move(bodies) : std::make_shared<BodyBudget>(options.max_bodies)),
      read_buffer_(std::make_unique_for_overwrite<char[]>(kReadBuffer)) {}

void Worker::adopt(std::unique_ptr<net::Connection> connection, Plain plain,
                   std::shared_ptr<void> counted) {
  if (stopping_) return;
  auto session = make_greeting(*this, std::move(connection), plain);
  session->place_ = sessions_.size();
  session->counted_ = std::move(counted);
  sessions_.push_back(std::move(session));
  connections_.fetch_add(1, std::memory_order_relaxed);
  sessions_.back()->start();
}

void Worker::replace(Session& session, std::shared_ptr<Session> by) {
  const std::size_t place = session.place_;
  by->place_ = place;
  by->counted_ = std::move(session.counted_);
  loop_.bury(std::exchange(sessions_[place], std::move(by)));
  sessions_[place]->start();
}

void Worker::drop(Session& session) {
  const std::size_t place = session.place_;
  std::shared_ptr<Session> dropped = std::move(sessions_[place]);
  if (place + 1 != sessions_.size()) {
    sessions_[place] = std::move(sessions_.back());
    sessions_[place]->place_ = place;
  }
  sessions_.pop_back();
  dropped->counted_.reset();
  loop_.bury(std::move(dropped));
  connections_.fetch_sub(1, std::memory_order_relaxed);
  if (stopping_ && sessions_.empty()) emptied_();
}

void Worker::close_when_idle() {
  stopping_ = true;
  if (sessions_.empty()) return emptied_();
  // Backwards: a session that drops itself is replaced by one already told.
  for (std::size_t i = sessions_.size(); i-- > 0;) sessions_[i]->close_when_idle();
}

void Worker::close_all() {
  stopping_ = true;
  while (!sessions_.empty()) sessions_.back()->close_now();
  emptied_();
}

std::string_view Worker::date_header() {
  const std::time_t now = std::time(nullptr);
  if (now == date_second_) return date_header_;
  date_second_ = now;
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  // Not strftime: day and month names must not depend on the locale.
  constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  char text[64];
  const int size = std::snprintf(text, sizeof text, "Date: %s, %02d %s %04d %02d:%02d:%02d GMT\r\n",
                                 kDays[parts.tm_wday], parts.tm_mday, kMonths[parts.tm_mon],
                                 parts.tm_year + 1900, parts.tm_hour, parts.tm_min, parts.tm_sec);
  date_header_.assign(text, static_cast<std::size_t>(size));
  return date_header_;
}

bool Worker::draws_goaway() {
  return options_.goaway_chance > 0 &&
         std::uniform_real_distribution<>()(chance_) < options_.goaway_chance;
}

Request Worker::take_request() {
  if (requests_.empty()) return {};
  Request request = std::move(requests_.back());
  requests_.pop_back();
  return request;
}

void Worker::give_back(Request request) {
  if (requests_.size() >= kSpareRequests || request.body.capacity() > kKeptBody ||
      request.headers.memory() > kKeptHeaders)
    return;
  request.headers.clear();
  request.body.clear();
  request.body_too_large = false;
  request.body_withheld = false;
  request.has_upgrade = false;
  request.from_stranger = false;
  request.peer.reset();
  request.kept.reset();
  requests_.push_back(std::move(request));
}

}  // namespace cardea::http
