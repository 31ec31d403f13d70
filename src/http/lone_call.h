#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/client.h"
#include "http/output.h"
#include "http/response_parser.h"
#include "http/url.h"
#include "net/connection.h"
#include "net/dialer.h"
#include "net/loop.h"

namespace cardea::http {

// What a lone call needs beside the call itself.
struct LoneCallOptions {
  std::chrono::milliseconds connect_timeout{30'000};  // with the handshake
  net::Dialer::Admits admits = {};                    // which addresses may be called
};

// One HTTP/1.1 call on a connection of its own, whose answer is read as it comes. With an Upgrade
// header the answer may be a 101, and to a CONNECT a 200: the connection is then a tunnel, and
// bytes go both ways.
//
// The timeout of the call ends with the head of the answer; 0 is no limit. Redirects are not
// followed. The reader hears on_end or on_failure once, as the last, unless the call is cancelled
// before. The end of a tunnel's other side is told by on_end; writing goes on until cancel().
//
// Loop thread only. The call lives, with its reader, until it is over.
class LoneCall final : private net::Connection::Owner,
                       public std::enable_shared_from_this<LoneCall> {
 public:
  // `tls` may be null for a plain URL.
  static std::shared_ptr<LoneCall> open(net::Loop& loop, net::Dialer& dialer,
                                        std::shared_ptr<const net::TlsClient> tls, Call call,
                                        LoneCallOptions options,
                                        std::shared_ptr<AnswerReader> reader);

  LoneCall(net::Loop& loop, std::shared_ptr<const net::TlsClient> tls, Call call,
           std::shared_ptr<AnswerReader> reader);

  // Through the tunnel. What the network does not take at once waits; on_drained tells when it has
  // gone. Dropped when the call is over.
  void write(std::string_view bytes);
  std::size_t pending_bytes() const { return output_.pending(); }
  void finish();  // the tunnel: we send no more, once everything written has gone
  void cancel();  // the reader hears no more
  void read_on();
  bool is_over() const { return is_over_; }

 private:
  void dialed(Result<net::Socket> socket);
  void on_ready() override;
  bool is_connected();
  void begin();
  void flush();
  void read();
  void consume(std::string_view input);
  void ended();
  void failed(Error error);
  std::string why_broken() const;
  std::shared_ptr<AnswerReader> let_go();

  net::Loop& loop_;
  const std::shared_ptr<const net::TlsClient> tls_;
  Call call_;
  Url url_;
  std::shared_ptr<AnswerReader> reader_;
  net::Timer timer_;
  std::unique_ptr<net::Connection> connection_;
  Output::Memory memory_;
  Output output_{memory_};
  ResponseParser parser_;
  bool has_begun_ = false;  // the request is being sent
  bool has_sent_ = false;   // a part of it
  bool is_paused_ = false;
  bool is_finished_ = false;  // we have no more to send
  bool cannot_send_ = false;  // the other side takes no more
  bool input_ended_ = false;  // the other side sends no more
  bool is_over_ = false;
};

}  // namespace cardea::http
