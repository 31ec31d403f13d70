#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"
#include "net/connection.h"

namespace cardea::http {

// What a connection still has to send: framing and small pieces copied together, large pieces by
// reference. It holds memory only while something is pending. Loop thread only.
class Output {
  struct Segment {
    std::shared_ptr<const void> owner;
    const char* data = nullptr;  // null: `size` bytes of the text at `offset`
    std::size_t size = 0;
    std::size_t offset = 0;
  };

 public:
  // Buffers that the connections of one loop lend each other.
  struct Memory {
    std::string text;
    std::vector<Segment> segments;
  };

  explicit Output(Memory& spare) : spare_(spare) {}

  std::size_t pending() const { return pending_; }

  void append(std::string_view bytes);  // copied
  void append(const Piece& piece);      // copied only when small
  // For writing framing in place; the caller appends to it and then calls wrote().
  std::string& text();
  void wrote();

  // Writes until all is sent or the connection takes no more. kWouldBlock: not a byte went.
  net::Io flush(net::Connection& connection);
  void clear();

 private:
  void borrow_memory();
  void take(std::size_t bytes);
  void compact();

  Memory& spare_;
  std::string text_;
  std::vector<Segment> segments_;
  std::size_t text_end_ = 0;  // bytes of text_ that segments speak for
  std::size_t first_ = 0;     // the first segment not wholly sent
  std::size_t taken_ = 0;     // bytes of it that are sent
  std::size_t pending_ = 0;
};

}  // namespace cardea::http
