#include "http/client.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "http/client_call.h"
#include "http/client_dial.h"
#include "http/client_session.h"
#include "http/http2_client_session.h"
#include "http/url.h"

namespace cardea::http {
namespace {

constexpr int kMostRefusals = 3;
// A dial that takes longer may be lost: the next call makes another.
constexpr std::chrono::seconds kSlowDial{1};

bool is_harmless(const Call& call) {
  return call.may_repeat || call.method == "GET" || call.method == "HEAD";
}

constexpr std::string_view kNotBegun = "CallNotBegun";

Error not_begun(Error error) {
  return std::move(error).with({.causes = {{std::string(kNotBegun), error.message, ""}}});
}

}  // namespace

bool was_not_begun(const Error& error) {
  return error.details && std::ranges::any_of(error.details->causes, [](const Cause& cause) {
           return cause.reason == kNotBegun;
         });
}

// The connections of a client. Loop thread only, but for posting to it.
class Client::Pool final : public ClientSession::Owner,
                           public Http2ClientSession::Owner,
                           public ClientDial::Owner,
                           public std::enable_shared_from_this<Pool> {
  using PendingPtr = std::shared_ptr<Pending>;

  // What is known of one server.
  struct Host {
    enum class Speaks : std::uint8_t { kUnknown, kHttp1, kHttp2 };
    Speaks speaks = Speaks::kUnknown;
    std::vector<ClientSession*> idle;
    std::vector<Http2ClientSession*> shared;
    std::deque<PendingPtr> waiting;  // for a connection that can be shared
    std::size_t dials = 0;           // for those that wait
    net::SteadyTime dialed{};        // the last of them
  };

 public:
  Pool(net::Loop& loop, net::Dialer& dialer, std::shared_ptr<const net::TlsClient> tls,
       ClientOptions options)
      : loop_(loop), dialer_(dialer), tls_(std::move(tls)), options_(options) {}

  net::Loop& loop() { return loop_; }

  void send(Call call, Done done, std::shared_ptr<Flow> flow) {
    auto pending = std::make_shared<Pending>();
    pending->done = std::move(done);
    pending->flow = std::move(flow);
    auto url = parse_url(call.url);
    if (!url) return tell(pending, fail(url.error()));
    if (closed_) return tell(pending, fail(closed_error()));
    if (url->tls && !tls_)
      return tell(pending, fail(internal_error("this client has no TLS settings")));
    pending->url = std::move(*url);
    pending->key = cat(pending->url.tls ? "https://" : "http://", pending->url.authority, " ",
                       call.connect_host, ":", call.connect_port);
    pending->call = std::move(call);
    pending_.emplace(pending.get(), pending);
    if (pending->flow) pending->flow->on_cancel = [this, raw = pending.get()] { cancelled(*raw); };
    pending->timer = std::make_unique<net::Timer>(loop_,
                                                  [this, raw = pending.get()] { timed_out(*raw); });
    if (!pending->flow || pending->call.timeout.count() > 0)
      pending->timer->start(pending->call.timeout);
    start(pending, true);
  }

  void close() {
    closed_ = true;
    for (auto& [session, owned] : std::exchange(sessions_, {})) {
      session->close();
      loop_.bury(owned);
    }
    for (auto& [session, owned] : std::exchange(shared_, {})) {
      session->close();
      loop_.bury(owned);
    }
    for (auto& [dial, owned] : std::exchange(dials_, {})) {
      dial->close();
      loop_.bury(owned);
    }
    hosts_.clear();
    for (auto& [raw, pending] : std::exchange(pending_, {})) finish(pending, fail(closed_error()));
  }

 private:
  static Error closed_error() {
    return Error::of(Reason::kServiceUnavailable, "the client is closed");
  }

  bool may_share(const Pending& pending) const {
    return pending.url.tls ? tls_->offers("h2") : options_.plain_http2;
  }

  void start(const PendingPtr& pending, bool may_reuse) {
    Host& host = hosts_[pending->key];
    for (Http2ClientSession* session : host.shared)
      if (session->has_room()) return session->call(pending);
    if (may_reuse && pending->is_whole() && !host.idle.empty()) {
      ClientSession* session = host.idle.back();
      host.idle.pop_back();
      pending->session = session;
      return session->send(pending, true);
    }
    if (!may_share(*pending) || host.speaks == Host::Speaks::kHttp1) return dial(pending, pending);
    host.waiting.push_back(pending);
    dial_for_waiting(host);
  }

  // One connection at a time, and then as many as the streams of those before do not suffice.
  void dial_for_waiting(Host& host) {
    if (host.shared.size() + host.dials >= options_.max_shared) return;
    if (host.dials > 0 && loop_.now() - host.dialed < kSlowDial) return;
    ++host.dials;
    host.dialed = loop_.now();
    dial(host.waiting.back(), nullptr);
  }

  // A connection for `pending` alone, or one like it for all that wait.
  void dial(const PendingPtr& like, PendingPtr pending) {
    const bool elsewhere = !like->call.connect_host.empty();
    const std::string& host = elsewhere ? like->call.connect_host : like->url.host;
    const std::uint16_t port = like->call.connect_port ? like->call.connect_port : like->url.port;
    auto made = std::make_shared<ClientDial>(loop_, *this, like->key, std::move(pending));
    dials_.emplace(made.get(), made);
    made->wait(options_.connect_timeout);
    dialer_.dial(
        loop_, host, port,
        [weak = weak_from_this(), held = std::weak_ptr(made), is_tls = like->url.tls,
         name = like->url.host](Result<net::Socket> socket) {
          auto self = weak.lock();
          auto dial = held.lock();
          if (self && dial && self->dials_.contains(dial.get()))
            self->dialed(*dial, std::move(socket), is_tls, name);
        },
        options_.admits);
  }

  void dialed(ClientDial& dial, Result<net::Socket> socket, bool is_tls, const std::string& name) {
    if (!socket) return lost(dial, socket.error());
    dial.start(is_tls ? tls_->connect(loop_, std::move(*socket), name)
                      : net::make_plain_connection(loop_, std::move(*socket)));
  }

  std::shared_ptr<ClientDial> forget(ClientDial& dial) {
    const auto found = dials_.find(&dial);
    if (found == dials_.end()) return nullptr;
    auto kept = std::move(found->second);
    dials_.erase(found);
    loop_.bury(kept);
    if (Host& host = hosts_[dial.key()]; !dial.pending()) --host.dials;
    return kept;
  }

  void on_connected(ClientDial& dial, std::unique_ptr<net::Connection> connection) override {
    const auto kept = forget(dial);
    Host& host = hosts_[dial.key()];
    const bool is_plain = !connection->peer()->tls;
    if (is_plain ? options_.plain_http2 : connection->protocol() == "h2")
      return share(dial.key(), std::move(connection), dial.pending());
    host.speaks = Host::Speaks::kHttp1;
    // The first that waits takes the connection; the others need their own.
    auto waiting = std::exchange(host.waiting, {});
    if (dial.pending()) waiting.push_front(dial.pending());
    for (const PendingPtr& pending : waiting) {
      if (!pending_.contains(pending.get())) continue;
      if (!pending->is_whole())
        finish(pending, fail(not_reached(*pending, "the server does not speak HTTP/2")));
      else if (connection)
        take(pending, std::move(connection));
      else
        start(pending, true);
    }
  }

  void take(const PendingPtr& pending, std::unique_ptr<net::Connection> connection) {
    auto session = std::make_shared<ClientSession>(loop_, *this, std::move(connection), options_);
    pending->session = session.get();
    sessions_.emplace(session.get(), session);
    session->send(pending, false);
  }

  void share(const std::string& key, std::unique_ptr<net::Connection> connection,
             const PendingPtr& pending) {
    Host& host = hosts_[key];
    host.speaks = Host::Speaks::kHttp2;
    auto session = std::make_shared<Http2ClientSession>(loop_, *this, std::move(connection),
                                                        options_);
    shared_.emplace(session.get(), session);
    keys_.emplace(session.get(), key);
    host.shared.push_back(session.get());
    if (pending && pending_.contains(pending.get())) session->call(pending);
    session->start();
  }

  void on_not_connected(ClientDial& dial, std::string why) override {
    lost(dial, Error::of(Reason::kServiceUnavailable, std::move(why)), true);
  }

  // Those that wait fail with the dial, unless another connection may serve them.
  void lost(ClientDial& dial, const Error& error, bool adds_name = false) {
    const auto kept = forget(dial);
    std::deque<PendingPtr> failed;
    Host& host = hosts_[dial.key()];
    if (dial.pending())
      failed.push_back(dial.pending());
    else if (host.dials == 0 && host.shared.empty())
      failed.swap(host.waiting);
    for (const PendingPtr& pending : failed)
      if (pending_.contains(pending.get()))
        finish(pending, fail(not_begun(adds_name ? not_reached(*pending, error.message) : error)));
  }

  static Error not_reached(const Pending& pending, std::string_view why) {
    return Error::of(Reason::kServiceUnavailable,
                     cat("cannot call `", pending.url.authority, "`: ", why));
  }

  // Takes a call off whatever it waits for.
  void detach(const PendingPtr& pending) {
    if (ClientSession* session = pending->session) drop(*session);
    if (Http2ClientSession* session = std::exchange(pending->shared, nullptr))
      session->cancel(pending->stream);
    std::erase(hosts_[pending->key].waiting, pending);
    for (auto& [dial, owned] : dials_)
      if (dial->pending() == pending) {
        dial->close();
        const auto kept = forget(*dial);
        break;
      }
  }

  void timed_out(Pending& raw) {
    const PendingPtr pending = pending_.at(&raw);
    const bool has_begun = pending->session || pending->shared;
    detach(pending);
    Error error = Error::of(Reason::kTimeout,
                            cat("no answer from `", pending->url.authority, "` within ",
                                pending->call.timeout.count(), " ms"));
    finish(pending, fail(has_begun ? std::move(error) : not_begun(std::move(error))));
  }

  void cancelled(Pending& raw) {
    const PendingPtr pending = pending_.at(&raw);
    detach(pending);
    finish(pending, fail(closed_error()));  // nobody is told
  }

  void finish(const PendingPtr& pending, Result<Answer> answer) {
    pending->timer->cancel();
    pending_.erase(pending.get());
    loop_.bury(pending);  // its timer may be the one that fires
    tell(pending, std::move(answer));
  }

  void tell(const PendingPtr& pending, Result<Answer> answer) {
    if (!pending->flow) return pending->done(std::move(answer));
    if (pending->flow->end() && !answer) pending->flow->reader().on_failure(answer.error());
  }

  // --- HTTP/1.1

  void drop(ClientSession& session) {
    session.close();
    for (auto& [key, host] : hosts_) std::erase(host.idle, &session);
    if (const auto found = sessions_.find(&session); found != sessions_.end()) {
      loop_.bury(std::move(found->second));
      sessions_.erase(found);
    }
  }

  void keep(ClientSession& session, const std::string& key, bool reusable) {
    auto& idle = hosts_[key].idle;
    if (reusable && idle.size() < options_.max_idle)
      idle.push_back(&session);
    else
      drop(session);
  }

  void on_answer(ClientSession& session, const PendingPtr& pending, Answer answer,
                 bool reusable) override {
    keep(session, pending->key, reusable);
    finish(pending, std::move(answer));
  }

  void on_failure(ClientSession& session, const PendingPtr& pending, std::string why,
                  bool stale) override {
    drop(session);
    if (!pending) return;  // it was idle
    pending->session = nullptr;
    if (stale && is_harmless(pending->call)) return start(pending, false);
    finish(pending, fail(not_reached(*pending, why)));
  }

  void on_end(ClientSession& session, const PendingPtr& pending, bool reusable) override {
    keep(session, pending->key, reusable);
    on_end(pending, Headers());
  }

  // --- HTTP/2

  void on_answer(const PendingPtr& pending, Answer answer) override {
    finish(pending, std::move(answer));
  }

  void on_head(const PendingPtr& pending) override { pending->timer->cancel(); }

  void on_end(const PendingPtr& pending, const Headers& trailers) override {
    pending->timer->cancel();
    pending_.erase(pending.get());
    loop_.bury(pending);
    if (pending->flow->end()) pending->flow->reader().on_end(trailers);
  }

  void on_failure(const PendingPtr& pending, std::string why,
                  Http2ClientSession::Repeat repeat) override {
    using Repeat = Http2ClientSession::Repeat;
    const bool may = (repeat == Repeat::kAlways ||
                      (repeat == Repeat::kIfHarmless && is_harmless(pending->call))) &&
                     ++pending->refusals <= kMostRefusals;
    if (may && pending->is_whole() && !closed_) return start(pending, false);
    const Error error = not_reached(*pending, why);
    finish(pending, fail(repeat == Repeat::kAlways ? not_begun(error) : error));
  }

  void on_room(Http2ClientSession& session) override {
    Host& host = hosts_[keys_.at(&session)];
    while (!host.waiting.empty() && session.has_room()) {
      const PendingPtr next = std::move(host.waiting.front());
      host.waiting.pop_front();
      session.call(next);
    }
    if (!host.waiting.empty()) dial_for_waiting(host);
  }

  void on_over(Http2ClientSession& session) override {
    const auto found = shared_.find(&session);
    if (found == shared_.end()) return;
    Host& host = hosts_[keys_.at(&session)];
    std::erase(host.shared, &session);
    keys_.erase(&session);
    loop_.bury(std::move(found->second));
    shared_.erase(found);
    if (!host.waiting.empty()) dial_for_waiting(host);
  }

  net::Loop& loop_;
  net::Dialer& dialer_;
  std::shared_ptr<const net::TlsClient> tls_;
  const ClientOptions options_;
  bool closed_ = false;
  std::map<ClientSession*, std::shared_ptr<ClientSession>> sessions_;
  std::map<Http2ClientSession*, std::shared_ptr<Http2ClientSession>> shared_;
  std::map<Http2ClientSession*, std::string> keys_;  // of `hosts_`
  std::map<ClientDial*, std::shared_ptr<ClientDial>> dials_;
  std::map<std::string, Host> hosts_;
  std::map<Pending*, PendingPtr> pending_;
};

Client::Client(net::Loop& loop, net::Dialer& dialer, std::shared_ptr<const net::TlsClient> tls,
               ClientOptions options)
    : pool_(std::make_shared<Pool>(loop, dialer, std::move(tls), options)) {}

Client::~Client() {
  pool_->loop().post([pool = pool_] { pool->close(); });
}

void Client::send(Call call, Done done) {
  pool_->loop().post([pool = pool_, call = std::move(call), done = std::move(done)]() mutable {
    pool->send(std::move(call), std::move(done), nullptr);
  });
}

std::shared_ptr<OpenCall> Client::open(Call call, std::shared_ptr<AnswerReader> reader) {
  auto flow = std::make_shared<Flow>(pool_->loop(), std::move(reader));
  pool_->loop().post([pool = pool_, call = std::move(call), flow]() mutable {
    pool->send(std::move(call), {}, std::move(flow));
  });
  return flow;
}

}  // namespace cardea::http
