#include "http/output.h"

#include <algorithm>

namespace cardea::http {
namespace {

// Below this a copy costs less than another element of a gathered write, and for TLS it is copied
// anyway.
constexpr std::size_t kSmall = 2048;
constexpr std::size_t kMaxGather = 32;
constexpr std::size_t kKeptMemory = 256 * 1024;
constexpr std::size_t kCompactFrom = 64 * 1024;

}  // namespace

void Output::borrow_memory() {
  if (segments_.capacity() == 0) segments_.swap(spare_.segments);
  if (text_.capacity() < spare_.text.capacity()) text_.swap(spare_.text);
}

std::string& Output::text() {
  if (pending_ == 0) borrow_memory();
  return text_;
}

void Output::wrote() {
  const std::size_t size = text_.size() - text_end_;
  if (size == 0) return;
  pending_ += size;
  if (first_ < segments_.size() && !segments_.back().data)
    segments_.back().size += size;
  else
    segments_.push_back({nullptr, nullptr, size, text_end_});
  text_end_ = text_.size();
}

void Output::append(std::string_view bytes) {
  text().append(bytes);
  wrote();
}

void Output::append(const Piece& piece) {
  if (piece.bytes.size() <= kSmall) return append(piece.bytes);
  if (pending_ == 0) borrow_memory();
  segments_.push_back({piece.owner, piece.bytes.data(), piece.bytes.size(), 0});
  pending_ += piece.bytes.size();
}

net::Io Output::flush(net::Connection& connection) {
  bool moved = false;
  while (pending_ > 0) {
    std::string_view views[kMaxGather];
    std::size_t count = 0;
    for (std::size_t i = first_; i < segments_.size() && count < kMaxGather; ++i) {
      const Segment& segment = segments_[i];
      const char* data = segment.data ? segment.data : text_.data() + segment.offset;
      views[count++] = {data, segment.size};
    }
    views[0].remove_prefix(taken_);
    const net::IoResult result = connection.write({views, count});
    if (result.bytes > 0) {
      take(result.bytes);
      moved = true;
    }
    if (result.status == net::Io::kWouldBlock) break;
    if (result.status != net::Io::kDone) return net::Io::kFailed;
  }
  if (pending_ == 0)
    clear();
  else
    compact();
  return moved || pending_ == 0 ? net::Io::kDone : net::Io::kWouldBlock;
}

void Output::take(std::size_t bytes) {
  pending_ -= bytes;
  bytes += taken_;
  while (first_ < segments_.size() && bytes >= segments_[first_].size) {
    bytes -= segments_[first_].size;
    segments_[first_].owner.reset();
    ++first_;
  }
  taken_ = bytes;
}

// A slow stream may never be empty; what it has sent must not pile up in front of what it has not.
void Output::compact() {
  if (first_ > kMaxGather && first_ > segments_.size() / 2) {
    segments_.erase(segments_.begin(), segments_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  std::size_t used = text_.size();
  for (std::size_t i = first_; i < segments_.size(); ++i) {
    if (segments_[i].data) continue;
    used = segments_[i].offset + (i == first_ ? taken_ : 0);
    break;
  }
  if (used < kCompactFrom || used < text_.size() / 2) return;
  text_.erase(0, used);
  text_end_ -= used;
  for (std::size_t i = first_; i < segments_.size(); ++i) {
    Segment& segment = segments_[i];
    if (segment.data) continue;
    if (i == first_ && taken_ > 0) {
      segment.size -= taken_;
      segment.offset += taken_;
      taken_ = 0;
    }
    segment.offset -= used;
  }
}

void Output::clear() {
  pending_ = first_ = taken_ = text_end_ = 0;
  segments_.clear();
  text_.clear();
  if (text_.capacity() > spare_.text.capacity() && text_.capacity() <= kKeptMemory)
    text_.swap(spare_.text);
  if (segments_.capacity() > spare_.segments.capacity() && segments_.capacity() <= kMaxGather * 4)
    segments_.swap(spare_.segments);
  std::string().swap(text_);
  decltype(segments_)().swap(segments_);
}

}  // namespace cardea::http
