#include "upstream/endpoint_client.h"

#include "base/strings.h"
#include "http/url.h"
#include "net/file_watch.h"

namespace cardea::upstream {

http::Call json_post(std::string url, std::string document, std::chrono::milliseconds timeout,
                     std::string_view agent) {
  http::Call call{.method = "POST",
                  .url = std::move(url),
                  .body = std::move(document),
                  .timeout = timeout,
                  .may_repeat = true};
  call.headers.add("content-type", "application/json");
  call.headers.add("accept", "application/json, */*");
  call.headers.add("user-agent", std::string(agent));
  return call;
}

void address(http::Call& call, const Endpoint& endpoint, std::string_view token) {
  // The certificate is checked for the name in the URL: name it there, connect to where the server
  // is.
  if (auto url = http::parse_url(call.url); !endpoint.tls_server_name.empty() && url && url->tls) {
    call.connect_host = url->host;
    call.connect_port = url->port;
    call.url = cat("https://", endpoint.tls_server_name, ":", url->port, url->target);
  }
  if (!token.empty())
    call.headers.add("authorization", cat("Bearer ", token));
  else if (!endpoint.username.empty())
    call.headers.add("authorization",
                     cat("Basic ", base64(cat(endpoint.username, ":", endpoint.password))));
}

std::chrono::milliseconds wait_after(int tries, std::chrono::milliseconds first, Random& random) {
  double wait = static_cast<double>(first.count());
  for (int i = 1; i < tries; ++i) wait *= 1.5;
  wait *= 1 + 0.2 * static_cast<double>(random.next() % 1000) / 1000;
  return std::chrono::milliseconds(static_cast<long>(wait));
}

EndpointClient::EndpointClient(net::Loop& loop, net::Dialer& dialer,
                               std::shared_ptr<const net::TlsClient> tls, Endpoint endpoint,
                               std::size_t max_answer)
    : endpoint_(std::move(endpoint)),
      token_(endpoint_.token),
      own_dialer_(endpoint_.proxy ? new http::ProxyDialer(*endpoint_.proxy) : nullptr, {&loop}),
      client_(loop, own_dialer_ ? *own_dialer_ : dialer, std::move(tls), {.max_body = max_answer}) {
}

Result<std::shared_ptr<EndpointClient>> EndpointClient::make(net::Loop& loop, net::Dialer& dialer,
                                                             Endpoint endpoint,
                                                             std::size_t max_answer,
                                                             net::FileWatch* files) {
  auto tls = net::TlsClient::make(endpoint.tls);
  if (!tls) return fail(tls.error());
  const std::string file = endpoint.token_file;
  std::shared_ptr<EndpointClient> self(
      new EndpointClient(loop, dialer, *tls, std::move(endpoint), max_answer));
  if (files && !file.empty())
    files->watch({file}, [weak = std::weak_ptr(self), file] {
      auto text = net::read_whole_file(file);
      auto held = weak.lock();
      if (held && text && !trim(*text).empty()) held->set_token(std::string(trim(*text)));
    });
  return self;
}

void EndpointClient::set_token(std::string token) {
  std::lock_guard lock(mutex_);
  token_ = std::move(token);
}

std::string EndpointClient::token() const {
  std::lock_guard lock(mutex_);
  return token_;
}

void EndpointClient::post(std::string document, std::chrono::milliseconds timeout,
                          http::Client::Done done, const http::Headers& more) {
  http::Call call = json_post(endpoint_.server, std::move(document), timeout);
  for (const http::Header header : more) call.headers.add(header.name, header.value);
  address(call, endpoint_, token());
  client_.send(std::move(call), std::move(done));
}

void EndpointClient::call(std::string method, std::string_view path, std::string document,
                          std::chrono::milliseconds timeout, http::Client::Done done) {
  std::string_view base = endpoint_.server;
  while (base.ends_with('/')) base.remove_suffix(1);
  const bool has_body = !document.empty();
  http::Call call = json_post(cat(base, path), std::move(document), timeout);
  call.method = std::move(method);
  if (!has_body) call.headers.remove("content-type");
  address(call, endpoint_, token());
  client_.send(std::move(call), std::move(done));
}

}  // namespace cardea::upstream
