#include "rest/loopback.h"

#include <functional>
#include <future>

#include "json/parse.h"
#include "json/print.h"
#include "rest/gateway.h"

namespace cardea::rest {
namespace {

using Reply = Loopback::Reply;

class LoopbackExchange : public http::Exchange {
 public:
  LoopbackExchange(net::Loop& loop, std::function<void(Reply)> done)
      : Exchange(loop), done_(std::move(done)) {}

  void respond(http::Response response) override {
    Reply reply{response.status, {}};
    if (auto body = json::parse(response.body.text())) reply.body = std::move(*body);
    for (const auto& [name, value] : response.headers)
      if (name == "Warning") reply.warnings.emplace_back(value);
    done_(std::move(reply));
  }
  // Streams are for clients; the server's own parts watch the store.
  std::shared_ptr<http::Stream> stream(http::Response) override {
    done_(Reply{500, {}});
    return nullptr;
  }
  void on_close(net::Callback) override {}

 private:
  std::function<void(Reply)> done_;
};

}  // namespace

Task<Reply> Loopback::send(std::string method, std::string target, json::Value body,
                           std::string content_type) const {
  Reply reply = co_await await_callback<Reply>([&](auto done) {
    auto exchange = std::make_shared<LoopbackExchange>(loop_, done);
    http::Request& r = exchange->request();
    r.method = method;
    r.target = target;
    auto question = target.find('?');
    r.path = target.substr(0, question);
    if (question != std::string::npos) r.query = target.substr(question + 1);
    r.headers.add("User-Agent", agent_);
    r.headers.add("Accept", "application/json");
    if (!body.is_null()) {
      r.headers.add("Content-Type", content_type);
      r.body = json::print(body);
    }
    gateway_.handle_as(std::move(exchange), user_);
  });
  co_return reply;
}

Reply Loopback::send_and_wait(std::string method, std::string target, json::Value body,
                              std::string content_type) const {
  std::promise<Reply> answer;
  loop_.post([&] {
    spawn(send(std::move(method), std::move(target), std::move(body), std::move(content_type)),
          [&](Reply reply) { answer.set_value(std::move(reply)); });
  });
  return answer.get_future().get();
}

}  // namespace cardea::rest
