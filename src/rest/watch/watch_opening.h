#pragma once
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/websocket.h"
#include "rest/call.h"

namespace cardea::rest {

// How a watch begins: its head, and the events that the client gets at once. Over HTTP the answer
// is a stream of events; over a WebSocket each event is a message, in text for JSON and in binary
// without the length before it for Protobuf.
class WatchOpening {
 public:
  // Reads the handshake when the client asks for a WebSocket. The error is the answer to a wrong
  // one, as kube-apiserver gives it.
  static std::expected<WatchOpening, Answer> make(Call& call);

  void add(std::string_view event);
  bool has_events() const { return !first_.empty() || !messages_.empty(); }
  int status() const { return offer_ ? 101 : 200; }

  // Answers the call. `on_end` is called if the client closes its WebSocket; the end of its
  // connection is told by Exchange::on_close. Null: the connection cannot become a WebSocket.
  std::shared_ptr<http::Stream> open(Call& call, net::Callback on_end);

 private:
  std::shared_ptr<http::Stream> open_socket(Call& call, http::Response head, net::Callback on_end);

  std::optional<http::WebSocketOffer> offer_;
  std::string first_;                  // over HTTP
  std::vector<std::string> messages_;  // over a WebSocket
};

}  // namespace cardea::rest
