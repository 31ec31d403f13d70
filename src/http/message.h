#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/peer.h"

namespace cardea::http {

// A view: valid as long as the Headers it came from are not changed.
struct Header {
  std::string_view name;
  std::string_view value;
};

// Header fields in the order they came, names compared without case. A value type in one buffer: a
// cleared one keeps its memory, and a request's whole head costs no allocation the second time.
class Headers {
 public:
  class Iterator {
   public:
    Iterator(const char* at) : at_(at) {}
    Header operator*() const;
    Iterator& operator++();
    bool operator==(const Iterator&) const = default;

   private:
    const char* at_;
  };

  Headers() = default;
  Headers(std::initializer_list<Header> fields) {
    for (const auto& field : fields) add(field.name, field.value);
  }

  // The name must be a token. Control characters in a value are sent as spaces.
  void add(std::string_view name, std::string_view value);
  void set(std::string_view name, std::string_view value);  // replaces all of that name
  void remove(std::string_view name);

  std::string_view get(std::string_view name) const;  // the first; "" when there is none
  std::vector<std::string_view> get_all(std::string_view name) const;
  bool has(std::string_view name) const;

  bool empty() const { return text_.empty(); }
  std::size_t count() const { return count_; }
  void clear();
  void reserve(std::size_t bytes) { text_.reserve(bytes); }
  std::size_t memory() const { return text_.capacity(); }

  Iterator begin() const { return {text_.data()}; }
  Iterator end() const { return {text_.data() + text_.size()}; }

 private:
  std::string text_;  // per field: two 32-bit lengths, the name, the value
  std::size_t count_ = 0;
};

bool is_token(std::string_view text);        // fit for a method or a field name
bool is_field_value(std::string_view text);  // no control characters but tab

// Bytes and the owner that keeps them alive, so that a stored object or an event shared by ten
// thousand watches is sent without a copy. Without an owner the bytes must be static.
struct Piece {
  std::shared_ptr<const void> owner;
  std::string_view bytes;

  static Piece of(std::string text);
  static Piece of(std::shared_ptr<const std::string> text);
  static Piece literal(std::string_view text) { return {nullptr, text}; }
};

// The bytes of an answer, in one or several pieces. One piece needs no allocation.
class Body {
 public:
  Body() = default;
  Body(Piece piece) : first_(std::move(piece)), size_(first_.bytes.size()) {}
  Body(std::string text) : Body(Piece::of(std::move(text))) {}
  Body(const char* literal) : Body(Piece::literal(literal)) {}

  void add(Piece piece);
  std::size_t size() const { return size_; }
  std::size_t pieces() const { return size_ == 0 ? 0 : 1 + rest_.size(); }
  const Piece& piece(std::size_t index) const { return index == 0 ? first_ : rest_[index - 1]; }
  std::string text() const;  // a copy of all of it

 private:
  Piece first_;
  std::vector<Piece> rest_;
  std::size_t size_ = 0;
};

// What a handler keeps of a request from one of its calls to the next.
struct Kept {
  virtual ~Kept() = default;
};

struct Request {
  std::string method;  // "GET"
  std::string target;  // as sent: "/api/v1/pods?watch=1"
  std::string path;    // "/api/v1/pods", still percent-encoded (every escape is well formed)
  std::string query;   // "watch=1", raw
  int minor_version = 1;
  Headers headers;
  std::string body;
  // The body was over the limit. It is not in `body`; the handler still owes an answer, usually
  // 413.
  bool body_too_large = false;
  bool body_withheld = false;  // it was not read: see Handler::wants_body
  bool has_upgrade = false;    // there is an Upgrade header
  // Set by the handler: nobody knows the sender. Over HTTP/2, where one connection can ask for
  // much, the answer is then the last one of its connection.
  bool from_stranger = false;
  std::shared_ptr<const net::Peer> peer;
  std::shared_ptr<Kept> kept = {};  // what the handler found out before the body came
};

// Content-Length, Transfer-Encoding, Connection and Date are added by the server.
struct Response {
  int status = 200;
  Headers headers;
  Body body;
  bool gzip = false;  // the server compresses the body, part by part, and adds the headers that say
                      // so
};

std::string_view status_text(int status);  // "Not Found"; "" when unknown

}  // namespace cardea::http
