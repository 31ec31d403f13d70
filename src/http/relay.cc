#include "http/relay.h"

#include <utility>

#include "base/strings.h"

namespace cardea::http {

std::shared_ptr<Relay> Relay::make(std::shared_ptr<Exchange> exchange, Options options) {
  return std::make_shared<Relay>(std::move(exchange), options);
}

std::shared_ptr<Relay> Relay::make(std::shared_ptr<Exchange> exchange) {
  return make(std::move(exchange), Options{});
}

Relay::Relay(std::shared_ptr<Exchange> exchange, Options options)
    : exchange_(std::move(exchange)),
      options_(options),
      quiet_(exchange_->loop(), [this] { quiet(); }),
      late_(exchange_->loop(), [this] { cut("it took too long"); }) {}

void Relay::call(net::Dialer& dialer, std::shared_ptr<const net::TlsClient> tls, Call call,
                 LoneCallOptions options, std::function<void(Result<Head>)> done) {
  expect(std::move(done), call.body.size());
  call_ = LoneCall::open(exchange_->loop(), dialer, std::move(tls), std::move(call),
                         std::move(options), shared_from_this());
  wait_for_client();
}

void Relay::call(Client& client, Call call, std::function<void(Result<Head>)> done) {
  expect(std::move(done), call.body.size());
  call.is_whole = true;
  shared_ = client.open(std::move(call), shared_from_this());
  wait_for_client();
}

void Relay::expect(std::function<void(Result<Head>)> done, std::size_t sent) {
  on_head_ = std::move(done);
  report_.to_server = sent;
}

void Relay::wait_for_client() {
  exchange_->leave_with_client();
  exchange_->on_close([weak = weak_from_this()] {
    if (auto self = weak.lock()) self->client_left();
  });
}

void Relay::read_on() {
  if (call_) call_->read_on();
  if (shared_) shared_->read_on();
}

// --- before it is decided what becomes of the answer

void Relay::on_head(int status, const Headers& headers) {
  phase_ = Phase::kUndecided;
  began_ = exchange_->loop().now();
  // Not inside the call's own turn: the answer to this may close it.
  exchange_->loop().post([self = shared_from_this(), head = Head{status, headers}]() mutable {
    if (auto told = std::exchange(self->on_head_, nullptr)) told(std::move(head));
  });
}

void Relay::collect(std::size_t limit, std::function<void(std::string)> done) {
  if (phase_ == Phase::kOver) return done("");  // the client has left meanwhile
  on_collected_ = std::move(done);
  limit_ = limit;
  phase_ = Phase::kCollecting;
  if (answer_ended_ || answer_broke_ || held_.size() >= limit) return collected();
  read_on();
}

void Relay::collected() {
  auto told = std::exchange(on_collected_, nullptr);
  std::string text = std::move(held_);
  if (text.size() > limit_) text.resize(limit_);
  finish("answered");
  if (told) told(std::move(text));
}

void Relay::drop() {
  finish("dropped");
}

// --- the answer goes on

void Relay::pass_on(Response head, std::function<void(const Report&)> over) {
  // The answer to HEAD has the length of a body that does not come.
  if (phase_ == Phase::kUndecided && answer_ended_ && exchange_->request().method != "HEAD")
    return answer_at_once(std::move(head), std::move(over));
  begin(exchange_->stream(std::move(head)), std::move(over));
}

// All of it is here.
void Relay::answer_at_once(Response head, std::function<void(const Report&)> over) {
  over_ = std::move(over);
  report_.to_client = held_.size();
  head.headers.remove("content-length");
  head.body = Body(std::move(held_));
  exchange_->respond(std::move(head));
  finish("the server ended");
}

bool Relay::upgrade(Response head, std::function<void(const Report&)> over) {
  tunnel_ = exchange_->upgrade(std::move(head), shared_from_this());
  if (!tunnel_) {
    drop();
    return false;
  }
  begin(tunnel_, std::move(over));
  return true;
}

void Relay::begin(std::shared_ptr<Stream> stream, std::function<void(const Report&)> over) {
  stream_ = std::move(stream);
  over_ = std::move(over);
  if (phase_ == Phase::kOver || !stream_) return finish("the client left");
  phase_ = Phase::kStreaming;
  const bool wants_more = held_.empty() || send(std::exchange(held_, {}));
  if (answer_broke_) return on_failure(internal_error("the answer broke off"));
  if (answer_ended_) return on_end({});
  if (options_.longest.count() > 0) late_.start(options_.longest);
  if (wants_more) read_on();
}

bool Relay::send(std::string_view bytes) {
  report_.to_client += bytes.size();
  if (client_ended_) quiet_.start(options_.quiet_after_end);
  if (!stream_->write(Piece::of(std::string(bytes)))) return false;  // on_close tells of the end
  if (stream_->pending_bytes() < options_.max_unread) return true;
  stream_->when_drained([weak = weak_from_this()] {
    if (auto self = weak.lock()) self->read_on();
  });
  return false;
}

bool Relay::on_data(std::string_view bytes) {
  switch (phase_) {
    case Phase::kStreaming:
      return send(bytes);
    case Phase::kWaiting:
    case Phase::kUndecided:
      held_.append(bytes);
      return false;
    case Phase::kCollecting:
      held_.append(bytes);
      if (held_.size() >= limit_) collected();
      return true;
    case Phase::kOver:
      break;
  }
  return false;
}

void Relay::on_end(const Headers&) {
  if (phase_ == Phase::kUndecided) {
    answer_ended_ = true;
    return;
  }
  if (phase_ == Phase::kCollecting) return collected();
  if (phase_ != Phase::kStreaming) return;
  stream_->finish();
  finish("the server ended");
}

void Relay::on_failure(const Error& error) {
  if (phase_ == Phase::kWaiting) {
    finish("no answer");
    exchange_->loop().post([self = shared_from_this(), error] {
      if (auto told = std::exchange(self->on_head_, nullptr)) told(fail(error));
    });
    return;
  }
  if (phase_ == Phase::kUndecided) {
    answer_broke_ = true;
    return;
  }
  if (phase_ == Phase::kCollecting) return collected();
  if (phase_ != Phase::kStreaming) return;
  // What came before goes to the client. A tunnel then ends; an answer must not look complete.
  if (tunnel_)
    stream_->finish();
  else
    stream_->when_drained([stream = stream_] { stream->abort(); });
  finish(cat("the server failed: ", error.message));
}

// --- the client's side of a tunnel

bool Relay::receive(std::string_view bytes) {
  if (phase_ != Phase::kStreaming) return true;  // nobody is there any more
  report_.to_server += bytes.size();
  call_->write(bytes);
  if (call_->pending_bytes() < options_.max_unread) return true;
  client_waits_ = true;
  return false;
}

void Relay::on_drained() {
  exchange_->forget_body();
  if (std::exchange(client_waits_, false) && tunnel_) tunnel_->read_on();
}

void Relay::end() {
  if (phase_ != Phase::kStreaming) return;
  client_ended_ = true;
  call_->finish();
  quiet_.start(options_.quiet_after_end);
}

void Relay::quiet() {
  if (phase_ != Phase::kStreaming) return;
  stream_->finish();
  finish("the client ended");
}

void Relay::client_left() {
  if (phase_ == Phase::kOver) return;
  const auto self = shared_from_this();
  const bool waited = phase_ == Phase::kWaiting;
  finish("the client left");
  if (auto told = std::exchange(on_collected_, nullptr)) told("");
  if (!waited) return;  // the head is on its way to its receiver
  if (auto told = std::exchange(on_head_, nullptr))
    told(fail(Error::of(Reason::kServiceUnavailable, "the client left")));
}

void Relay::cut(std::string why) {
  if (phase_ == Phase::kOver) return;
  const auto self = shared_from_this();
  if (stream_) stream_->abort();
  finish(std::move(why));
}

void Relay::finish(std::string why) {
  phase_ = Phase::kOver;
  quiet_.cancel();
  late_.cancel();
  if (auto call = std::exchange(call_, nullptr)) call->cancel();
  if (auto call = std::exchange(shared_, nullptr)) call->cancel();
  // The timer may be the one that fires, and the exchange may be the one that calls.
  exchange_->loop().bury(shared_from_this());
  tunnel_.reset();
  stream_.reset();
  report_.why = std::move(why);
  report_.took = std::chrono::duration_cast<std::chrono::milliseconds>(exchange_->loop().now() -
                                                                       began_);
  if (auto told = std::exchange(over_, nullptr)) told(report_);
}

}  // namespace cardea::http
