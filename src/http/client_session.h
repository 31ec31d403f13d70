#pragma once
#include <memory>
#include <optional>
#include <string>

#include "http/client_call.h"
#include "http/output.h"
#include "http/response_parser.h"
#include "net/connection.h"
#include "net/loop.h"

namespace cardea::http {

// One HTTP/1.1 connection of a client: one call at a time. Loop thread only.
class ClientSession final : private net::Connection::Owner, private FlowCarrier {
 public:
  class Owner {
   public:
    // The session is idle again; drop it or keep it for the next call.
    virtual void on_answer(ClientSession& session, const std::shared_ptr<Pending>& pending,
                           Answer answer, bool reusable) = 0;
    virtual void on_head(const std::shared_ptr<Pending>& pending) = 0;  // of an open call
    virtual void on_end(ClientSession& session, const std::shared_ptr<Pending>& pending,
                        bool reusable) = 0;
    // The session is of no more use. `pending` is null when it was idle; `stale` when it had served
    // before and ended before the first byte of an answer.
    virtual void on_failure(ClientSession& session, const std::shared_ptr<Pending>& pending,
                            std::string why, bool stale) = 0;

   protected:
    ~Owner() = default;
  };

  // Takes over a connection whose handshake is done.
  ClientSession(net::Loop& loop, Owner& owner, std::unique_ptr<net::Connection> connection,
                const ClientOptions& options);

  void send(std::shared_ptr<Pending> pending, bool reused);
  void close();

 private:
  void on_ready() override;
  void write(std::int32_t, std::vector<Piece>, bool) override {}  // everything was written at once
  void read_on(std::int32_t stream) override;
  void write_call();
  void read();
  bool consume(std::string_view input);  // false when the call is over, one way or the other
  bool take(std::string_view bytes);
  void answered(bool input_left);
  void failed(std::string why);

  Owner& owner_;
  const ClientOptions options_;
  std::unique_ptr<net::Connection> connection_;
  net::Timer idle_timer_;
  Output::Memory memory_;
  Output output_;
  std::shared_ptr<Pending> pending_;
  std::optional<ResponseParser> parser_;
  std::string body_;
  net::Loop& loop_;
  std::uint64_t calls_ = 0;  // so many; tells a call from the next one
  bool reused_ = false;
  bool waits_ = false;  // the reader of the call wants no more now
};

}  // namespace cardea::http
