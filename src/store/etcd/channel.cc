#include "store/etcd/channel.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/strings.h"

namespace cardea::store::etcd {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kFrameHead = 5;
constexpr std::size_t kLargestAnswer = 1u << 30;
// A read is given up on one member, and asked of the next, after this part of its time.
constexpr int kReadAttempts = 3;
constexpr milliseconds kShortestAttempt{200};
constexpr milliseconds kFirstPause{20};
constexpr milliseconds kLongestPause{1'000};

enum Code {
  kInvalidArgument = 3,
  kNotFound = 5,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kUnavailable = 14,
  kUnauthenticated = 16,
};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Answers that say that the member has not proposed anything to the others.
bool nothing_happened(int code, std::string_view message) {
  switch (code) {
    case kInvalidArgument:
    case kNotFound:  // a lease
    case kPermissionDenied:
    case kResourceExhausted:
    case kFailedPrecondition:
    case kOutOfRange:
    case kUnimplemented:
    case kUnauthenticated:
      return true;
    case kUnavailable:
      return has(message, "no leader") || has(message, "unhealthy cluster") ||
             has(message, "not capable");
    default:
      return false;
  }
}

http::ClientOptions client_options() {
  http::ClientOptions options;
  options.max_body = kLargestAnswer;
  options.max_shared = 2;
  options.connect_timeout = milliseconds(2'000);
  // etcd refuses clients that ping more often than every five seconds.
  options.ping_after = milliseconds(10'000);
  options.ping_timeout = milliseconds(5'000);
  options.idle_timeout = milliseconds(600'000);
  options.plain_http2 = true;
  return options;
}

}  // namespace

Error error_of(int code, std::string_view message, Asked asked) {
  const std::string text = message.empty() ? cat("etcd answered with gRPC status ", code)
                                           : std::string(message);
  if (code == kOutOfRange && has(message, "compacted")) return Error::of(Reason::kExpired, text);
  if (code == kOutOfRange) return bad_request(text);
  if (code == kResourceExhausted && has(message, "too many requests"))
    return Error::of(Reason::kTooManyRequests, cat("etcd is busy: ", text))
        .with({.retry_after_seconds = 1});
  if (code == kResourceExhausted && !has(message, "space"))
    return Error::of(Reason::kRequestEntityTooLarge, text);
  if (code == kInvalidArgument &&
      (has(message, "request is too large") || has(message, "too many operations")))
    return Error::of(Reason::kRequestEntityTooLarge, text);
  if (code == kInvalidArgument && !has(message, "user name is empty")) return bad_request(text);
  if (asked == Asked::kRead) return Error::of(Reason::kServiceUnavailable, text);
  if (nothing_happened(code, message))
    return Error::of(Reason::kServiceUnavailable, cat("nothing was stored: ", text));
  return internal_error(cat("outcome unknown: whether this was stored is not known: ", text));
}

bool Frames::next(std::string_view& message) {
  if (malformed_ || bytes_.size() - at_ < kFrameHead) {
    bytes_.erase(0, at_);
    at_ = 0;
    return false;
  }
  std::size_t size = 0;
  for (std::size_t i = 1; i < kFrameHead; ++i)
    size = size << 8 | static_cast<unsigned char>(bytes_[at_ + i]);
  if (bytes_[at_] != 0 || size > largest_) {
    malformed_ = true;
    return false;
  }
  if (bytes_.size() - at_ - kFrameHead < size) {
    bytes_.erase(0, at_);
    at_ = 0;
    return false;
  }
  message = std::string_view(bytes_).substr(at_ + kFrameHead, size);
  at_ += kFrameHead + size;
  return true;
}

std::string framed(std::string_view message) {
  const auto size = static_cast<std::uint32_t>(message.size());
  std::string out;
  out.reserve(kFrameHead + message.size());
  out.push_back(0);
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(size >> shift));
  out += message;
  return out;
}

class Channel::State : public std::enable_shared_from_this<State> {
 public:
  State(net::Loop& loop, net::Dialer& dialer, std::shared_ptr<const net::TlsClient> tls,
        std::vector<std::string> endpoints, Random& random)
      : loop_(loop),
        random_(random),
        endpoints_(std::move(endpoints)),
        client_(loop, dialer, std::move(tls), client_options()) {}

  struct Attempt {
    std::string method;
    std::string message;  // framed
    Asked asked;
    milliseconds deadline;
    net::SteadyTime until;
    Done done;
    int attempts = 0;
    std::unique_ptr<net::Timer> pause;
  };

  void close() {
    is_closed_ = true;
    for (const auto& attempt : std::exchange(attempts_, {})) {
      loop_.bury(attempt);
      attempt->done(fail(attempt->asked == Asked::kRead
                             ? Error::of(Reason::kServiceUnavailable, "the store is closing")
                             : internal_error("outcome unknown: the store is closing")));
    }
  }

  void begin(std::shared_ptr<Attempt> attempt) {
    attempts_.insert(attempt);
    send(attempt);
  }

  http::Call call_of(std::string_view method, std::string message) const {
    http::Call call;
    call.method = "POST";
    call.url = cat(endpoint(), method);
    call.headers = {{"content-type", "application/grpc"},
                    {"te", "trailers"},
                    {"user-agent", "cardea"},
                    // A member that has lost its leader says so instead of waiting.
                    {"hasleader", "true"}};
    call.body = std::move(message);
    return call;
  }

  std::shared_ptr<http::OpenCall> open(std::string_view method, std::string_view message,
                                       std::shared_ptr<http::AnswerReader> reader) {
    http::Call call = call_of(method, framed(message));
    call.timeout = milliseconds(10'000);
    return client_.open(std::move(call), std::move(reader));
  }

  const std::string& endpoint() const { return endpoints_[current_]; }
  void use_next() { current_ = (current_ + 1) % endpoints_.size(); }

  milliseconds pause_after(int attempts) {
    const int doublings = std::min(attempts / static_cast<int>(endpoints_.size()), 10);
    const milliseconds longest = std::min(kFirstPause * (1 << doublings), kLongestPause);
    const auto half = static_cast<std::uint64_t>(longest.count() / 2);
    return milliseconds(half + random_.next() % (half + 1));
  }

 private:
  void send(const std::shared_ptr<Attempt>& attempt) {
    const auto left = std::chrono::ceil<milliseconds>(attempt->until - loop_.now());
    milliseconds timeout = std::max(left, milliseconds(1));
    if (attempt->asked == Asked::kRead)
      timeout = std::min(timeout, std::max(attempt->deadline / kReadAttempts, kShortestAttempt));
    http::Call call = call_of(attempt->method, attempt->message);
    call.timeout = timeout;
    call.headers.add("grpc-timeout", cat(timeout.count(), "m"));
    client_.send(std::move(call),
                 [weak = weak_from_this(), attempt, used = current_](Result<http::Answer> answer) {
                   if (auto self = weak.lock(); self && !self->is_closed_)
                     self->answered(attempt, used, std::move(answer));
                 });
  }

  void answered(const std::shared_ptr<Attempt>& attempt, std::size_t used,
                Result<http::Answer> answer) {
    const bool is_read = attempt->asked == Asked::kRead;
    if (!answer) {
      if (current_ == used) use_next();
      if (is_read || http::was_not_begun(answer.error())) {
        const Error error = Error::of(Reason::kServiceUnavailable,
                                      cat(is_read ? "" : "nothing was stored: ",
                                          "etcd is not reached: ", answer.error().message));
        return retry(attempt, error);
      }
      return finish(attempt,
                    fail(internal_error(cat("outcome unknown: whether this was stored is not "
                                            "known: ",
                                            answer.error().message))));
    }
    auto status = answer->status == 200
                      ? Channel::status_of(answer->headers, answer->trailers, attempt->asked)
                      : Result<void>(fail(error_of(
                            kUnavailable, cat("HTTP status ", answer->status), attempt->asked)));
    if (status) {
      Frames frames(kLargestAnswer);
      frames.add(answer->body);
      std::string_view message;
      if (frames.next(message)) return finish(attempt, std::string(message));
      status = fail(error_of(2, "etcd sent an answer without a message", attempt->asked));
    }
    // A member without a leader may be alone; another one may not be.
    if (status.error().reason == Reason::kServiceUnavailable &&
        !has(status.error().message, "space")) {
      if (current_ == used) use_next();
      return retry(attempt, status.error());
    }
    finish(attempt, fail(status.error()));
  }

  void retry(const std::shared_ptr<Attempt>& attempt, const Error& error) {
    const milliseconds pause = pause_after(attempt->attempts++);
    if (loop_.now() + pause >= attempt->until) return finish(attempt, fail(error));
    if (!attempt->pause)
      attempt->pause = std::make_unique<net::Timer>(loop_, [this, raw = std::weak_ptr(attempt)] {
        if (auto again = raw.lock()) send(again);
      });
    attempt->pause->start(pause);
  }

  void finish(const std::shared_ptr<Attempt>& attempt, Result<std::string> answer) {
    attempts_.erase(attempt);
    loop_.bury(attempt);
    attempt->done(std::move(answer));
  }

  net::Loop& loop_;
  Random& random_;
  const std::vector<std::string> endpoints_;
  std::size_t current_ = 0;
  bool is_closed_ = false;
  std::set<std::shared_ptr<Attempt>> attempts_;
  http::Client client_;
};

Channel::Channel(net::Loop& loop, net::Dialer& dialer, std::shared_ptr<const net::TlsClient> tls,
                 std::vector<std::string> endpoints, Random& random)
    : state_(std::make_shared<State>(loop, dialer, std::move(tls), std::move(endpoints), random)) {}

Channel::~Channel() {
  state_->close();
}

void Channel::call(std::string_view method, std::string_view message, Asked asked,
                   milliseconds deadline, Done done) {
  auto attempt = std::make_shared<State::Attempt>();
  attempt->method = method;
  attempt->message = framed(message);
  attempt->asked = asked;
  attempt->deadline = deadline;
  attempt->until = std::chrono::steady_clock::now() + deadline;
  attempt->done = std::move(done);
  state_->begin(std::move(attempt));
}

std::shared_ptr<http::OpenCall> Channel::open(std::string_view method, std::string_view message,
                                              std::shared_ptr<http::AnswerReader> reader) {
  return state_->open(method, message, std::move(reader));
}

const std::string& Channel::endpoint() const {
  return state_->endpoint();
}

void Channel::use_next_endpoint() {
  state_->use_next();
}

milliseconds Channel::pause_after(int attempts) {
  return state_->pause_after(attempts);
}

Result<void> Channel::status_of(const http::Headers& headers, const http::Headers& trailers,
                                Asked asked) {
  // An error without a message comes as a head alone.
  const http::Headers& from = trailers.has("grpc-status") ? trailers : headers;
  const auto code = parse_int(from.get("grpc-status"));
  if (!code) return fail(error_of(2, "etcd sent an answer without a gRPC status", asked));
  if (*code == 0) return {};
  const std::string_view message = from.get("grpc-message");
  return fail(error_of(static_cast<int>(*code),
                       percent_decode(message).value_or(std::string(message)), asked));
}

}  // namespace cardea::store::etcd
