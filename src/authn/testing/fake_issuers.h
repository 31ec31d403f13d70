#pragma once
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "authn/jwt/fetch.h"
#include "authn/jwt/jwks.h"
#include "base/strings.h"
#include "json/print.h"
#include "net/loop.h"

namespace cardea::authn {

// Issuers without a network, for tests. They answer on the loop, in the order of the requests. From
// any thread.
class FakeIssuers : public Fetcher {
 public:
  explicit FakeIssuers(net::Loop& loop) : loop_(loop) {}

  void get(std::string url, std::string, Done done) override {
    std::lock_guard lock(mutex_);
    ++asked_[url];
    if (is_held_) {
      held_.push_back({std::move(url), std::move(done)});
      return;
    }
    answer(url, std::move(done));
  }

  void serve(const std::string& url, std::string body, std::string cache_control = "") {
    std::lock_guard lock(mutex_);
    documents_[url] = {std::move(body), std::move(cache_control)};
  }
  // An issuer with its discovery document and its keys.
  void serve_issuer(const std::string& issuer, std::initializer_list<const SigningKey*> keys,
                    std::string cache_control = "") {
    serve(issuer + "/.well-known/openid-configuration",
          json::print(json::Value::object({{"issuer", issuer}, {"jwks_uri", issuer + "/keys"}})));
    serve(issuer + "/keys", key_set(keys), std::move(cache_control));
  }
  static std::string key_set(std::initializer_list<const SigningKey*> keys) {
    json::Value list = json::Value::array();
    for (const SigningKey* key : keys) list.push_back(jwk_from_key(*key, ""));
    return json::print(json::Value::object({{"keys", list}}));
  }

  void set_down(bool down) { set_down("", down); }  // all of them
  void set_down(const std::string& prefix, bool down) {
    std::lock_guard lock(mutex_);
    if (down)
      down_.insert(prefix);
    else
      down_.erase(prefix);
  }
  // Holds requests until they are released. The answer is then the document that is served at that
  // time.
  void hold() {
    std::lock_guard lock(mutex_);
    is_held_ = true;
  }
  void let_go() {
    std::lock_guard lock(mutex_);
    is_held_ = false;
    for (auto& [url, done] : std::exchange(held_, {})) answer(url, std::move(done));
  }
  int asked(const std::string& url) {
    std::lock_guard lock(mutex_);
    return asked_[url];
  }

 private:
  struct Document {
    std::string body, cache_control;
  };

  void answer(const std::string& url, Done done) {
    Result<http::Answer> answer = fail(internal_error("connection refused"));
    bool is_down = false;
    for (const std::string& prefix : down_) is_down |= url.starts_with(prefix);
    if (auto found = documents_.find(url); !is_down) {
      answer = found == documents_.end()
                   ? http::Answer{.status = 404, .headers = {}, .body = "", .trailers = {}}
                   : http::Answer{
                         .status = 200, .headers = {}, .body = found->second.body, .trailers = {}};
      if (found != documents_.end() && !found->second.cache_control.empty())
        answer->headers.set("cache-control", found->second.cache_control);
    }
    loop_.post([done = std::move(done), answer = std::move(answer)]() mutable {
      done(std::move(answer));
    });
  }

  net::Loop& loop_;
  std::mutex mutex_;
  bool is_held_ = false;
  std::vector<std::pair<std::string, Done>> held_;
  std::set<std::string> down_;
  std::map<std::string, Document> documents_;
  std::map<std::string, int> asked_;
};

}  // namespace cardea::authn
