#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "base/task.h"
#include "json/value.h"
#include "net/loop.h"
#include "rest/pipeline/sent.h"

namespace cardea::rest {

struct Call;

// Whether the sender of an open stream still may have it.
struct Standing {
  enum class Kind : std::uint8_t { kGood, kGone, kUnknown };  // kUnknown: not to be decided now
  Kind kind = Kind::kUnknown;
  Error why = {};  // unless it is good: the answer to the same request now
};

// What is needed to ask again.
struct StreamQuestion {
  std::shared_ptr<const pipeline::Sent> sent;
  json::Value options = {};  // of a connection: what conditions saw
};

// Asks again about a request, on its loop. Implemented by the gateway that served it, which
// outlives its streams.
class Reconsiders {
 public:
  virtual Task<Standing> reconsider(net::Loop& loop, const StreamQuestion& question) const = 0;

 protected:
  ~Reconsiders() = default;
};

// The open streams of a server: tunnels, followed logs, proxied answers, watches. After each period
// each stream is asked about again, and cut if its permission has gone: a binding was deleted, a
// policy was changed, a token expired, an account was deleted.
//
// A stream costs some memory and nothing else between two rounds. Without an answer to the question
// (an authorizer cannot be reached) it ends after the third round.
class OpenStreams {
 public:
  // A period of 0: nobody is asked again, as in Kubernetes.
  OpenStreams(net::Loops& loops, std::chrono::milliseconds period, MetricRegistry& metrics);
  ~OpenStreams();

  bool is_on() const { return period_.count() > 0; }

  // `cut` is called at most once, on the loop's thread, with the answer to the same request now.
  // The stream is known as long as the result lives. On the loop's thread.
  std::shared_ptr<void> add(net::Loop& loop, const Reconsiders& by, StreamQuestion question,
                            std::function<void(const Error&)> cut);
  // No rounds any more. From outside the loops, while they run.
  void stop();

 private:
  class Rounds;  // of one loop

  net::Loops& loops_;
  const std::chrono::milliseconds period_;
  std::vector<std::shared_ptr<Rounds>> rounds_;
};

// Adds the answer of a call, where streams are asked about again; otherwise null.
std::shared_ptr<void> keep_asking(Call& call, json::Value options,
                                  std::function<void(const Error&)> cut);

// The end of a stream, for the audit log.
std::string revoked(const Error& why);

}  // namespace cardea::rest
