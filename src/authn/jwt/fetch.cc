#include "authn/jwt/fetch.h"

#include <algorithm>

#include "base/strings.h"
#include "http/url.h"

namespace cardea::authn {
namespace {

constexpr int kMostRedirects = 10;
constexpr int kRedirects[] = {301, 302, 303, 307, 308};

// Where a Location header leads from `base`; an error when it leads nowhere we go.
Result<std::string> redirect_target(const std::string& base, std::string_view location) {
  auto from = http::parse_url(base);
  if (!from) return fail(std::move(from.error()));
  if (location.empty()) return fail(internal_error("redirect without a Location header"));
  const std::string_view scheme = from->tls ? "https:" : "http:";
  std::string to;
  if (location.starts_with("//"))
    to = cat(scheme, location);
  else if (location.starts_with("/"))
    to = cat(scheme, "//", from->authority, location);
  else if (location.find("://") != location.npos)
    to = location;
  else
    to = cat(scheme, "//", from->authority,
             from->target.substr(0, from->target.substr(0, from->target.find('?')).rfind('/') + 1),
             location);
  auto parsed = http::parse_url(to);
  if (!parsed) return fail(std::move(parsed.error()));
  if (from->tls && !parsed->tls) return fail(internal_error("redirect from https to http"));
  return to;
}

bool same_host(const std::string& a, const std::string& b) {
  auto one = http::parse_url(a), other = http::parse_url(b);
  return one && other && one->authority == other->authority;
}

class HttpFetcher : public Fetcher {
 public:
  HttpFetcher(net::Loop& loop, net::Dialer& dialer, std::shared_ptr<const net::TlsClient> tls)
      : client_(loop, dialer, std::move(tls), {.max_body = 1u << 20, .max_idle = 2}) {}

  void get(std::string url, std::string bearer, Done done) override {
    follow(std::move(url), std::move(bearer), std::move(done), kMostRedirects,
           std::chrono::steady_clock::now() + std::chrono::seconds(30));
  }

 private:
  void follow(std::string url, std::string bearer, Done done, int left,
              std::chrono::steady_clock::time_point deadline) {
    const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    http::Call call{.url = url,
                    .headers = {{"Accept", "application/json, application/jwk-set+json, */*"},
                                {"User-Agent", "cardea"}},
                    .timeout = std::max(time, std::chrono::milliseconds(1))};
    if (!bearer.empty()) call.headers.set("Authorization", cat("Bearer ", bearer));
    client_.send(std::move(call), [weak = weak_from_this(), url = std::move(url),
                                   bearer = std::move(bearer), done = std::move(done), left,
                                   deadline](Result<http::Answer> answer) mutable {
      if (!answer || std::ranges::find(kRedirects, answer->status) == std::end(kRedirects))
        return done(std::move(answer));
      auto self = std::static_pointer_cast<HttpFetcher>(weak.lock());
      if (!self || left == 0)
        return done(fail(internal_error(self ? "stopped after 10 redirects" : "stopped")));
      auto target = redirect_target(url, answer->headers.get("location"));
      if (!target) return done(fail(std::move(target.error())));
      if (!same_host(url, *target)) bearer.clear();
      self->follow(std::move(*target), std::move(bearer), std::move(done), left - 1, deadline);
    });
  }

  http::Client client_;
};

}  // namespace

Result<std::shared_ptr<Fetcher>> make_fetcher(net::Loop& loop, net::Dialer& dialer,
                                              const std::string& server_cas) {
  auto tls = net::TlsClient::make({.server_cas = server_cas});
  if (!tls) return fail(std::move(tls.error()));
  return std::make_shared<HttpFetcher>(loop, dialer, std::move(*tls));
}

}  // namespace cardea::authn
