#include "http/http2_wire.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory_resource>
#include <utility>

#include "base/result.h"
#include "base/strings.h"
#include "http/request_parser.h"
#include "http/syntax.h"

namespace cardea::http {
namespace {

constexpr std::size_t kMaxFrame = 256 * 1024;
// Bodies are read as they come, so this bounds no memory, only what can be on its way.
constexpr std::size_t kConnectionWindow = 4u << 20;
constexpr std::size_t kHeadLimit = RequestParser::kMaxHead;
constexpr std::size_t kFieldOverhead = 32;  // RFC 9113 section 6.5.2
// A head over the limit is answered. One that still goes on, with every byte standing for
// thousands, ends the connection.
constexpr std::size_t kEndlessHead = 4 * kHeadLimit;
// Enough for the largest head in the smallest frames.
constexpr std::size_t kMaxContinuations = kHeadLimit / 16'384 + 2;
constexpr std::size_t kMaxAcks = 1'000;
constexpr std::uint64_t kMaxResets = 10'000;
constexpr std::size_t kMaxAnswerHead = 1u << 20;
constexpr std::size_t kFrameHead = 9;
constexpr std::size_t kEarnedByAHead = 4;
constexpr std::size_t kEarnedByData = 2;  // a client may answer each with two WINDOW_UPDATEs
constexpr std::size_t kBytesToEarn = 1'024;
constexpr std::size_t kCrumb = 64;

std::string_view view(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

std::uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
}

nghttp2_nv field(std::string_view name, std::string_view value) {
  return {bytes_of(name), bytes_of(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

// Frames that requests are made of. All others, and DATA that carries nothing, cost patience.
bool is_carrier(std::uint8_t type, std::uint8_t flags, std::size_t length) {
  return type == NGHTTP2_HEADERS ||
         (type == NGHTTP2_DATA && (length > 0 || flags & NGHTTP2_FLAG_END_STREAM));
}

// RFC 9113 section 8.2.2: HTTP/2 says these things in other ways.
bool is_connection_specific(std::string_view name) {
  for (const std::string_view one :
       {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"})
    if (equals_ignoring_case(name, one)) return true;
  return false;
}

}  // namespace

bool Patience::spend(net::SteadyTime now) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now - counted_)
                                .count();
  if (milliseconds > 0) {
    const auto time = std::min<std::size_t>(static_cast<std::size_t>(milliseconds), 1'000'000);
    if (const std::size_t earned = time * kPerSecond / 1'000; earned > 0) {
      earn(earned);
      counted_ = now;
    }
  }
  if (left_ == 0) return false;
  --left_;
  return true;
}

void Patience::earn(std::size_t amount) {
  left_ = std::min(left_ + amount, kMost);
}

bool FrameScan::next(std::string_view& bytes, Frame& frame) {
  while (!bytes.empty()) {
    const std::size_t skipped = std::min(skip_, bytes.size());
    bytes.remove_prefix(skipped);
    skip_ -= skipped;
    if (skip_ > 0) return false;
    if (std::exchange(block_ends_, false)) in_block_ = false;
    const std::size_t part = std::min(sizeof head_ - head_size_, bytes.size());
    std::memcpy(head_ + head_size_, bytes.data(), part);
    bytes.remove_prefix(part);
    head_size_ += part;
    if (head_size_ < sizeof head_) return false;
    head_size_ = 0;
    skip_ = std::size_t{head_[0]} << 16 | std::size_t{head_[1]} << 8 | head_[2];
    frame = {.type = head_[3], .flags = head_[4], .length = skip_};
    if (frame.type == NGHTTP2_HEADERS) in_block_ = true;
    if (frame.type == NGHTTP2_HEADERS || frame.type == NGHTTP2_CONTINUATION)
      block_ends_ = frame.flags & NGHTTP2_FLAG_END_HEADERS;
    if (skip_ == 0 && std::exchange(block_ends_, false)) in_block_ = false;
    return true;
  }
  return false;
}

void Http2Stream::add(const Piece& piece) {
  if (piece.bytes.empty()) return;
  pieces.push_back(piece);
  unsent += piece.bytes.size();
}

void Http2Stream::forget_pieces() {
  std::vector<Piece>().swap(pieces);
  first = offset = unsent = 0;
}

// What nghttp2 calls. All of these run inside receive() or fill().
struct Http2Wire::Callbacks {
  static Http2Wire& wire(void* user) { return *static_cast<Http2Wire*>(user); }
  static Http2Stream* stream_of(nghttp2_session* session, std::int32_t id) {
    return static_cast<Http2Stream*>(nghttp2_session_get_stream_user_data(session, id));
  }
  static int patient(Http2Wire& self) {
    return self.patience_.spend(self.now_) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
  }

  static int on_begin_frame(nghttp2_session*, const nghttp2_frame_hd* head, void* user) {
    if (head->type == NGHTTP2_DATA && is_carrier(head->type, head->flags, head->length))
      wire(user).arrived();
    return 0;
  }

  static int on_begin_headers(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    Http2Wire& self = wire(user);
    // Pushes are refused by a setting; nothing of one may look like a part of an answer.
    if (frame->hd.type != NGHTTP2_HEADERS) return NGHTTP2_ERR_CALLBACK_FAILURE;
    self.head_size_ = self.head_fields_ = 0;
    self.arrived();
    if (self.role_ == Role::kClient) self.patience_.earn(kEarnedByAHead);
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    Http2Stream* stream = self.events_.on_stream(frame->hd.stream_id);
    nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, stream);
    // Streams take turns, frame by frame, whatever the client wishes.
    const nghttp2_extpri turns{NGHTTP2_EXTPRI_DEFAULT_URGENCY, 1};
    nghttp2_session_change_extpri_stream_priority(session, frame->hd.stream_id, &turns, 1);
    return 0;
  }

  static int on_header(nghttp2_session* session, const nghttp2_frame* frame,
                       const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value,
                       std::size_t value_size, std::uint8_t, void* user) {
    Http2Wire& self = wire(user);
    self.head_size_ += name_size + value_size + kFieldOverhead;
    ++self.head_fields_;
    if (self.head_size_ > kEndlessHead) return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (self.head_too_large() || !self.is_told(frame->headers.cat)) return 0;
    if (Http2Stream* stream = stream_of(session, frame->hd.stream_id))
      self.events_.on_field(*stream, view(name, name_size), view(value, value_size));
    return 0;
  }

  // By default nghttp2 leaves such a field out. But a field that we do not see may be one that the
  // client relies on, such as the user for whom it acts.
  static int on_invalid_header(nghttp2_session* session, const nghttp2_frame* frame,
                               const std::uint8_t*, std::size_t, const std::uint8_t*, std::size_t,
                               std::uint8_t, void*) {
    nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                              NGHTTP2_PROTOCOL_ERROR);
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }

  static int on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    Http2Wire& self = wire(user);
    const bool end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (frame->hd.type == NGHTTP2_SETTINGS) self.greeted_ = true;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    Http2Stream* stream = stream_of(session, frame->hd.stream_id);
    if (stream && frame->hd.type == NGHTTP2_HEADERS && self.is_told(frame->headers.cat)) {
      self.events_.on_head(*stream, self.head_too_large(), end);
      if (self.role_ == Role::kServer) return 0;
    }
    if (stream && end) self.events_.on_end(*stream);
    return 0;
  }

  static int on_data(nghttp2_session* session, std::uint8_t, std::int32_t id,
                     const std::uint8_t* bytes, std::size_t size, void* user) {
    nghttp2_session_consume_connection(session, size);
    if (wire(user).role_ == Role::kClient) wire(user).patience_.earn(size / kBytesToEarn);
    if (Http2Stream* stream = stream_of(session, id))
      wire(user).events_.on_data(*stream, view(bytes, size));
    return 0;
  }

  static int on_stream_close(nghttp2_session* session, std::int32_t id, std::uint32_t code,
                             void* user) {
    Http2Wire& self = wire(user);
    Http2Stream* stream = stream_of(session, id);
    if (stream) {
      nghttp2_session_set_stream_user_data(session, id, nullptr);
      self.unsent_ -= stream->unsent;
      stream->forget_pieces();
      self.events_.on_closed(*stream, static_cast<Code>(code));
    }
    return code == NGHTTP2_NO_ERROR ? 0 : patient(self);
  }

  static int on_frame_sent(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    Http2Wire& self = wire(user);
    if (frame->hd.type == NGHTTP2_GOAWAY) self.goaway_sent_ = true;
    if (frame->hd.type == NGHTTP2_HEADERS) {
      if (self.interim_ > 0)
        --self.interim_;
      else if (self.role_ == Role::kServer)
        self.patience_.earn(kEarnedByAHead);
    }
    if (frame->hd.type == NGHTTP2_RST_STREAM && frame->rst_stream.error_code != NGHTTP2_NO_ERROR)
      return patient(self);
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    Http2Stream* stream = stream_of(session, frame->hd.stream_id);
    if (stream && self.role_ == Role::kServer && frame->hd.flags & NGHTTP2_FLAG_END_STREAM &&
        nghttp2_session_get_stream_remote_close(session, frame->hd.stream_id) == 0)
      self.events_.on_answered_early(*stream);
    return 0;
  }

  static int on_frame_not_sent(nghttp2_session* session, const nghttp2_frame* frame, int,
                               void* user) {
    if (frame->hd.type == NGHTTP2_HEADERS && wire(user).role_ == Role::kClient) {
      wire(user).events_.on_not_sent(frame->hd.stream_id);
      return 0;
    }
    // Its head is too large: the client must not wait for it.
    if (frame->hd.type == NGHTTP2_HEADERS && stream_of(session, frame->hd.stream_id))
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                NGHTTP2_INTERNAL_ERROR);
    return 0;
  }

  static ssize_t read_data(nghttp2_session*, std::int32_t, std::uint8_t*, std::size_t length,
                           std::uint32_t* flags, nghttp2_data_source* source, void* user) {
    const Http2Stream& stream = *static_cast<Http2Stream*>(source->ptr);
    if (wire(user).output_.pending() >= kMaxUnsent) return NGHTTP2_ERR_PAUSE;
    if (stream.unsent == 0 && !stream.last) return NGHTTP2_ERR_DEFERRED;
    const std::size_t size = std::min(length, stream.unsent);
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (stream.last && size == stream.unsent) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(size);
  }

  static int send_data(nghttp2_session*, nghttp2_frame* frame, const std::uint8_t* head,
                       std::size_t length, nghttp2_data_source* source, void* user) {
    Http2Wire& self = wire(user);
    Http2Stream& stream = *static_cast<Http2Stream*>(source->ptr);
    CARDEA_CHECK(frame->data.padlen == 0 && length <= stream.unsent);
    self.output_.append(view(head, kFrameHead));
    stream.unsent -= length;
    self.unsent_ -= length;
    // A client that lets only crumbs pass earns nothing by them.
    const bool is_end = stream.last && stream.unsent == 0;
    if (length >= kCrumb || is_end) self.patience_.earn(kEarnedByData + length / kBytesToEarn);
    while (length > 0) {
      Piece& piece = stream.pieces[stream.first];
      const std::string_view bytes = piece.bytes.substr(stream.offset, length);
      self.output_.append(Piece{piece.owner, bytes});
      length -= bytes.size();
      stream.offset += bytes.size();
      if (stream.offset < piece.bytes.size()) break;
      piece = {};
      ++stream.first;
      stream.offset = 0;
    }
    if (stream.unsent == 0) stream.forget_pieces();
    // A stream that is never empty must not keep the places of what was sent.
    if (stream.first > 32 && stream.first > stream.pieces.size() / 2) {
      stream.pieces.erase(stream.pieces.begin(),
                          stream.pieces.begin() + static_cast<std::ptrdiff_t>(stream.first));
      stream.first = 0;
    }
    self.events_.on_sent(stream);
    return 0;
  }

  // Made once, never changed.
  struct Setup {
    Setup() {
      CARDEA_CHECK(nghttp2_session_callbacks_new(&callbacks) == 0);
      nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
      nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
      nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
      nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, on_invalid_header);
      nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
      nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
      nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
      nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
      nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_frame_not_sent);
      nghttp2_session_callbacks_set_send_data_callback(callbacks, send_data);
      CARDEA_CHECK(nghttp2_option_new(&options) == 0);
      nghttp2_option_set_no_auto_window_update(options, 1);
      nghttp2_option_set_no_closed_streams(options, 1);
      // Patience counts resets too, and gives some back for answers that were taken.
      nghttp2_option_set_stream_reset_rate_limit(options, kMaxResets, kMaxResets);
      nghttp2_option_set_max_continuations(options, kMaxContinuations);
      nghttp2_option_set_max_outbound_ack(options, kMaxAcks);
      nghttp2_option_set_max_send_header_block_length(options, kMaxAnswerHead);
      // Answers differ in the fields that cost most. A table for them would be 4 KiB and more of
      // every idle connection.
      nghttp2_option_set_max_deflate_dynamic_table_size(options, 0);
    }
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_option* options = nullptr;
  };
  static const Setup& setup() {
    static const Setup made;
    return made;
  }
};

Http2Wire::Http2Wire(Role role, Events& events, Output& output, std::uint32_t max_streams)
    : role_(role), events_(events), output_(output), scan_(role == Role::kServer) {
  const Callbacks::Setup& setup = Callbacks::setup();
  const bool is_server = role == Role::kServer;
  auto* make = is_server ? nghttp2_session_server_new2 : nghttp2_session_client_new2;
  CARDEA_CHECK(make(&session_, setup.callbacks, this, setup.options) == 0);
  const nghttp2_settings_entry settings[] = {
      is_server ? nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, max_streams}
                : nghttp2_settings_entry{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
      {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, kMaxFrame},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kHeadLimit},
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
  };
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  const std::size_t window = is_server ? std::min(max_streams * kStreamWindow, kConnectionWindow)
                                       : kConnectionWindow;
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                        static_cast<std::int32_t>(window));
}

Http2Wire::~Http2Wire() {
  nghttp2_session_del(session_);
}

// Servers ignore trailers. To a client everything is part of an answer.
bool Http2Wire::is_told(int category) const {
  return role_ == Role::kClient || category == NGHTTP2_HCAT_REQUEST;
}

bool Http2Wire::head_too_large() const {
  return head_size_ > kHeadLimit || head_fields_ > kMaxFields;
}

void Http2Wire::receive(std::string_view bytes, net::SteadyTime now) {
  if (failed_) return;
  now_ = now;
  if (!scan(bytes)) return fail(Code::kEnhanceYourCalm);
  const auto used = nghttp2_session_mem_recv(session_, bytes_of(bytes), bytes.size());
  // What is left of the count are requests that nghttp2 has ignored, such as those after a GOAWAY.
  for (; carriers_ > 0; --carriers_)
    if (!patience_.spend(now_)) return fail(Code::kEnhanceYourCalm);
  if (used >= 0) return;
  fail(used == NGHTTP2_ERR_BAD_CLIENT_MAGIC ? Code::kProtocolError : Code::kEnhanceYourCalm);
}

bool Http2Wire::scan(std::string_view bytes) {
  FrameScan::Frame frame;
  while (scan_.next(bytes, frame)) {
    if (frame.type == NGHTTP2_HEADERS) head_began_ = now_;
    if (is_carrier(frame.type, frame.flags, frame.length))
      ++carriers_;
    else if (!patience_.spend(now_))
      return false;
  }
  return true;
}

void Http2Wire::fill() {
  while (!failed_) {
    const std::uint8_t* bytes = nullptr;
    const auto size = nghttp2_session_mem_send(session_, &bytes);
    if (size == 0) return;
    if (size < 0)
      return fail(size == NGHTTP2_ERR_CALLBACK_FAILURE ? Code::kEnhanceYourCalm
                                                       : Code::kInternalError);
    output_.append(view(bytes, static_cast<std::size_t>(size)));
  }
}

// Written by hand: after a callback has failed nghttp2 makes no promise.
// INVARIANT: the output ends with a whole frame, because fill() stops only there.
void Http2Wire::fail(Code code) {
  if (failed_) return;
  failed_ = goaway_sent_ = true;
  const auto last = static_cast<std::uint32_t>(nghttp2_session_get_last_proc_stream_id(session_));
  std::string frame("\0\0\x08\x07\0\0\0\0\0", kFrameHead);
  for (const std::uint32_t number : {last, static_cast<std::uint32_t>(code)})
    for (int shift = 24; shift >= 0; shift -= 8)
      frame.push_back(static_cast<char>(number >> shift));
  output_.append(frame);
}

bool Http2Wire::over() const {
  return failed_ || (!nghttp2_session_want_read(session_) && !nghttp2_session_want_write(session_));
}

bool Http2Wire::take_goaway_sent() {
  return std::exchange(goaway_sent_, false);
}

namespace {

// Header fields for nghttp2, and the memory of those that are not sent as they are.
class FieldList {
 public:
  explicit FieldList(std::size_t count) { fields_.reserve(count); }

  // As it is; both must live until the fields are submitted.
  void add(std::string_view name, std::string_view value) { fields_.push_back(field(name, value)); }
  void add_number(std::string_view name, std::size_t number) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    const std::span<char> kept = copy({digits, end});
    add(name, {kept.data(), kept.size()});
  }
  // Names in lower case. A value may carry a user's text; it must not break the head.
  void add_all(const Headers& headers) {
    for (const auto& [name, value] : headers) {
      if (is_connection_specific(name)) continue;
      const std::span<char> lower_name = copy(name);
      for (char& c : lower_name)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      std::string_view sent = trim_spaces(value);
      if (!is_field_value(sent)) {
        const std::span<char> cleaned = copy(sent);
        for (char& c : cleaned)
          if (!is_field_value({&c, 1})) c = ' ';
        sent = trim_spaces({cleaned.data(), cleaned.size()});
      }
      add({lower_name.data(), lower_name.size()}, sent);
    }
  }
  const nghttp2_nv* data() const { return fields_.data(); }
  std::size_t size() const { return fields_.size(); }

 private:
  std::span<char> copy(std::string_view text) {
    auto* bytes = static_cast<char*>(memory_.allocate(text.size() + 1, 1));
    std::memcpy(bytes, text.data(), text.size());
    return {bytes, text.size()};
  }

  std::array<std::byte, 4096> room_;
  std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
  std::pmr::vector<nghttp2_nv> fields_{&memory_};
};

}  // namespace

void Http2Wire::send_head(Http2Stream& stream, const Response& response, std::string_view date,
                          std::optional<std::size_t> length, bool end) {
  FieldList fields(response.headers.count() + 3);
  fields.add_number(":status", static_cast<std::size_t>(response.status));
  fields.add_all(response.headers);
  fields.add("date", date);
  if (length) fields.add_number("content-length", *length);
  nghttp2_data_provider body{{.ptr = &stream}, Callbacks::read_data};
  nghttp2_submit_response(session_, stream.id, fields.data(), fields.size(), end ? nullptr : &body);
}

bool Http2Wire::send_request(Http2Stream& stream, const RequestHead& head, bool end) {
  FieldList fields(head.headers.count() + 5);
  fields.add(":method", head.method);
  fields.add(":scheme", head.scheme);
  fields.add(":authority", head.authority);
  fields.add(":path", head.target);
  fields.add_all(head.headers);
  if (head.length) fields.add_number("content-length", *head.length);
  nghttp2_data_provider body{{.ptr = &stream}, Callbacks::read_data};
  const std::int32_t id = nghttp2_submit_request(session_, nullptr, fields.data(), fields.size(),
                                                 end ? nullptr : &body, &stream);
  stream.id = id;
  stream.last = end;
  return id > 0;
}

bool Http2Wire::accepts_requests() const {
  return !failed_ && nghttp2_session_check_request_allowed(session_) != 0;
}

std::uint32_t Http2Wire::max_streams() const {
  return nghttp2_session_get_remote_settings(session_, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
}

void Http2Wire::send_continue(Http2Stream& stream) {
  const nghttp2_nv go_on = field(":status", "100");
  ++interim_;
  nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, stream.id, nullptr, &go_on, 1, nullptr);
}

void Http2Wire::add(Http2Stream& stream, const Piece& piece) {
  stream.add(piece);
  unsent_ += piece.bytes.size();
}

void Http2Wire::resume(Http2Stream& stream) {
  nghttp2_session_resume_data(session_, stream.id);  // fails when it was not waiting: no matter
}

void Http2Wire::reset(Http2Stream& stream, Code code) {
  unsent_ -= stream.unsent;
  stream.forget_pieces();
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream.id,
                            static_cast<std::uint32_t>(code));
}

void Http2Wire::grant(Http2Stream& stream, std::size_t bytes) {
  nghttp2_session_consume_stream(session_, stream.id, bytes);
}

void Http2Wire::ping() {
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
}

void Http2Wire::go_away() {
  if (std::exchange(going_away_, true)) return;
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                        nullptr, 0);
}

}  // namespace cardea::http
