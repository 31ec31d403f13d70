// Many watches over few HTTP/2 connections, as a process apart from the server's.
//
//   http2_watchers_bench spread PORT CONNECTIONS WATCHES TARGET TOKEN
//     Opens the connections, gets /livez on each, and prints `idle`. After a line of input opens
//     WATCHES watches on each and prints `open`. When all have got an event, prints `reached
//     NANOSECONDS`: when the last one had it, on the monotonic clock that all processes share.
//
//   http2_watchers_bench beside PORT WRITES WATCHES TARGET TOKEN OBJECT
//     WATCHES watches on one connection. Merges a change into OBJECT, WRITES times each in turns:
//     on the connection of the watches, and on another. Prints the medians of the nanoseconds from
//     the beginning of a write until the last watch has its event: `same N` and `other N`.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>
#include <vector>

#include "base/strings.h"
#include "http/client.h"

namespace {

using namespace cardea;

std::int64_t now() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Counts down from any thread; remembers when the last one was counted.
class Countdown {
 public:
  void set(std::size_t count) {
    std::lock_guard lock(mutex_);
    left_ = count;
  }
  void count() {
    std::lock_guard lock(mutex_);
    if (left_ > 0 && --left_ == 0) {
      at_ = now();
      done_.notify_all();
    }
  }
  std::int64_t wait() {
    std::unique_lock lock(mutex_);
    if (!done_.wait_for(lock, std::chrono::minutes(2), [&] { return left_ == 0; })) {
      std::fprintf(stderr, "http2_watchers_bench: %zu did not come\n", left_);
      std::exit(1);
    }
    return at_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  std::size_t left_ = 0;
  std::int64_t at_ = 0;
};

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "http2_watchers_bench: %s\n", why.c_str());
  std::exit(1);
}

class Watch : public http::AnswerReader {
 public:
  Watch(Countdown& heads, Countdown& events) : heads_(heads), events_(events) {}
  void on_head(int status, const http::Headers&) override {
    if (status != 200) give_up(cat("a watch was answered with ", status));
    heads_.count();
  }
  bool on_data(std::string_view bytes) override {
    for (auto lines = std::ranges::count(bytes, '\n'); lines > 0; --lines) events_.count();
    return true;
  }
  void on_end(const http::Headers&) override { give_up("a watch ended"); }
  void on_failure(const Error& error) override { give_up(error.message); }

 private:
  Countdown& heads_;
  Countdown& events_;
};

class Bench {
 public:
  Bench(std::string port, std::string token)
      : base_(cat("https://127.0.0.1:", port)), token_(std::move(token)) {
    auto tls = net::TlsClient::make({.server_cas = {},
                                     .certificates = {},
                                     .key = {},
                                     .protocols = {"h2"},
                                     .insecure_skip_verify = true});
    if (!tls) give_up(tls.error().message);
    tls_ = *tls;
  }

  // A client has one connection.
  std::unique_ptr<http::Client> connection() {
    return std::make_unique<http::Client>(loops_.at(0), dialer_, tls_,
                                          http::ClientOptions{.max_shared = 1,
                                                              .idle_timeout = std::chrono::hours(1),
                                                              .ping_after = std::chrono::hours(1)});
  }
  http::Call call(std::string method, const std::string& target) {
    http::Call made{.method = std::move(method), .url = base_ + target};
    made.headers.add("Authorization", "Bearer " + token_);
    made.headers.add("Accept", "application/json");
    return made;
  }
  void send(http::Client& client, http::Call call, Countdown& answers) {
    client.send(std::move(call), [&](Result<http::Answer> answer) {
      if (!answer) give_up(answer.error().message);
      if (answer->status != 200) give_up(answer->body);
      answers.count();
    });
  }
  void watch(http::Client& client, const std::string& target, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      http::Call made = call("GET", target);
      made.timeout = {};
      watches_.push_back(client.open(std::move(made), std::make_shared<Watch>(heads_, events_)));
      watches_.back()->finish();
    }
  }

  Countdown heads_, events_, answers_;

 private:
  std::string base_, token_;
  std::shared_ptr<const net::TlsClient> tls_;
  net::Dialer dialer_;
  net::Loops loops_{1};
  std::vector<std::shared_ptr<http::OpenCall>> watches_;
};

void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

[[noreturn]] void spread(Bench& bench, std::size_t connections, std::size_t watches,
                         const std::string& target) {
  std::vector<std::unique_ptr<http::Client>> clients;
  for (std::size_t i = 0; i < connections; ++i) {
    clients.push_back(bench.connection());
    bench.answers_.set(1);
    bench.send(*clients.back(), bench.call("GET", "/livez"), bench.answers_);
    bench.answers_.wait();
  }
  say("idle");
  std::string line;
  std::getline(std::cin, line);
  bench.heads_.set(connections * watches);
  bench.events_.set(connections * watches);
  for (auto& client : clients) bench.watch(*client, target, watches);
  bench.heads_.wait();
  say("open");
  say(cat("reached ", bench.events_.wait()));
  std::getline(std::cin, line);
  std::_Exit(0);
}

[[noreturn]] void beside(Bench& bench, std::size_t writes, std::size_t watches,
                         const std::string& target, const std::string& object) {
  auto same = bench.connection(), other = bench.connection();
  bench.heads_.set(watches);
  bench.watch(*same, target, watches);
  bench.heads_.wait();
  std::vector<std::int64_t> took[2];
  for (std::size_t i = 0; i < 2 * writes + 20; ++i) {
    http::Call patch = bench.call("PATCH", object);
    patch.headers.add("Content-Type", "application/merge-patch+json");
    patch.body = cat(R"({"data":{"turn":")", i, R"("}})");
    bench.events_.set(watches);
    bench.answers_.set(1);
    const std::int64_t begin = now();
    bench.send(i % 2 ? *other : *same, std::move(patch), bench.answers_);
    const std::int64_t end = bench.events_.wait();
    bench.answers_.wait();
    if (i >= 20) took[i % 2].push_back(end - begin);
  }
  for (auto& list : took) std::ranges::nth_element(list, list.begin() + list.size() / 2);
  say(cat("same ", took[0][writes / 2]));
  say(cat("other ", took[1][writes / 2]));
  std::_Exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 6) give_up("see the beginning of bench/http2_watchers_bench.cc");
  const std::size_t first = std::strtoul(words[2].c_str(), nullptr, 10);
  const std::size_t watches = std::strtoul(words[3].c_str(), nullptr, 10);
  Bench bench(words[1], words[5]);
  if (words[0] == "spread") spread(bench, first, watches, words[4]);
  if (words[0] == "beside" && words.size() == 7) beside(bench, first, watches, words[4], words[6]);
  give_up("the first word is `spread` or `beside`");
}
