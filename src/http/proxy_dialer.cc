#include "http/proxy_dialer.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <vector>

#include "base/strings.h"
#include "http/lone_call.h"
#include "http/output.h"
#include "http/url.h"
#include "net/unix_dialer.h"

namespace cardea::http {
namespace {

constexpr std::size_t kTunnelBuffer = 64 * 1024;
constexpr std::size_t kMostUnread = 256 * 1024;  // more that one side has not taken stops the other
constexpr int kTunnelReads = 8;                  // in a row, then others have their turn
constexpr std::chrono::milliseconds kProxyTimeout{30'000};

Error unreachable(const Proxy& proxy, std::string_view why) {
  return Error::of(Reason::kServiceUnavailable, cat("proxy `", proxy.name(), "`: ", why));
}

// One connection through a proxy: first the question, then bytes both ways between the proxy and
// our end of the pair. Loop thread only; it lives until one side is gone or both have ended.
class ProxyTunnel final : public AnswerReader,
                          private net::Connection::Owner,
                          public std::enable_shared_from_this<ProxyTunnel> {
 public:
  ProxyTunnel(net::Loop& loop, std::shared_ptr<const Proxy> proxy, net::Dialer::Dialed dialed)
      : loop_(loop), proxy_(std::move(proxy)), dialed_(std::move(dialed)) {}

  void open(net::Dialer& straight, const std::string& server) {
    net::UnixDialer unix_dialer(proxy_->unix_socket);
    const bool is_unix = !proxy_->unix_socket.empty();
    Call call{
        .method = "CONNECT",
        .url = cat(proxy_->tls ? "https://" : "http://", is_unix ? "localhost" : proxy_->name()),
        .headers = {},
        .body = {},
        .timeout = kProxyTimeout,
        .connect_host = {},
        .tunnel_to = server};
    if (!proxy_->authorization.empty())
      call.headers.add("proxy-authorization", proxy_->authorization);
    call_ = LoneCall::open(loop_, is_unix ? unix_dialer : straight, proxy_->tls, std::move(call),
                           {.connect_timeout = kProxyTimeout}, shared_from_this());
  }

  // Any thread.
  void close_on_loop() {
    loop_.post([self = shared_from_this()] { self->close(); });
  }

 private:
  void on_head(int status, const Headers&) override {
    if (status < 200 || status > 299)
      return refuse(unreachable(*proxy_, cat("it answered ", status)));
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
      return refuse(internal_error(cat("socketpair: ", std::strerror(errno))));
    near_ = net::make_plain_connection(loop_, net::Socket(ends[0]));
    net::Socket far(ends[1]);
    if (auto watched = near_->start(*this); !watched) return refuse(watched.error());
    std::exchange(dialed_, nullptr)(std::move(far));
  }

  bool on_data(std::string_view bytes) override {
    if (!near_) return true;
    output_.append(bytes);
    flush();
    proxy_waits_ = output_.pending() >= kMostUnread;
    return !proxy_waits_;
  }

  void on_drained() override {
    if (near_) read();
  }

  void on_end(const Headers&) override {
    if (!near_) return refuse(unreachable(*proxy_, "it closed the connection"));
    proxy_ended_ = true;
    flush();
  }

  void on_failure(const Error& error) override {
    if (dialed_) return refuse(unreachable(*proxy_, error.message));
    close();
  }

  void on_ready() override {
    const auto self = shared_from_this();
    flush();
    read();
  }

  void flush() {
    if (is_over_) return;
    if (output_.pending() > 0 && output_.flush(*near_) == net::Io::kFailed) return close();
    if (proxy_waits_ && output_.pending() < kMostUnread) {
      proxy_waits_ = false;
      call_->read_on();
    }
    if (output_.pending() > 0 || !proxy_ended_) return;
    near_->shutdown();
    if (near_ended_) close();
  }

  void read() {
    char buffer[kTunnelBuffer];
    for (int reads = 0; !is_over_ && !near_ended_ && call_->pending_bytes() < kMostUnread;
         ++reads) {
      if (reads == kTunnelReads) return loop_.post([self = shared_from_this()] { self->read(); });
      const net::IoResult got = near_->read(buffer);
      if (got.status == net::Io::kWouldBlock) return;
      if (got.status == net::Io::kFailed) return close();
      if (got.status == net::Io::kDone) {
        call_->write({buffer, got.bytes});
        continue;
      }
      near_ended_ = true;
      call_->finish();
      if (proxy_ended_) close();
    }
  }

  void refuse(Error error) {
    close();
    if (dialed_) std::exchange(dialed_, nullptr)(fail(std::move(error)));
  }

  void close() {
    if (std::exchange(is_over_, true)) return;
    loop_.bury(shared_from_this());
    if (near_) near_->close();
    output_.clear();
    if (call_) std::exchange(call_, nullptr)->cancel();
  }

  net::Loop& loop_;
  const std::shared_ptr<const Proxy> proxy_;
  net::Dialer::Dialed dialed_;  // empty: told
  std::shared_ptr<LoneCall> call_;
  std::unique_ptr<net::Connection> near_;
  Output::Memory memory_;
  Output output_{memory_};    // to `near_`
  bool proxy_waits_ = false;  // it is not read from
  bool proxy_ended_ = false;
  bool near_ended_ = false;
  bool is_over_ = false;
};

bool is_address(const std::string& host) {
  in6_addr parsed;
  return ::inet_pton(AF_INET, host.c_str(), &parsed) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &parsed) == 1;
}

// Nothing in it can end a line or mean anything else to a proxy.
bool is_host_name(std::string_view host) {
  return !host.empty() && host.size() < 254 &&
         std::ranges::all_of(
             host,
             [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_' || c == '.';
             });
}

bool means_this_machine(std::string_view host) {
  std::string name = lower(host);
  if (name.ends_with('.')) name.pop_back();
  return name == "localhost" || name.ends_with(".localhost");
}

}  // namespace

std::string Proxy::name() const {
  if (!unix_socket.empty()) return unix_socket;
  return host.find(':') == std::string::npos ? cat(host, ":", port) : cat("[", host, "]:", port);
}

Result<Proxy> parse_proxy(std::string_view text, const std::string& server_cas) {
  const auto wrong = [](std::string_view why) {
    // The text may hold a password.
    return fail(bad_request(cat("the URL of the proxy cannot be used: ", why)));
  };
  const std::size_t scheme_end = text.find("://");
  const std::string scheme = scheme_end == std::string_view::npos
                                 ? "http"
                                 : lower(text.substr(0, scheme_end));
  if (scheme_end != std::string_view::npos) text.remove_prefix(scheme_end + 3);
  if (scheme != "http" && scheme != "https")
    return wrong(cat("`", scheme, "` is not served, only http and https are"));
  std::string_view authority = text.substr(0, text.find_first_of("/?#"));
  Proxy out;
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    const std::string_view user = authority.substr(0, at);
    const std::size_t colon = user.find(':');
    const auto name = percent_decode(user.substr(0, colon));
    const auto password = percent_decode(colon == std::string_view::npos ? std::string_view()
                                                                         : user.substr(colon + 1));
    if (!name || !password) return wrong("the user has a bad escape");
    out.authorization = cat("Basic ", base64(cat(*name, ":", *password)));
    authority.remove_prefix(at + 1);
  }
  const auto url = parse_url(cat(scheme, "://", authority));
  if (!url) return wrong("host and port are not of the form host:port");
  out.host = url->host;
  out.port = url->port;
  if (!url->tls) return out;
  auto tls = net::TlsClient::make(
      {.server_cas = server_cas, .certificates = {}, .key = {}, .protocols = {"http/1.1"}});
  if (!tls) return fail(tls.error());
  out.tls = std::move(*tls);
  return out;
}

// Those that may still be open. Any thread.
struct ProxyDialer::Tunnels {
  // False: the dialer is gone, and nothing is opened any more.
  bool add(const std::shared_ptr<ProxyTunnel>& tunnel) {
    std::lock_guard lock(mutex);
    if (is_closed) return false;
    std::erase_if(open, [](const auto& one) { return one.expired(); });
    open.push_back(tunnel);
    return true;
  }
  void close() {
    std::lock_guard lock(mutex);
    is_closed = true;
    for (const auto& one : open)
      if (auto tunnel = one.lock()) tunnel->close_on_loop();
  }

  std::mutex mutex;
  bool is_closed = false;
  std::vector<std::weak_ptr<ProxyTunnel>> open;
};

ProxyDialer::ProxyDialer(Choose choose)
    : choose_(std::move(choose)), tunnels_(std::make_shared<Tunnels>()) {}

ProxyDialer::ProxyDialer(Proxy proxy)
    : ProxyDialer([only = std::make_shared<const Proxy>(std::move(proxy))](
                      const std::string&, std::uint16_t) { return only; }) {}

ProxyDialer::~ProxyDialer() {
  tunnels_->close();
}

void ProxyDialer::dial(net::Loop& loop, const std::string& host, std::uint16_t port, Dialed dialed,
                       Admits admits) {
  std::shared_ptr<const Proxy> proxy = choose_(host, port);
  if (!proxy) return straight_->dial(loop, host, port, std::move(dialed), std::move(admits));
  const bool is_number = is_address(host);
  const bool is_refused = (!is_number && !is_host_name(host)) ||
                          (admits && (is_number ? !admits(host) : means_this_machine(host)));
  if (is_refused)
    return loop.post([dialed = std::move(dialed)]() mutable {
      dialed(fail(bad_request("address not allowed")));
    });
  const bool is_v6 = host.find(':') != std::string::npos;
  std::string server = is_v6 ? cat("[", host, "]:", port) : cat(host, ":", port);
  loop.post([&loop, straight = straight_, tunnels = tunnels_, proxy = std::move(proxy),
             server = std::move(server), dialed = std::move(dialed)]() mutable {
    auto tunnel = std::make_shared<ProxyTunnel>(loop, std::move(proxy), std::move(dialed));
    if (tunnels->add(tunnel)) tunnel->open(*straight, server);
  });
}

}  // namespace cardea::http
