#include "rest/backups.h"

#include "authz/refusal.h"
#include "base/strings.h"
#include "rest/asking.h"
#include "rest/present/status.h"
#include "store/backup.h"
#include "store/history.h"

namespace cardea::rest {
namespace {

constexpr std::size_t kPart = 256u << 10;

// Whoever gets a backup reads all objects.
Task<Result<void>> may_list_all(Call& call) {
  for (const catalog::Group& group : call.catalog->all_groups())
    for (const catalog::Version& version : group.versions)
      for (const catalog::Resource* r : version.resources) {
        if (r->storage_prefix.empty() || call.catalog->storage_of(*r) != r) continue;
        authz::Attributes question(call.user);
        question.is_resource_request = true;
        question.verb = "list";
        question.api_group = r->group;
        question.api_version = r->version;
        question.resource = r->name;
        authz::Chain::Verdict verdict = co_await ask_chain(call, call.chain, question);
        if (!verdict.permit)
          co_return fail(authz::refusal(*call.chain, question, verdict.decision));
      }
  co_return Result<void>();
}

// While it lives, no other backup begins.
class Turn {
 public:
  explicit Turn(std::shared_ptr<std::atomic<bool>> is_busy) : is_busy_(std::move(is_busy)) {}
  ~Turn() {
    if (is_busy_) is_busy_->store(false);
  }
  Turn(Turn&&) noexcept = default;
  Turn& operator=(Turn&&) = delete;

 private:
  std::shared_ptr<std::atomic<bool>> is_busy_;
};

}  // namespace

// Makes part after part, each when the network has taken the one before. It is kept alive by the
// callback that it waits for; a client that has gone drops that.
class Backups::Sending : public std::enable_shared_from_this<Sending> {
 public:
  Sending(Turn turn, store::BackupEncoder encoder, std::shared_ptr<http::Stream> stream,
          net::Loop& work, net::Loop& connection)
      : turn_(std::move(turn)),
        encoder_(std::move(encoder)),
        stream_(std::move(stream)),
        work_(work),
        connection_(connection) {}

  void go_on() {
    work_.post([self = shared_from_this()] { self->send_part(); });
  }

 private:
  void send_part() {
    std::string part = encoder_.next(kPart);
    if (part.empty()) return stream_->finish();
    if (!stream_->write(http::Piece::of(std::move(part)))) return;
    connection_.post(
        [self = shared_from_this()] { self->stream_->when_drained([self] { self->go_on(); }); });
  }

  Turn turn_;
  store::BackupEncoder encoder_;
  const std::shared_ptr<http::Stream> stream_;
  net::Loop& work_;
  net::Loop& connection_;
};

Task<Result<Answer>> Backups::serve(Call& call) {
  if (call.request().method != "POST") co_return fail(method_not_allowed());
  if (call.services.shared)
    co_return fail(bad_request("the objects are in etcd: back it up with `etcdctl snapshot save`"));
  Result<void> may = co_await may_list_all(call);
  if (!may) co_return fail(may.error());
  if (is_busy_->exchange(true))
    co_return fail(Error::of(Reason::kTooManyRequests, "another backup is being made"));
  Turn turn(is_busy_);
  using Taken = std::shared_ptr<Result<store::Snapshot>>;
  Taken taken = co_await await_callback<Taken>([this](auto done) {
    work_.at(0).post([this, done]() mutable {
      done(std::make_shared<Result<store::Snapshot>>(store::take_snapshot(store_)));
    });
  });
  bool back = co_await back_on_loop(call);
  (void)back;
  if (!*taken) co_return fail(taken->error());
  http::Response head;
  head.headers.add("Cache-Control", "no-cache, private");
  head.headers.add("Content-Type", "application/octet-stream");
  begin_stream(call, head);
  call.exchange->forget_body();
  std::shared_ptr<http::Stream> stream = call.exchange->stream(std::move(head));
  std::make_shared<Sending>(
      std::move(turn),
      store::BackupEncoder(std::move(**taken), store::unix_seconds(call.services.clock)),
      std::move(stream), work_.at(0), call.exchange->connection_loop())
      ->go_on();
  Answer answer;
  answer.is_streaming = true;
  co_return answer;
}

}  // namespace cardea::rest
