#include "http/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <utility>

#include "base/result.h"
#include "base/strings.h"

namespace cardea::http {
namespace {

constexpr int kFastest = 1;
constexpr int kGzipFormat = 16 + MAX_WBITS;
constexpr std::size_t kGzipFrom = 128 * 1024;
constexpr std::size_t kGzipPerTurn = 128 * 1024;  // about a millisecond
constexpr std::size_t kGzipAhead = 256 * 1024;    // ready and not taken by the client

// An answer that is being compressed. It lives as long as its next step waits somewhere: in the
// loop, or in the stream for the client to read.
class CompressedAnswer : public std::enable_shared_from_this<CompressedAnswer> {
 public:
  CompressedAnswer(net::Loop& loop, Body body) : loop_(loop), body_(std::move(body)) {}

  void start(std::shared_ptr<Stream> stream) {
    stream_ = std::move(stream);
    soon();
  }

 private:
  void soon() {
    loop_.post([self = shared_from_this()] { self->step(); });
  }

  void step() {
    std::string out;
    const bool is_done = compress_some(out);
    if (!out.empty() && !stream_->write(Piece::of(std::move(out)))) return;  // the client has gone
    if (is_done) return stream_->finish();
    if (stream_->pending_bytes() < kGzipAhead) return soon();
    stream_->when_drained([self = shared_from_this()] { self->step(); });
  }

  bool compress_some(std::string& out) {
    std::size_t left = kGzipPerTurn;
    while (left > 0 && piece_ < body_.pieces()) {
      const std::string_view bytes = body_.piece(piece_).bytes.substr(offset_, left);
      gzip_.add(bytes, out);
      left -= bytes.size();
      offset_ += bytes.size();
      if (offset_ < body_.piece(piece_).bytes.size()) continue;
      ++piece_;
      offset_ = 0;
    }
    if (piece_ < body_.pieces()) return false;
    gzip_.finish(out);
    return true;
  }

  net::Loop& loop_;
  const Body body_;
  std::shared_ptr<Stream> stream_;
  Gzip gzip_;
  std::size_t piece_ = 0;
  std::size_t offset_ = 0;  // of the piece
};

}  // namespace

Gzip::Gzip() : stream_(std::make_unique<z_stream_s>()) {
  CARDEA_CHECK(deflateInit2(stream_.get(), kFastest, Z_DEFLATED, kGzipFormat, MAX_MEM_LEVEL - 1,
                            Z_DEFAULT_STRATEGY) == Z_OK);
}

Gzip::~Gzip() {
  deflateEnd(stream_.get());
}

void Gzip::add(std::string_view bytes, std::string& out) {
  stream_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream_->avail_in = static_cast<uInt>(bytes.size());
  run(Z_NO_FLUSH, out);
}

void Gzip::finish(std::string& out) {
  stream_->next_in = nullptr;
  stream_->avail_in = 0;
  run(Z_FINISH, out);
}

void Gzip::run(int flush, std::string& out) {
  Bytef room[16 * 1024];
  do {
    stream_->next_out = room;
    stream_->avail_out = sizeof room;
    CARDEA_CHECK(deflate(stream_.get(), flush) != Z_STREAM_ERROR);
    out.append(reinterpret_cast<const char*>(room), sizeof room - stream_->avail_out);
  } while (stream_->avail_out == 0);
}

bool wants_gzip(const Headers& request, std::size_t size) {
  if (size <= kGzipFrom) return false;
  const auto words = split(request.get("accept-encoding"), ',');
  return std::any_of(words.begin(), words.end(),
                     [](std::string_view word) { return trim(word) == "gzip"; });
}

void respond_compressed(Exchange& exchange, Response response) {
  response.gzip = false;
  response.headers.add("Content-Encoding", "gzip");
  response.headers.add("Vary", "Accept-Encoding");
  auto answer = std::make_shared<CompressedAnswer>(exchange.connection_loop(),
                                                   std::exchange(response.body, Body()));
  answer->start(exchange.stream(std::move(response)));
}

}  // namespace cardea::http
