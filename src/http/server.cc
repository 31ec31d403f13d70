#include "http/server.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "http/connection_census.h"
#include "http/session.h"
#include "net/listener.h"

namespace cardea::http {

struct Server::State {
  State(net::Loops& all, Handler& handler, const ServerOptions& options)
      : loops(all), census(std::make_shared<ConnectionCensus>(options)) {
    const auto bodies = std::make_shared<BodyBudget>(options.max_bodies);
    for (std::size_t i = 0; i < loops.size(); ++i) {
      auto emptied = [this, i] {
        std::lock_guard lock(mutex);
        empty[i] = true;
        changed.notify_all();
      };
      workers.push_back(std::make_unique<Worker>(loops.at(i), handler, options, connections,
                                                 std::move(emptied), bodies));
    }
    empty.resize(loops.size(), false);
  }

  // Runs on the first loop; the connection then belongs to the next one in turn.
  void accepted(net::Socket socket, const std::shared_ptr<const net::TlsServer>& tls, Plain plain) {
    auto counted = census->admit(socket);
    if (!counted) return;
    Worker& worker = *workers[next++ % workers.size()];
    auto adopt = [&worker, tls, plain, counted = std::move(counted),
                  socket = std::move(socket)]() mutable {
      net::Loop& loop = worker.loop();
      worker.adopt(tls ? tls->accept(loop, std::move(socket))
                       : net::make_plain_connection(loop, std::move(socket)),
                   plain, std::move(counted));
    };
    if (worker.loop().in_loop())
      adopt();
    else
      worker.loop().post(std::move(adopt));
  }

  bool all_empty() const {
    return std::all_of(empty.begin(), empty.end(), [](char done) { return done != 0; });
  }

  net::Loops& loops;
  const std::shared_ptr<ConnectionCensus> census;
  std::atomic<std::size_t> connections{0};
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::unique_ptr<net::Listener>> listeners;
  std::size_t next = 0;  // loop 0 only

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<char> empty;  // per worker: stopped, and its last connection is gone
  bool stopped = false;
};

Server::Server(net::Loops& loops, Handler& handler, ServerOptions options)
    : state_(std::make_unique<State>(loops, handler, options)) {}

Server::~Server() {
  stop(std::chrono::milliseconds(0));
  // The last task of each worker may still be returning from inside it.
  for (auto& worker : state_->workers) {
    auto done = std::make_shared<std::atomic<bool>>(false);
    worker->loop().post([done] {
      done->store(true);
      done->notify_all();
    });
    done->wait(false);
  }
}

Result<std::uint16_t> Server::listen(const std::string& address, std::uint16_t port,
                                     std::shared_ptr<const net::TlsServer> tls, Plain plain) {
  auto listener = net::Listener::open(
      state_->loops.at(0), address, port,
      [state = state_.get(), tls = std::move(tls), plain](net::Socket socket) {
        state->accepted(std::move(socket), tls, plain);
      },
      [census = state_->census] { census->out_of_descriptors(); });
  if (!listener) return fail(listener.error());
  const std::uint16_t bound = (*listener)->port();
  state_->listeners.push_back(std::move(*listener));
  return bound;
}

void Server::stop(std::chrono::milliseconds grace) {
  State& state = *state_;
  if (std::exchange(state.stopped, true)) return;
  state.listeners.clear();
  for (auto& worker : state.workers)
    worker->loop().post([&worker = *worker] { worker.close_when_idle(); });
  std::unique_lock lock(state.mutex);
  if (state.changed.wait_for(lock, grace, [&] { return state.all_empty(); })) return;
  std::fill(state.empty.begin(), state.empty.end(), false);
  lock.unlock();
  for (auto& worker : state.workers)
    worker->loop().post([&worker = *worker] { worker.close_all(); });
  lock.lock();
  state.changed.wait(lock, [&] { return state.all_empty(); });
}

std::size_t Server::connections() const {
  return state_->connections.load(std::memory_order_relaxed);
}

}  // namespace cardea::http
