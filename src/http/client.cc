#include "http/client.h"

#include <map>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "http/client_session.h"
#include "http/url.h"

namespace cardea::http {

// The connections of a client. Loop thread only, but for posting to it.
class Client::Pool final : public ClientSession::Owner, public std::enable_shared_from_this<Pool> {
 public:
  Pool(net::Loop& loop, net::Dialer& dialer, std::shared_ptr<const net::TlsClient> tls,
       ClientOptions options)
      : loop_(loop), dialer_(dialer), tls_(std::move(tls)), options_(options) {}

  net::Loop& loop() { return loop_; }

  void send(Call call, Done done) {
    auto pending = std::make_shared<Pending>();
    auto url = parse_url(call.url);
    if (!url) return done(fail(url.error()));
    if (closed_) return done(fail(closed_error()));
    if (url->tls && !tls_) return done(fail(internal_error("this client has no TLS settings")));
    pending->url = std::move(*url);
    pending->key = cat(pending->url.tls ? "https://" : "http://", pending->url.authority, " ",
                       call.connect_host, ":", call.connect_port);
    pending->call = std::move(call);
    pending->done = std::move(done);
    pending->timer = std::make_unique<net::Timer>(loop_,
                                                  [this, raw = pending.get()] { timed_out(*raw); });
    pending->timer->start(pending->call.timeout);
    pending_.emplace(pending.get(), pending);
    start(pending, true);
  }

  void close() {
    closed_ = true;
    for (auto& [session, owned] : std::exchange(sessions_, {})) {
      session->close();
      loop_.bury(owned);
    }
    idle_.clear();
    for (auto& [raw, pending] : std::exchange(pending_, {})) finish(pending, fail(closed_error()));
  }

 private:
  static Error closed_error() {
    return Error::of(Reason::kServiceUnavailable, "the client is closed");
  }

  void start(const std::shared_ptr<Pending>& pending, bool may_reuse) {
    auto& idle = idle_[pending->key];
    if (may_reuse && !idle.empty()) {
      ClientSession* session = idle.back();
      idle.pop_back();
      pending->session = session;
      return session->send(pending, true);
    }
    const bool elsewhere = !pending->call.connect_host.empty();
    const std::string& host = elsewhere ? pending->call.connect_host : pending->url.host;
    const std::uint16_t port = pending->call.connect_port ? pending->call.connect_port
                                                          : pending->url.port;
    dialer_.dial(
        loop_, host, port,
        [weak = weak_from_this(), held = std::weak_ptr(pending)](Result<net::Socket> socket) {
          auto self = weak.lock();
          auto waiting = held.lock();
          if (self && waiting && !self->closed_) self->dialed(waiting, std::move(socket));
        });
  }

  void dialed(const std::shared_ptr<Pending>& pending, Result<net::Socket> socket) {
    if (!pending_.contains(pending.get())) return;  // it ran out of time
    if (!socket) return finish(pending, fail(socket.error()));
    auto connection = pending->url.tls ? tls_->connect(loop_, std::move(*socket), pending->url.host)
                                       : net::make_plain_connection(loop_, std::move(*socket));
    auto session = std::make_shared<ClientSession>(loop_, *this, std::move(connection), options_);
    pending->session = session.get();
    sessions_.emplace(session.get(), session);
    session->send(pending, false);
  }

  void timed_out(Pending& raw) {
    auto pending = pending_.at(&raw);
    if (ClientSession* session = pending->session) drop(*session);
    finish(pending, fail(Error::of(Reason::kTimeout,
                                   cat("no answer from `", pending->url.authority, "` within ",
                                       pending->call.timeout.count(), " ms"))));
  }

  void finish(const std::shared_ptr<Pending>& pending, Result<Answer> answer) {
    pending->timer->cancel();
    pending_.erase(pending.get());
    loop_.bury(pending);  // its timer may be the one that fires
    pending->done(std::move(answer));
  }

  void drop(ClientSession& session) {
    session.close();
    for (auto& [key, idle] : idle_) std::erase(idle, &session);
    if (const auto found = sessions_.find(&session); found != sessions_.end()) {
      loop_.bury(std::move(found->second));
      sessions_.erase(found);
    }
  }

  void on_answer(ClientSession& session, const std::shared_ptr<Pending>& pending, Answer answer,
                 bool reusable) override {
    auto& idle = idle_[pending->key];
    if (reusable && idle.size() < options_.max_idle)
      idle.push_back(&session);
    else
      drop(session);
    finish(pending, std::move(answer));
  }

  void on_failure(ClientSession& session, const std::shared_ptr<Pending>& pending, std::string why,
                  bool stale) override {
    drop(session);
    if (!pending) return;  // it was idle
    pending->session = nullptr;
    if (stale && (pending->call.may_repeat || pending->call.method == "GET" ||
                  pending->call.method == "HEAD"))
      return start(pending, false);
    finish(pending, fail(Error::of(Reason::kServiceUnavailable,
                                   cat("cannot call `", pending->url.authority, "`: ", why))));
  }

  net::Loop& loop_;
  net::Dialer& dialer_;
  std::shared_ptr<const net::TlsClient> tls_;
  const ClientOptions options_;
  bool closed_ = false;
  std::map<ClientSession*, std::shared_ptr<ClientSession>> sessions_;
  std::map<std::string, std::vector<ClientSession*>> idle_;
  std::map<Pending*, std::shared_ptr<Pending>> pending_;
};

Client::Client(net::Loop& loop, net::Dialer& dialer, std::shared_ptr<const net::TlsClient> tls,
               ClientOptions options)
    : pool_(std::make_shared<Pool>(loop, dialer, std::move(tls), options)) {}

Client::~Client() {
  pool_->loop().post([pool = pool_] { pool->close(); });
}

void Client::send(Call call, Done done) {
  pool_->loop().post([pool = pool_, call = std::move(call), done = std::move(done)]() mutable {
    pool->send(std::move(call), std::move(done));
  });
}

}  // namespace cardea::http
