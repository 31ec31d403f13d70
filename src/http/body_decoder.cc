#include "http/body_decoder.h"

#include <algorithm>

namespace cardea::http {
namespace {

constexpr std::uint32_t kMaxChunkLine = 4096;
constexpr std::uint32_t kMaxTrailers = 65536;
constexpr std::uint64_t kMaxChunk = std::uint64_t{1} << 60;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_text(char c) {
  return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
}

}  // namespace

void BodyDecoder::expect_length(std::uint64_t length) {
  left_ = length;
  state_ = length ? State::kFixed : State::kDone;
}

void BodyDecoder::expect_chunks() {
  left_ = 0;
  overhead_ = 0;
  state_ = State::kSizeFirst;
}

void BodyDecoder::expect_everything() {
  state_ = State::kEverything;
}

BodyDecoder::Event BodyDecoder::failed(std::string_view why) {
  state_ = State::kFailed;
  error_ = why;
  return Event::kError;
}

BodyDecoder::Event BodyDecoder::next(std::string_view& input, std::string_view& data) {
  for (;;) {
    if (state_ == State::kDone) return Event::kEnd;
    if (state_ == State::kFailed) return Event::kError;
    if (input.empty()) return Event::kNeedMore;
    if (state_ == State::kEverything) {
      data = input;
      input = {};
      return Event::kData;
    }
    if (state_ == State::kFixed || state_ == State::kChunk) {
      const std::size_t size = static_cast<std::size_t>(
          std::min<std::uint64_t>(left_, input.size()));
      data = input.substr(0, size);
      input.remove_prefix(size);
      left_ -= size;
      if (left_ == 0) state_ = state_ == State::kFixed ? State::kDone : State::kChunkCr;
      return Event::kData;
    }
    const char c = input.front();
    input.remove_prefix(1);
    if (!framing_byte(c)) return Event::kError;
  }
}

bool BodyDecoder::framing_byte(char c) {
  switch (state_) {
    case State::kChunkCr:
      if (c != '\r') return failed("malformed chunked encoding"), false;
      state_ = State::kChunkLf;
      return true;
    case State::kChunkLf:
      if (c != '\n') return failed("malformed chunked encoding"), false;
      state_ = State::kSizeFirst;
      return true;
    case State::kTrailerStart:
    case State::kTrailer:
    case State::kTrailerLf:
    case State::kFinalLf:
      return trailer_byte(c);
    default:
      return size_byte(c);
  }
}

bool BodyDecoder::size_byte(char c) {
  if (state_ == State::kSizeFirst) {
    const int digit = hex_digit(c);
    if (digit < 0) return failed("invalid byte in chunk length"), false;
    left_ = static_cast<std::uint64_t>(digit);
    overhead_ = 1;
    state_ = State::kSize;
    return true;
  }
  if (state_ == State::kSizeLf) {
    // A bare LF or CR here could make two servers disagree about the end of a message.
    if (c != '\n') return failed("malformed chunk line"), false;
    state_ = left_ ? State::kChunk : State::kTrailerStart;
    overhead_ = 0;
    return true;
  }
  if (++overhead_ > kMaxChunkLine) return failed("chunk line too long"), false;
  if (c == '\r') {
    state_ = State::kSizeLf;
    return true;
  }
  if (state_ == State::kExtension)
    return is_text(c) || (failed("malformed chunk extension"), false);
  if (c == ';') {
    state_ = State::kExtension;
    return true;
  }
  if (c == ' ' || c == '\t') {
    state_ = State::kSizeSpace;
    return true;
  }
  const int digit = state_ == State::kSize ? hex_digit(c) : -1;
  if (digit < 0) return failed("invalid byte in chunk length"), false;
  if (left_ >= kMaxChunk >> 4) return failed("chunk length too large"), false;
  left_ = left_ << 4 | static_cast<std::uint64_t>(digit);
  return true;
}

// Trailers are checked for form and dropped: none of them may act as a header.
bool BodyDecoder::trailer_byte(char c) {
  if (++overhead_ > kMaxTrailers) return failed("trailers too long"), false;
  if (state_ == State::kFinalLf || state_ == State::kTrailerLf) {
    if (c != '\n') return failed("malformed trailer"), false;
    state_ = state_ == State::kFinalLf ? State::kDone : State::kTrailerStart;
    return true;
  }
  if (c == '\r') {
    state_ = state_ == State::kTrailerStart ? State::kFinalLf : State::kTrailerLf;
    return true;
  }
  if (!is_text(c)) return failed("malformed trailer"), false;
  state_ = State::kTrailer;
  return true;
}

}  // namespace cardea::http
