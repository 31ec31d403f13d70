#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "http/body_budget.h"
#include "http/output.h"
#include "http/server.h"
#include "net/connection.h"

namespace cardea::http {

class Worker;

// One connection and the protocol spoken on it. Loop thread only.
class Session {
 public:
  virtual ~Session() = default;
  virtual void start() = 0;
  // The server is stopping: close now when idle, otherwise after the answer that is under way.
  virtual void close_when_idle() = 0;
  virtual void close_now() = 0;

 private:
  friend class Worker;
  std::size_t place_ = 0;
  std::shared_ptr<void> counted_;  // its place in the census of connections
};

// Reads and drops what the client still sends after the server has ended its side, so that the last
// answer is not lost to a reset. False: close the connection now, because the client has ended too,
// has failed, or sends too much.
class Discard {
 public:
  bool from(net::Connection& connection, std::span<char> buffer);

 private:
  std::size_t bytes_ = 0;
};

// Does the handshake of a new connection, finds out which protocol the client speaks, and is then
// replaced by a session of that protocol.
std::shared_ptr<Session> make_greeting(Worker& worker, std::unique_ptr<net::Connection> connection,
                                       Plain plain);

// The part of a server that lives on one loop: its sessions and the memory they lend each other.
// Loop thread only.
class Worker {
 public:
  Worker(net::Loop& loop, Handler& handler, const ServerOptions& options,
         std::atomic<std::size_t>& connections, net::Callback emptied,
         std::shared_ptr<BodyBudget> bodies = nullptr);

  void adopt(std::unique_ptr<net::Connection> connection, Plain plain,
             std::shared_ptr<void> counted = nullptr);
  void replace(Session& session, std::shared_ptr<Session> by);  // and starts `by`
  void drop(Session& session);  // destroys it when the loop's turn is over
  void close_when_idle();
  void close_all();
  bool stopping() const { return stopping_; }

  net::Loop& loop() const { return loop_; }
  Handler& handler() const { return handler_; }
  const ServerOptions& options() const { return options_; }
  std::span<char> read_buffer() { return {read_buffer_.get(), kReadBuffer}; }
  Output::Memory& output_memory() { return output_memory_; }
  const std::shared_ptr<BodyBudget>& bodies() const { return bodies_; }  // of the whole server
  bool draws_goaway();             // by chance, as the options say
  std::string_view date_header();  // "Date: ...\r\n", made once a second

  // A request's memory, reused by the next one.
  Request take_request();
  void give_back(Request request);

 private:
  static constexpr std::size_t kReadBuffer = 64 * 1024;

  net::Loop& loop_;
  Handler& handler_;
  const ServerOptions options_;
  std::atomic<std::size_t>& connections_;
  net::Callback emptied_;
  const std::shared_ptr<BodyBudget> bodies_;
  std::vector<std::shared_ptr<Session>> sessions_;
  std::unique_ptr<char[]> read_buffer_;
  Output::Memory output_memory_;
  std::vector<Request> requests_;
  std::minstd_rand chance_{std::random_device()()};
  std::string date_header_;
  std::int64_t date_second_ = 0;
  bool stopping_ = false;
};

}  // namespace cardea::http
