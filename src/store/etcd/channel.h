#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "http/client.h"
#include "net/loop.h"

namespace cardea::store::etcd {

// What a call does, if it is done at all: a read may be asked again, and elsewhere.
enum class Asked : std::uint8_t { kRead, kWrite };

// The meaning of what etcd answers instead of a result. For a write, kInternalError means that the
// outcome is not known; every other reason that nothing was written.
Error error_of(int grpc_status, std::string_view message, Asked asked);

// Takes gRPC's messages out of the bytes of an answer.
class Frames {
 public:
  explicit Frames(std::size_t largest) : largest_(largest) {}
  void add(std::string_view bytes) { bytes_.append(bytes); }
  // The next whole message, good until the next call; false when there is none.
  bool next(std::string_view& message);
  bool malformed() const { return malformed_; }

 private:
  const std::size_t largest_;
  std::string bytes_;
  std::size_t at_ = 0;
  bool malformed_ = false;
};

std::string framed(std::string_view message);

// Calls the members of an etcd cluster: gRPC over HTTP/2. One member is used until it fails, then
// the next. A call that no member has begun, and a read in any case, is tried again, after a pause
// that grows and is partly random, until its time is over.
//
// Loop thread only. Destroying it ends what is under way with an error.
class Channel {
 public:
  using Done = std::move_only_function<void(Result<std::string>)>;

  // `endpoints` are URLs, "http://127.0.0.1:2379". `loop`, `dialer` and `random` outlive it.
  Channel(net::Loop& loop, net::Dialer& dialer, std::shared_ptr<const net::TlsClient> tls,
          std::vector<std::string> endpoints, Random& random);
  ~Channel();

  // `done` gets the message of the answer, on the loop's thread.
  void call(std::string_view method, std::string_view message, Asked asked,
            std::chrono::milliseconds deadline, Done done);

  // A call in both directions, to the member that is used now.
  std::shared_ptr<http::OpenCall> open(std::string_view method, std::string_view message,
                                       std::shared_ptr<http::AnswerReader> reader);
  const std::string& endpoint() const;
  void use_next_endpoint();  // this one does not serve

  // The status of an answer that has ended: none of it when all is well.
  static Result<void> status_of(const http::Headers& headers, const http::Headers& trailers,
                                Asked asked);

  // How long to wait before the next attempt, after so many.
  std::chrono::milliseconds pause_after(int attempts);

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace cardea::store::etcd
