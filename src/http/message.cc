#include "http/message.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/strings.h"

namespace cardea::http {
namespace {

struct Lengths {
  std::uint32_t name;
  std::uint32_t value;
};

// Room for the fields of an ordinary answer, so that adding them does not move them again and
// again.
constexpr std::size_t kFirstFields = 240;

Lengths lengths_at(const char* at) {
  Lengths lengths;
  std::memcpy(&lengths, at, sizeof lengths);
  return lengths;
}

constexpr std::array<bool, 256> make_token_table() {
  std::array<bool, 256> table{};
  for (int c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (char c : std::string_view("!#$%&'*+-.^_`|~")) table[static_cast<unsigned char>(c)] = true;
  return table;
}
constexpr auto kTokens = make_token_table();

struct StatusText {
  int status;
  std::string_view text;
};
constexpr StatusText kStatusTexts[] = {
    {100, "Continue"},
    {101, "Switching Protocols"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {203, "Non-Authoritative Information"},
    {204, "No Content"},
    {205, "Reset Content"},
    {206, "Partial Content"},
    {300, "Multiple Choices"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Request Entity Too Large"},
    {414, "Request URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Entity"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
};

}  // namespace

Header Headers::Iterator::operator*() const {
  const Lengths lengths = lengths_at(at_);
  const char* name = at_ + sizeof(Lengths);
  return {{name, lengths.name}, {name + lengths.name, lengths.value}};
}

Headers::Iterator& Headers::Iterator::operator++() {
  const Lengths lengths = lengths_at(at_);
  at_ += sizeof(Lengths) + lengths.name + lengths.value;
  return *this;
}

void Headers::add(std::string_view name, std::string_view value) {
  const Lengths lengths{static_cast<std::uint32_t>(name.size()),
                        static_cast<std::uint32_t>(value.size())};
  if (text_.empty()) text_.reserve(kFirstFields);
  text_.append(reinterpret_cast<const char*>(&lengths), sizeof lengths);
  text_.append(name);
  text_.append(value);
  ++count_;
}

void Headers::set(std::string_view name, std::string_view value) {
  remove(name);
  add(name, value);
}

void Headers::remove(std::string_view name) {
  for (std::size_t at = 0; at < text_.size();) {
    const Header field = *Iterator(text_.data() + at);
    const std::size_t size = sizeof(Lengths) + field.name.size() + field.value.size();
    if (equals_ignoring_case(field.name, name)) {
      text_.erase(at, size);
      --count_;
    } else {
      at += size;
    }
  }
}

std::string_view Headers::get(std::string_view name) const {
  for (const auto& field : *this)
    if (field.name.size() == name.size() && equals_ignoring_case(field.name, name))
      return field.value;
  return {};
}

std::vector<std::string_view> Headers::get_all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& field : *this)
    if (equals_ignoring_case(field.name, name)) values.push_back(field.value);
  return values;
}

bool Headers::has(std::string_view name) const {
  for (const auto& field : *this)
    if (equals_ignoring_case(field.name, name)) return true;
  return false;
}

void Headers::clear() {
  text_.clear();
  count_ = 0;
}

bool is_token(std::string_view text) {
  if (text.empty()) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return kTokens[static_cast<unsigned char>(c)]; });
}

bool is_field_value(std::string_view text) {
  bool is_good = true;  // all bytes are looked at, many at once
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    is_good &= ((byte >= 0x20) & (byte != 0x7f)) | (byte == '\t');
  }
  return is_good;
}

Piece Piece::of(std::string text) {
  return of(std::make_shared<const std::string>(std::move(text)));
}

Piece Piece::of(std::shared_ptr<const std::string> text) {
  const std::string_view bytes = *text;
  return {std::move(text), bytes};
}

void Body::add(Piece piece) {
  if (piece.bytes.empty()) return;
  const std::size_t size = piece.bytes.size();
  if (size_ == 0)
    first_ = std::move(piece);
  else
    rest_.push_back(std::move(piece));
  size_ += size;
}

std::string Body::text() const {
  std::string out;
  out.reserve(size_);
  for (std::size_t i = 0; i < pieces(); ++i) out += piece(i).bytes;
  return out;
}

std::string_view status_text(int status) {
  const auto* found = std::lower_bound(
      std::begin(kStatusTexts), std::end(kStatusTexts), status,
      [](const StatusText& entry, int wanted) { return entry.status < wanted; });
  return found != std::end(kStatusTexts) && found->status == status ? found->text
                                                                    : std::string_view();
}

}  // namespace cardea::http
