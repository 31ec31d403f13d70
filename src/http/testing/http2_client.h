#pragma once
// A client for tests that speaks HTTP/2, well behaved where it is not told otherwise. Included by
// tests only.
#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/testing/test_client.h"

namespace cardea::http::testing {

// A frame in bytes, for clients that are not well behaved.
inline std::string frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                         std::string_view payload = {}) {
  std::string out;
  auto number = [&out](std::uint64_t value, int bytes) {
    while (bytes-- > 0) out.push_back(static_cast<char>(value >> (8 * bytes)));
  };
  number(payload.size(), 3);
  number(type, 1);
  number(flags, 1);
  number(stream, 4);
  out += payload;
  return out;
}
inline std::string number32(std::uint32_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
  return out;
}
inline constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
// GET / of authority "t", in HPACK's static table.
inline constexpr std::string_view kGet = "\x82\x87\x84\x41\x01t";

struct Http2Answer {
  int status = 0;
  std::map<std::string, std::string> headers;
  std::string body;
  std::vector<int> interim;  // 1xx
  bool has_head = false;
  bool ended = false;                      // the server said that it was all
  std::optional<std::uint32_t> closed_by;  // the code with which the stream ended
};

class Http2Client {
 public:
  using Fields = std::vector<std::pair<std::string, std::string>>;
  struct Options {
    bool tls = false;
    int receive_buffer = 0;
    bool gives_windows = true;  // takes what it reads off the windows
    std::vector<nghttp2_settings_entry> settings = {};
  };

  explicit Http2Client(std::uint16_t port) : Http2Client(port, Options()) {}
  Http2Client(std::uint16_t port, const Options& options)
      : wire(port, options.tls, options.receive_buffer, "h2") {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_option* option = nullptr;
    nghttp2_option_new(&option);
    nghttp2_option_set_no_auto_window_update(option, options.gives_windows ? 0 : 1);
    nghttp2_option_set_no_http_messaging(option, 1);  // we may send what nobody should
    nghttp2_option_set_max_send_header_block_length(option, 8u << 20);
    nghttp2_session_client_new2(&session, callbacks, this, option);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session, 0, options.settings.data(), options.settings.size());
  }
  ~Http2Client() { nghttp2_session_del(session); }
  Http2Client(const Http2Client&) = delete;
  Http2Client& operator=(const Http2Client&) = delete;

  // Begins a request and sends it. `end`: it has no more than `body`.
  std::int32_t request(const std::string& method, const std::string& path, Fields more = {},
                       std::string_view body = {}, bool end = true) {
    Fields fields = {
        {":method", method}, {":scheme", "https"}, {":path", path}, {":authority", "t"}};
    fields.insert(fields.end(), more.begin(), more.end());
    return send_fields(fields, body, end);
  }
  std::int32_t send_fields(const Fields& fields, std::string_view body = {}, bool end = true) {
    std::vector<nghttp2_nv> values;
    for (const auto& [name, value] : fields)
      values.push_back({bytes(name), bytes(value), name.size(), value.size(), 0});
    const bool only_head = end && body.empty();
    const auto id = nghttp2_submit_headers(session, only_head ? NGHTTP2_FLAG_END_STREAM : 0, -1,
                                           nullptr, values.data(), values.size(), nullptr);
    flush();
    if (!only_head && !(body.empty() && !end)) send_body(id, body, end);
    return id;
  }
  void send_body(std::int32_t id, std::string_view body, bool end) {
    auto& left = bodies_[id] = {std::string(body), end};
    nghttp2_data_provider provider{{.ptr = &left}, read_body};
    nghttp2_submit_data(session, end ? NGHTTP2_FLAG_END_STREAM : 0, id, &provider);
    flush();
  }
  std::size_t body_left(std::int32_t id) const { return bodies_.at(id).left.size(); }
  void reset(std::int32_t id, std::uint32_t code = NGHTTP2_CANCEL) {
    nghttp2_submit_rst_stream(session, 0, id, code);
    flush();
  }

  void flush() {
    const std::uint8_t* data = nullptr;
    while (const auto size = nghttp2_session_mem_send(session, &data)) {
      if (size < 0) std::abort();
      wire.send({reinterpret_cast<const char*>(data), static_cast<std::size_t>(size)});
    }
  }
  // Reads what comes next. False: the connection has ended.
  bool read() {
    flush();
    const std::string got = wire.read_some();
    if (got.empty()) return false;
    nghttp2_session_mem_recv(session, bytes(got), got.size());
    flush();
    return true;
  }
  bool read_until(const std::function<bool()>& done) {
    while (!done())
      if (!read()) return done();
    return true;
  }
  // The whole answer, or as much as there is of it when stream or connection ends.
  Http2Answer& answer(std::int32_t id) {
    read_until([&] { return answers[id].ended || answers[id].closed_by; });
    return answers[id];
  }
  Http2Answer& head(std::int32_t id) {
    read_until([&] { return answers[id].has_head || answers[id].closed_by; });
    return answers[id];
  }
  Http2Answer& closed(std::int32_t id) {
    read_until([&] { return answers[id].closed_by.has_value(); });
    return answers[id];
  }
  Http2Answer& body(std::int32_t id, std::size_t size) {
    read_until([&] { return answers[id].body.size() >= size || answers[id].closed_by; });
    return answers[id];
  }
  // Waits until the server has seen what was sent.
  void round_trip() {
    const int before = acks;
    nghttp2_submit_ping(session, 0, nullptr);
    read_until([&] { return acks > before; });
  }
  Http2Answer get(const std::string& path) { return answer(request("GET", path)); }

  TestClient wire;
  nghttp2_session* session = nullptr;
  std::map<std::int32_t, Http2Answer> answers;
  std::optional<std::uint32_t> goaway;  // its code
  std::int32_t last_stream = 0;         // of the GOAWAY
  int pings = 0;
  int acks = 0;

 private:
  struct Body {
    std::string left;
    bool end = true;
  };
  static std::uint8_t* bytes(std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  }
  static Http2Client& self(void* user) { return *static_cast<Http2Client*>(user); }

  static ssize_t read_body(nghttp2_session*, std::int32_t, std::uint8_t* into, std::size_t size,
                           std::uint32_t* flags, nghttp2_data_source* source, void*) {
    auto& [left, end] = *static_cast<Body*>(source->ptr);
    size = std::min(size, left.size());
    left.copy(reinterpret_cast<char*>(into), size);
    left.erase(0, size);
    if (left.empty()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(size);
  }
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                       std::uint8_t, void* user) {
    Http2Answer& answer = self(user).answers[frame->hd.stream_id];
    const std::string key(reinterpret_cast<const char*>(name), name_size);
    const std::string text(reinterpret_cast<const char*>(value), value_size);
    if (key == ":status")
      answer.status = std::atoi(text.c_str());
    else
      answer.headers[key] = text;
    return 0;
  }
  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Http2Client& client = self(user);
    Http2Answer& answer = client.answers[frame->hd.stream_id];
    if (frame->hd.type == NGHTTP2_HEADERS) {
      if (answer.status < 200)
        answer.interim.push_back(answer.status);
      else
        answer.has_head = true;
    }
    if (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA)
      if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) answer.ended = true;
    if (frame->hd.type == NGHTTP2_GOAWAY) {
      client.goaway = frame->goaway.error_code;
      client.last_stream = frame->goaway.last_stream_id;
    }
    if (frame->hd.type == NGHTTP2_PING)
      ++(frame->hd.flags & NGHTTP2_FLAG_ACK ? client.acks : client.pings);
    return 0;
  }
  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                     std::size_t size, void* user) {
    self(user).answers[id].body.append(reinterpret_cast<const char*>(data), size);
    return 0;
  }
  static int on_close(nghttp2_session*, std::int32_t id, std::uint32_t code, void* user) {
    self(user).answers[id].closed_by = code;
    return 0;
  }

  std::map<std::int32_t, Body> bodies_;
};

}  // namespace cardea::http::testing
