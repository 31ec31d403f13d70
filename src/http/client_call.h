#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "http/client.h"
#include "http/url.h"
#include "net/loop.h"

namespace cardea::http {

class ClientSession;
class Http2ClientSession;
class Flow;

// The connection of a Flow. Loop thread only.
class FlowCarrier {
 public:
  virtual void write(std::int32_t stream, std::vector<Piece> pieces, bool last) = 0;
  virtual void read_on(std::int32_t stream) = 0;

 protected:
  ~FlowCarrier() = default;
};

// A call on its way. Loop thread only.
struct Pending {
  Call call;
  Url url;
  std::string key;             // of the connections it may use
  Client::Done done;           // gets the whole answer
  std::shared_ptr<Flow> flow;  // or reads it as it comes
  std::unique_ptr<net::Timer> timer;
  ClientSession* session = nullptr;      // it is called by, over HTTP/1.1
  Http2ClientSession* shared = nullptr;  // ... over HTTP/2
  std::int32_t stream = 0;               // of `shared`
  int refusals = 0;                      // by servers that had not begun it

  // All of the request is known: HTTP/1.1 can carry it, and it can be made again.
  bool is_whole() const { return !flow || call.is_whole; }
};

// Writes the head of a call as HTTP/1.1 has it.
void append_head(std::string& out, const Call& call, const Url& url);

// The client's side of an OpenCall: what is written waits here for the connection.
class Flow final : public OpenCall, public std::enable_shared_from_this<Flow> {
 public:
  Flow(net::Loop& loop, std::shared_ptr<AnswerReader> reader)
      : loop_(loop), reader_(std::move(reader)) {}

  bool write(Piece piece) override;
  void finish() override;
  void cancel() override;
  void read_on() override;
  std::size_t pending_bytes() const override;

  // For the client, on the loop's thread.
  void attach(FlowCarrier& carrier, std::int32_t stream);
  void set_unsent(std::size_t bytes);  // of what the connection has taken
  // Ends it; the first caller is the one that tells the reader. False: it has ended already.
  bool end();
  bool is_cancelled() const;
  AnswerReader& reader() { return *reader_; }
  net::Callback on_cancel;

 private:
  void schedule();
  void pump();

  net::Loop& loop_;
  const std::shared_ptr<AnswerReader> reader_;
  FlowCarrier* carrier_ = nullptr;  // loop thread only
  std::int32_t stream_ = 0;

  mutable std::mutex mutex_;
  std::vector<Piece> queue_;
  std::size_t queued_ = 0;
  std::size_t unsent_ = 0;
  bool scheduled_ = false;
  bool finished_ = false;
  bool cancelled_ = false;
  bool reads_on_ = false;
  bool over_ = false;
};

}  // namespace cardea::http
