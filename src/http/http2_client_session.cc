#include "http/http2_client_session.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace cardea::http {
namespace {

constexpr std::size_t kClientReadBuffer = 16 * 1024;
constexpr int kClientReads = 16;  // of one turn
// Until the server has said how many streams it allows, and if it says very many.
constexpr std::uint32_t kFirstStreams = 1;
constexpr std::uint32_t kMostStreams = 1'000;
constexpr int kMostInterim = 20;
constexpr std::size_t kMostUnsent = 2 * Http2Wire::kMaxUnsent;
// A call that got no answer may mean a dead connection. It is asked if it was silent for so long.
constexpr std::chrono::seconds kSuspicious{1};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

Http2ClientSession::Http2ClientSession(net::Loop& loop, Owner& owner,
                                       std::unique_ptr<net::Connection> connection,
                                       const ClientOptions& options)
    : loop_(loop),
      owner_(owner),
      options_(options),
      connection_(std::move(connection)),
      timer_(loop, [this] { on_timer(); }),
      output_(memory_),
      wire_(Http2Wire::Role::kClient, *this, output_) {}

void Http2ClientSession::start() {
  connection_->hand_over(*this);
  heard_ = idle_since_ = loop_.now();
  process();
}

bool Http2ClientSession::has_room() const {
  if (is_over_ || !lost_.empty() || !wire_.accepts_requests()) return false;
  const std::uint32_t allowed = wire_.greeted() ? std::min(wire_.max_streams(), kMostStreams)
                                                : kFirstStreams;
  return streams_.size() < allowed && output_.pending() < kMostUnsent;
}

void Http2ClientSession::call(const std::shared_ptr<Pending>& pending) {
  auto stream = std::make_unique<Stream>();
  stream->pending = pending;
  const Call& call = pending->call;
  Headers headers;
  for (const auto& [name, value] : call.headers)
    if (is_token(name) && is_field_value(value) && !equals_ignoring_case(name, "host"))
      headers.add(name, value);
  const std::string_view host = call.headers.get("Host");
  const bool has_length = pending->is_whole() &&
                          (!call.body.empty() || (call.method != "GET" && call.method != "HEAD"));
  std::optional<std::size_t> length;
  if (has_length) length = call.body.size();
  const bool is_whole = pending->is_whole() && call.body.empty();
  const Http2Wire::RequestHead head{.method = call.method,
                                    .scheme = pending->url.tls ? "https" : "http",
                                    .authority = host.empty() ? pending->url.authority : host,
                                    .target = pending->url.target,
                                    .headers = headers,
                                    .length = length};
  pending->shared = this;
  if (!wire_.send_request(*stream, head, is_whole)) {
    ended_.push_back({std::move(stream), Code::kRefusedStream});
    return process_soon();
  }
  Stream& sent = *stream;
  pending->stream = sent.id;
  streams_.emplace(sent.id, std::move(stream));
  wire_.add(sent, Piece{pending, call.body});
  sent.last = pending->is_whole();
  if (pending->flow) pending->flow->attach(*this, sent.id);
  process_soon();
}

void Http2ClientSession::cancel(std::int32_t id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  found->second->pending.reset();
  wire_.reset(*found->second, Code::kCancel);
  if (loop_.now() - heard_ >= kSuspicious) ping();
  process_soon();
}

void Http2ClientSession::write(std::int32_t id, std::vector<Piece> pieces, bool last) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || found->second->last) return;
  Stream& stream = *found->second;
  for (const Piece& piece : pieces) wire_.add(stream, piece);
  stream.last = last;
  wire_.resume(stream);
  process_soon();
}

void Http2ClientSession::read_on(std::int32_t id) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || !std::exchange(found->second->waits, false)) return;
  wire_.grant(*found->second, std::exchange(found->second->not_granted, 0));
  process_soon();
}

// --- what the server says -----------------------------------------------------------------------

void Http2ClientSession::on_field(Http2Stream& of, std::string_view name, std::string_view value) {
  Stream& stream = static_cast<Stream&>(of);
  if (name == ":status") {
    stream.status = 0;
    if (value.size() == 3 && std::all_of(value.begin(), value.end(), is_digit))
      stream.status = std::stoi(std::string(value));
  }
  if (!name.starts_with(':')) (stream.has_head ? stream.trailers : stream.headers).add(name, value);
}

void Http2ClientSession::on_head(Http2Stream& of, bool too_large, bool) {
  Stream& stream = static_cast<Stream&>(of);
  if (too_large) return give_up(stream, "malformed answer: the head is too large");
  if (stream.has_head) return;  // these were trailers
  if (stream.status < 100) return give_up(stream, "malformed answer: no status");
  if (stream.status < 200) {
    stream.headers.clear();
    if (++stream.interim > kMostInterim)
      give_up(stream, "malformed answer: too many interim answers");
    return;
  }
  stream.has_head = true;
  if (!stream.pending || !stream.pending->flow) return;
  owner_.on_head(stream.pending);
  stream.pending->flow->reader().on_head(stream.status, stream.headers);
}

void Http2ClientSession::on_data(Http2Stream& of, std::string_view bytes) {
  Stream& stream = static_cast<Stream&>(of);
  if (!stream.pending || !stream.why.empty()) return;
  stream.not_granted += bytes.size();
  take(stream, bytes);
  if (stream.waits || stream.not_granted < Http2Wire::kStreamWindow / 2) return;
  wire_.grant(stream, std::exchange(stream.not_granted, 0));
}

void Http2ClientSession::take(Stream& stream, std::string_view bytes) {
  if (stream.pending->flow) {
    if (!stream.pending->flow->is_cancelled() && !stream.pending->flow->reader().on_data(bytes))
      stream.waits = true;
    return;
  }
  if (stream.body.size() + bytes.size() > options_.max_body)
    return give_up(stream, cat("the answer is larger than ", options_.max_body, " bytes"));
  stream.body.append(bytes);
}

// An answer that comes before all of the request is sent makes the rest useless.
void Http2ClientSession::on_end(Http2Stream& of) {
  Stream& stream = static_cast<Stream&>(of);
  stream.has_ended = true;
  if (stream.unsent > 0 || !stream.last) wire_.reset(stream, Code::kNoError);
}

void Http2ClientSession::on_sent(Http2Stream& of) {
  Stream& stream = static_cast<Stream&>(of);
  if (stream.pending && stream.pending->flow) stream.pending->flow->set_unsent(stream.unsent);
}

void Http2ClientSession::on_closed(Http2Stream& of, Code code) {
  const auto found = streams_.find(of.id);
  if (found == streams_.end()) return;
  ended_.push_back({std::move(found->second), code});
  streams_.erase(found);
  if (streams_.empty()) idle_since_ = loop_.now();
}

void Http2ClientSession::on_not_sent(std::int32_t id) {
  const auto found = streams_.find(id);
  if (found != streams_.end()) on_closed(*found->second, Code::kRefusedStream);
}

void Http2ClientSession::give_up(Stream& stream, std::string why) {
  if (stream.why.empty()) stream.why = std::move(why);
  wire_.reset(stream, Code::kCancel);
}

// --- the connection -----------------------------------------------------------------------------

void Http2ClientSession::process_soon() {
  if (processing_ || std::exchange(scheduled_, true)) return;
  loop_.post([self = shared_from_this()] {
    self->scheduled_ = false;
    self->process();
  });
}

void Http2ClientSession::process() {
  if (is_over_) return;
  const auto self = shared_from_this();
  processing_ = true;
  const bool was_held = output_.pending() >= 2 * kMostUnsent;
  flush();
  read();
  flush();
  processing_ = false;
  if (was_held && output_.pending() < 2 * kMostUnsent) process_soon();
  if (wire_.over() && lost_.empty()) lose("the HTTP/2 connection has ended");
  settle();
  if (is_over_) return;
  if (!lost_.empty() || (!wire_.accepts_requests() && streams_.empty())) {
    // Of a lost connection the streams are gone, which the wire would still read from.
    if (lost_.empty()) {
      wire_.go_away();
      wire_.fill();
      output_.flush(*connection_);
    }
    close();
    return owner_.on_over(*this);
  }
  if (has_room()) owner_.on_room(*this);
  if (!is_over_) arm_timer();
}

void Http2ClientSession::flush() {
  while (lost_.empty()) {
    wire_.fill();
    if (output_.pending() == 0) return;
    if (output_.flush(*connection_) == net::Io::kFailed) return lose(connection_->failure());
    if (output_.pending() > 0) return;
  }
}

void Http2ClientSession::read() {
  char buffer[kClientReadBuffer];
  // A server that sends and does not read is read no further: its silence then ends it.
  for (int reads = 0; lost_.empty() && output_.pending() < 2 * kMostUnsent; ++reads) {
    if (reads == kClientReads) {
      // Others have their turn.
      if (!std::exchange(scheduled_, true))
        loop_.post([self = shared_from_this()] {
          self->scheduled_ = false;
          self->process();
        });
      return;
    }
    const net::IoResult got = connection_->read(buffer);
    if (got.status == net::Io::kWouldBlock) return;
    if (got.status != net::Io::kDone) return lose(connection_->failure());
    heard_ = loop_.now();
    is_pinged_ = false;
    wire_.receive({buffer, got.bytes}, heard_);
    if (wire_.over()) return;
  }
}

// The connection is of no use: all its calls fail.
void Http2ClientSession::lose(std::string why) {
  if (!lost_.empty()) return;
  lost_ = why.empty() ? "the connection was lost" : std::move(why);
  for (auto& [id, stream] : std::exchange(streams_, {}))
    ended_.push_back({std::move(stream), Code::kInternalError});
}

void Http2ClientSession::settle() {
  for (Ended& ended : std::exchange(ended_, {})) settle(ended);
}

void Http2ClientSession::settle(Ended& ended) {
  Stream& stream = *ended.stream;
  const auto pending = std::move(stream.pending);
  if (!pending) return;
  pending->shared = nullptr;
  if (stream.has_head && stream.has_ended && stream.why.empty()) {
    ++answers_;
    if (pending->flow) return owner_.on_end(pending, stream.trailers);
    return owner_.on_answer(pending, {stream.status, std::move(stream.headers),
                                      std::move(stream.body), std::move(stream.trailers)});
  }
  if (!stream.why.empty()) return owner_.on_failure(pending, stream.why, Repeat::kNever);
  if (ended.code == Code::kRefusedStream && !stream.has_head)
    return owner_.on_failure(pending, "the server refused the call", Repeat::kAlways);
  if (!lost_.empty())
    return owner_.on_failure(
        pending, lost_, answers_ > 0 && stream.status == 0 ? Repeat::kIfHarmless : Repeat::kNever);
  owner_.on_failure(
      pending,
      cat("the server ended the call with HTTP/2 error ", static_cast<std::uint32_t>(ended.code)),
      Repeat::kNever);
}

void Http2ClientSession::close() {
  if (std::exchange(is_over_, true)) return;
  timer_.cancel();
  connection_->close();
  output_.clear();
  streams_.clear();
  ended_.clear();
}

void Http2ClientSession::ping() {
  if (std::exchange(is_pinged_, true)) return;
  pinged_ = loop_.now();
  wire_.ping();
}

void Http2ClientSession::on_timer() {
  const net::SteadyTime now = loop_.now();
  if (is_pinged_ && now - pinged_ >= options_.ping_timeout) lose("no answer to a ping");
  if (!is_pinged_ && now - heard_ >= options_.ping_after) ping();
  if (streams_.empty() && now - idle_since_ >= options_.idle_timeout) wire_.go_away();
  process();
}

void Http2ClientSession::arm_timer() {
  net::SteadyTime due = is_pinged_ ? pinged_ + options_.ping_timeout : heard_ + options_.ping_after;
  if (streams_.empty()) due = std::min(due, idle_since_ + options_.idle_timeout);
  const auto delay = std::chrono::ceil<std::chrono::milliseconds>(due - loop_.now());
  timer_.start(std::max(delay, std::chrono::milliseconds(1)));
}

}  // namespace cardea::http
