#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "http/message.h"
#include "net/dialer.h"
#include "net/loop.h"
#include "net/tls.h"

namespace cardea::http {

struct ClientOptions {
  std::size_t max_body = 16u << 20;  // of an answer; beyond it the call fails
  std::size_t max_idle = 8;          // HTTP/1.1 connections kept open per host
  std::size_t max_shared = 8;        // HTTP/2 connections per host; further calls wait for a stream
  std::chrono::milliseconds idle_timeout{60'000};
  std::chrono::milliseconds connect_timeout{30'000};  // with the handshake
  std::chrono::milliseconds ping_after{30'000};       // of silence on an HTTP/2 connection
  std::chrono::milliseconds ping_timeout{15'000};     // then the connection is given up
  bool plain_http2 = false;  // `http` URLs are called by HTTP/2 without asking (prior knowledge)
  net::Dialer::Admits admits = {};  // which addresses may be called; without it all of them
};

struct Call {
  std::string method = "GET";
  std::string url;  // "https://host:port/path?query"
  Headers headers;  // Host and Content-Length are added
  std::string body;
  std::chrono::milliseconds timeout{30'000};  // from connecting to the answer's last byte
  bool may_repeat = false;  // asking twice is as good as once, whatever the method
  bool is_whole = false;    // for `open`: the body is all of the request
  // Connect here rather than to the URL's host, whose name is still what the certificate must
  // carry.
  std::string connect_host;
  std::uint16_t connect_port = 0;
  std::string tunnel_to = {};  // of a CONNECT, by a LoneCall: "example.com:443"
};

struct Answer {
  int status = 0;
  Headers headers;
  std::string body;
  Headers trailers = {};  // by HTTP/2 alone
};

// Whether the server has certainly seen nothing of a call that failed with this error.
bool was_not_begun(const Error& error);

// Reads an answer as it comes. Called on the client's loop, in this order; on_end or on_failure is
// the last.
class AnswerReader {
 public:
  virtual ~AnswerReader() = default;
  virtual void on_head(int status, const Headers& headers) = 0;
  // False: the server is not asked for more until OpenCall::read_on. What is on its way still
  // comes, up to 256 KiB.
  virtual bool on_data(std::string_view bytes) = 0;
  virtual void on_drained() {}  // everything that was written is on its way
  virtual void on_end(const Headers& trailers) = 0;
  virtual void on_failure(const Error& error) = 0;
};

// A call whose request is written and whose answer is read while both go on, as in gRPC. Any
// thread.
class OpenCall {
 public:
  virtual ~OpenCall() = default;
  virtual bool write(Piece piece) = 0;  // false: the call is over, or finished
  virtual void finish() = 0;            // the request is complete
  virtual void cancel() = 0;            // the reader hears no more of it, but for what is under way
  virtual void read_on() = 0;
  virtual std::size_t pending_bytes() const = 0;  // written, and not yet on its way
};

// Calls HTTP servers, plain or TLS, and keeps connections for the next call. By HTTP/2 where TLS
// offers it and the server takes it: many calls share a connection. Otherwise by HTTP/1.1.
//
// An Error means that no whole answer came: the server cannot be reached, is not who it should be,
// took too long, or does not speak HTTP. Any answer, be it a 500, is an Answer. Redirects are not
// followed. Two kinds of calls are tried again on another connection: a GET, or a call that may be
// repeated, whose kept connection turned out to be closed; and any call that an HTTP/2 server says
// it has not begun (REFUSED_STREAM, GOAWAY).
//
// What a hostile server can make the client hold or do is bounded, as in the server: heads, interim
// answers, bodies, frames that carry nothing. Pushes are refused.
//
// send and open are for any thread; callbacks come on the loop's. Destroying the client fails what
// is under way, on the loop. The loop, which is running, and the dialer outlive it.
class Client {
 public:
  using Done = std::move_only_function<void(Result<Answer>)>;

  // `tls` may be null for a client that only calls plain servers.
  Client(net::Loop& loop, net::Dialer& dialer, std::shared_ptr<const net::TlsClient> tls,
         ClientOptions options = {});
  ~Client();

  void send(Call call, Done done);
  // The body of `call` is the beginning of the request, which then goes by HTTP/2 alone, and is not
  // repeated once it has begun; or it is all of it (`is_whole`), and the call is made as by `send`.
  // Its timeout ends with the head of the answer; 0 is no limit.
  std::shared_ptr<OpenCall> open(Call call, std::shared_ptr<AnswerReader> reader);

 private:
  class Pool;
  std::shared_ptr<Pool> pool_;
};

}  // namespace cardea::http
