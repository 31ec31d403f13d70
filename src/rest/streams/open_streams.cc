#include "rest/streams/open_streams.h"

#include <future>

#include "base/strings.h"
#include "rest/call.h"

namespace cardea::rest {
namespace {

constexpr int kMostUndecided = 3;
constexpr std::size_t kMostAtOnce = 32;  // then the loop does other work

struct OpenStream {
  const Reconsiders& by;
  StreamQuestion question;
  std::function<void(const Error&)> cut;  // null when it was called
  int undecided = 0;                      // rounds in a row
};

}  // namespace

class OpenStreams::Rounds : public std::enable_shared_from_this<Rounds> {
 public:
  Rounds(net::Loop& loop, std::chrono::milliseconds period, Counter& asked, Counter& ended)
      : loop_(loop), period_(period), asked_(asked), ended_(ended) {}

  void add(const std::shared_ptr<OpenStream>& stream) {
    if (is_stopped_) return;
    streams_.push_back(stream);
    if (!is_running_ && !timer_.pending()) timer_.start(period_);
  }
  void stop() {
    is_stopped_ = true;
    timer_.cancel();
    streams_.clear();
  }

 private:
  void begin() {
    is_running_ = true;
    spawn(round(shared_from_this()), [](bool) {});
  }

  static Task<bool> round(std::shared_ptr<Rounds> self) {
    const std::vector<std::weak_ptr<OpenStream>> now = self->streams_;
    std::size_t at_once = 0;
    for (const auto& weak : now) {
      std::shared_ptr<OpenStream> stream = weak.lock();
      if (!stream || !stream->cut) continue;
      Standing standing = co_await stream->by.reconsider(self->loop_, stream->question);
      self->asked_.add();
      if (++at_once % kMostAtOnce == 0) {
        bool back = co_await continue_on(self->loop_);
        (void)back;
      }
      if (self->is_stopped_) co_return true;
      self->judge(*stream, standing);
    }
    std::erase_if(self->streams_, [](const auto& weak) {
      std::shared_ptr<OpenStream> stream = weak.lock();
      return !stream || !stream->cut;
    });
    self->is_running_ = false;
    if (!self->streams_.empty()) self->timer_.start(self->period_);
    co_return true;
  }

  void judge(OpenStream& stream, const Standing& standing) {
    if (standing.kind == Standing::Kind::kGood) {
      stream.undecided = 0;
      return;
    }
    const bool is_known = standing.kind == Standing::Kind::kGone;
    if (!is_known && ++stream.undecided < kMostUndecided) return;
    ended_.add();
    std::exchange(stream.cut, nullptr)(standing.why);
  }

  net::Loop& loop_;
  const std::chrono::milliseconds period_;
  Counter& asked_;
  Counter& ended_;
  net::Timer timer_{loop_, [this] { begin(); }};
  std::vector<std::weak_ptr<OpenStream>> streams_;
  bool is_running_ = false;
  bool is_stopped_ = false;
};

OpenStreams::OpenStreams(net::Loops& loops, std::chrono::milliseconds period,
                         MetricRegistry& metrics)
    : loops_(loops), period_(period) {
  Counter& asked = metrics.counter({"cardea_stream_reauthorizations_total",
                                    "Questions whether an open stream is still allowed."},
                                   {});
  Counter& ended = metrics.counter(
      {"cardea_streams_revoked_total", "Streams that were ended because they are not."}, {});
  for (std::size_t i = 0; i < loops.size(); ++i)
    rounds_.push_back(std::make_shared<Rounds>(loops.at(i), period, asked, ended));
}

OpenStreams::~OpenStreams() = default;

std::shared_ptr<void> OpenStreams::add(net::Loop& loop, const Reconsiders& by,
                                       StreamQuestion question,
                                       std::function<void(const Error&)> cut) {
  if (!is_on()) return nullptr;
  for (std::size_t i = 0; i < rounds_.size(); ++i) {
    if (&loops_.at(i) != &loop) continue;
    auto stream = std::make_shared<OpenStream>(OpenStream{by, std::move(question), std::move(cut)});
    rounds_[i]->add(stream);
    return stream;
  }
  return nullptr;
}

std::shared_ptr<void> keep_asking(Call& call, json::Value options,
                                  std::function<void(const Error&)> cut) {
  if (!call.sent || !call.services.open_streams) return nullptr;
  return call.services.open_streams->add(call.exchange->loop(), *call.reconsiders,
                                         {call.sent, std::move(options)}, std::move(cut));
}

std::string revoked(const Error& why) {
  return cat("no longer allowed: ", why.message);
}

void OpenStreams::stop() {
  for (std::size_t i = 0; i < rounds_.size(); ++i) {
    std::promise<void> done;
    loops_.at(i).post([&] {
      rounds_[i]->stop();
      done.set_value();
    });
    done.get_future().wait();
  }
}

}  // namespace cardea::rest
