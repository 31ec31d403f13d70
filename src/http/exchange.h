#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "http/message.h"
#include "net/loop.h"

namespace cardea::http {

// An answer whose end is not known when it begins, such as a watch.
//
// Any thread may write; data that is written between two turns of the connection's loop is sent
// together. Pieces wait in a bounded queue: if a client does not read, its connection (over HTTP/2
// its stream) is closed, so it cannot fill the server's memory.
class Stream {
 public:
  virtual ~Stream() = default;

  // False when the stream is closed (the client went away, did not keep up, or finish() was
  // called): the piece is dropped, and so will all later ones be.
  virtual bool write(Piece piece) = 0;
  // Ends the answer once everything written has been sent.
  virtual void finish() = 0;
  // Cuts the connection, over HTTP/2 the stream, so that the client cannot take a part for the
  // whole.
  virtual void abort() = 0;
  virtual std::size_t pending_bytes() const = 0;  // written by us, not yet taken by the network
  // Calls back once, on the loop's thread and not inside this call, when the network has taken
  // everything that was written. Dropped uncalled when the stream closes first. It replaces a
  // callback that still waits. Loop thread only.
  virtual void when_drained(net::Callback callback) = 0;
};

// A connection that has left HTTP by an upgrade. What is written is sent as it is.
class Tunnel : public Stream {
 public:
  virtual void read_on() = 0;  // after Receiver::receive has returned false; any thread
};

// Takes what the client sends through a tunnel. Called on the loop's thread, and never inside a
// call to the tunnel.
class Receiver {
 public:
  virtual ~Receiver() = default;
  // The next bytes, which live as long as the call. False: nothing more is read until
  // Tunnel::read_on. Nothing is read either while much of what was written is not taken.
  virtual bool receive(std::string_view bytes) = 0;
  // The client sends no more. It may still read: the receiver finishes the tunnel when there is
  // nothing left to send.
  virtual void end() = 0;
};

// One request and its answer.
//
// It begins on its connection's loop thread. respond and stream may be called from any thread,
// exactly one of them, once. One of them must be called: otherwise the client waits.
class Exchange {
 public:
  virtual ~Exchange() = default;

  Request& request() { return request_; }
  // Where the handler works: the loop of the connection, unless it has moved.
  net::Loop& loop() const { return *works_on_; }
  net::Loop& connection_loop() const { return loop_; }
  // From now on the handler works on another loop. What is for the loop thread only is then not for
  // it: forget_body, leave_with_client, upgrade, a Stream's when_drained. Loop thread only.
  void work_on(net::Loop& loop) { works_on_ = &loop; }

  virtual void respond(Response response) = 0;
  // Sends status and headers now. For HEAD no body follows whatever is written. The body of `head`
  // is sent first.
  virtual std::shared_ptr<Stream> stream(Response head) = 0;

  // The handler needs the body of the request no more, and goes on for long. Loop thread only.
  virtual void forget_body() {}
  // After Handler::wants_body has returned true: the body is not needed after all. A request whose
  // body is still being read is handled now, as if wants_body had returned false. Loop thread only,
  // and not inside wants_body.
  virtual void withhold_body() {}
  // Inside Handler::wants_body: it is not known yet who sends this. Little of the body is read
  // until read_body() or withhold_body(). Loop thread only.
  void let_body_wait() { body_waits_ = true; }
  bool body_waits() const { return body_waits_; }
  virtual void read_body() { body_waits_ = false; }

  // The answer depends on another server, and nobody needs it once the client has gone: the end of
  // what the client sends is its leaving. Loop thread only.
  virtual void leave_with_client() {}

  // Ends HTTP on the connection: sends `head`, a 101, and from then on bytes go in both directions.
  // Null if that is impossible (over HTTP/2 and HTTP/1.0, or with a body that was not read): then
  // nothing is sent, and the exchange still needs its answer. Loop thread only. It stands in for
  // respond and stream.
  virtual std::shared_ptr<Tunnel> upgrade(Response /*head*/, std::shared_ptr<Receiver>) {
    return nullptr;
  }

  // Calls back on the loop's thread, once, if connection or stream end before the answer was
  // finished; at once (but not inside this call) if it already has. Dropped uncalled when the
  // answer was finished. Any thread.
  virtual void on_close(net::Callback callback) = 0;

 protected:
  explicit Exchange(net::Loop& loop) : loop_(loop), works_on_(&loop) {}
  Request request_;
  net::Loop& loop_;

  bool body_waits_ = false;

 private:
  net::Loop* works_on_;
};

// Answers requests. Called on loop threads, several at once; must neither block nor throw.
class Handler {
 public:
  virtual ~Handler() = default;
  virtual void handle(std::shared_ptr<Exchange> exchange) = 0;
  // Called when the head of a request has arrived and its body has not. False: the request is
  // handled at once, without the body (`Request::body_withheld`), and the connection (over HTTP/2
  // the stream) ends with the answer. The handler may store its results in `Request::kept`.
  virtual bool wants_body(const std::shared_ptr<Exchange>&) const { return true; }
};

}  // namespace cardea::http
