#include "json/parse.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ranges>
#include <unordered_set>

#include "base/strings.h"
#include "json/noted_paths.h"

namespace cardea::json {
namespace {

// A recursive descent over the bytes. `error_` is set once; every function then returns at once.
// Hand-written because none of the packaged parsers reports duplicate keys with their paths, keeps
// integers beyond 64 bits as doubles and words its errors as Kubernetes' clients know them.
class Parser {
 public:
  Parser(std::string_view text, int max_depth, bool notes_duplicates)
      : begin_(text.data()),
        at_(begin_),
        end_(begin_ + text.size()),
        max_depth_(max_depth),
        notes_duplicates_(notes_duplicates) {}

  Result<Document> run() {
    Document document;
    document.value = value(0);
    if (error_.empty()) {
      skip_space();
      if (at_ != end_) unexpected("after top-level value");
    }
    if (!error_.empty()) return fail(bad_request(std::move(error_)));
    if (duplicates_.has_more()) return fail(bad_request("too many fields are repeated"));
    document.duplicates = duplicates_.take();
    return document;
  }

 private:
  struct Step {  // one step of the path to the value being read, on the C++ stack
    const Step* parent;
    std::string_view key;
    std::size_t index;
    bool is_index;
  };

  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }

  void set_error(std::string message) {
    if (error_.empty()) error_ = std::move(message);
  }

  void unexpected(std::string_view context) {
    if (at_ == end_) return set_error("unexpected end of JSON input");
    auto c = static_cast<unsigned char>(*at_);
    std::string shown;
    if (c == '\'')
      shown = "'\\''";
    else if (c == '"')
      shown = "'\"'";
    else {
      shown = quoted(std::string_view(at_, 1));
      shown = "'" + shown.substr(1, shown.size() - 2) + "'";
    }
    set_error(cat("invalid character ", shown, " ", context));
  }

  Value value(int depth) {
    skip_space();
    if (at_ == end_) return unexpected(""), Value();
    switch (*at_) {
      case '{':
        return object(depth + 1);
      case '[':
        return array(depth + 1);
      case '"':
        return string();
      case 't':
        return word("true", true);
      case 'f':
        return word("false", false);
      case 'n':
        return word("null", Value());
      default:
        break;
    }
    if (*at_ == '-' || (*at_ >= '0' && *at_ <= '9')) return number();
    return unexpected("looking for beginning of value"), Value();
  }

  Value word(std::string_view expected, Value result) {
    for (std::size_t i = 0; i < expected.size(); ++i, ++at_) {
      if (at_ == end_ || *at_ != expected[i]) {
        unexpected(cat("in literal ", expected, " (expecting '", expected[i], "')"));
        return {};
      }
    }
    return result;
  }

  bool digits() {
    const char* start = at_;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9') ++at_;
    return at_ != start;
  }

  Value number() {
    const char* start = at_;
    bool whole = true;
    if (*at_ == '-') ++at_;
    if (at_ != end_ && *at_ == '0')
      ++at_;
    else if (!digits())
      return unexpected("in numeric literal"), Value();
    if (at_ != end_ && *at_ == '.') {
      whole = false;
      ++at_;
      if (!digits()) return unexpected("after decimal point in numeric literal"), Value();
    }
    if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
      whole = false;
      ++at_;
      if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
      if (!digits()) return unexpected("in exponent of numeric literal"), Value();
    }
    if (whole) {
      std::int64_t i;
      if (std::from_chars(start, at_, i).ec == std::errc{}) return i;
    }
    double d = 0;
    if (std::from_chars(start, at_, d).ec != std::errc{}) {
      // Too small is zero, as everywhere; too large is an error.
      d = std::strtod(std::string(start, at_).c_str(), nullptr);
      if (std::isinf(d))
        set_error(cat("cannot represent number ",
                      std::string_view(start, static_cast<std::size_t>(at_ - start)),
                      " as a 64-bit float"));
    }
    return d;
  }

  static void append_utf8(std::string& out, std::uint32_t code) {
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else if (code < 0x800) {
      out += static_cast<char>(0xC0 | code >> 6);
      out += static_cast<char>(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
      out += static_cast<char>(0xE0 | code >> 12);
      out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
      out += static_cast<char>(0x80 | (code & 0x3F));
    } else {
      out += static_cast<char>(0xF0 | code >> 18);
      out += static_cast<char>(0x80 | (code >> 12 & 0x3F));
      out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
      out += static_cast<char>(0x80 | (code & 0x3F));
    }
  }

  // Four hex digits at at_; sets the error and returns 0 when there are none.
  std::uint32_t hex4() {
    std::uint32_t code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      char c = at_ == end_ ? '\0' : *at_;
      std::uint32_t digit;
      if (c >= '0' && c <= '9')
        digit = static_cast<std::uint32_t>(c - '0');
      else if (c >= 'a' && c <= 'f')
        digit = static_cast<std::uint32_t>(c - 'a' + 10);
      else if (c >= 'A' && c <= 'F')
        digit = static_cast<std::uint32_t>(c - 'A' + 10);
      else
        return unexpected("in \\u hexadecimal character escape"), 0;
      code = code << 4 | digit;
    }
    return code;
  }

  void unicode_escape(std::string& out) {
    std::uint32_t code = hex4();
    if (!error_.empty()) return;
    if (code >= 0xDC00 && code <= 0xDFFF) return set_error("invalid JSON string: lone surrogate");
    if (code >= 0xD800 && code <= 0xDBFF) {
      if (end_ - at_ < 2 || at_[0] != '\\' || at_[1] != 'u')
        return set_error("invalid JSON string: lone surrogate");
      at_ += 2;
      std::uint32_t low = hex4();
      if (!error_.empty()) return;
      if (low < 0xDC00 || low > 0xDFFF) return set_error("invalid JSON string: lone surrogate");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    append_utf8(out, code);
  }

  Value string() {
    ++at_;
    const char* start = at_;
    bool ascii = true;
    while (at_ != end_ && *at_ != '"' && *at_ != '\\' && static_cast<unsigned char>(*at_) >= 0x20) {
      ascii &= static_cast<unsigned char>(*at_) < 0x80;
      ++at_;
    }
    if (at_ != end_ && *at_ == '"') {
      std::string_view text(start, static_cast<std::size_t>(at_ - start));
      ++at_;
      if (!ascii && !is_valid_utf8(text)) set_error("invalid JSON string: invalid UTF-8");
      return text;
    }
    std::string text(start, at_);
    while (at_ != end_ && *at_ != '"') {
      auto c = static_cast<unsigned char>(*at_);
      if (c < 0x20) return unexpected("in string literal"), Value();
      ++at_;
      if (c != '\\') {
        text += static_cast<char>(c);
        continue;
      }
      if (at_ == end_) break;
      constexpr std::string_view kEscapes = "\"\\/bfnrt";
      constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
      if (auto which = kEscapes.find(*at_); which != std::string_view::npos) {
        text += kMeanings[which];
        ++at_;
      } else if (*at_ == 'u') {
        ++at_;
        unicode_escape(text);
      } else {
        unexpected("in string escape code");
      }
      if (!error_.empty()) return {};
    }
    if (at_ == end_) return unexpected(""), Value();
    ++at_;
    if (!is_valid_utf8(text)) set_error("invalid JSON string: invalid UTF-8");
    return text;
  }

  bool too_deep(int depth) {
    if (depth <= max_depth_) return false;
    set_error("exceeded max depth");
    return true;
  }

  Value array(int depth) {
    if (too_deep(depth)) return {};
    ++at_;
    std::vector<Value> items;
    skip_space();
    if (at_ != end_ && *at_ == ']') return ++at_, Value::array();
    Step step{path_, {}, 0, true};
    path_ = &step;
    for (;; ++step.index) {
      items.push_back(value(depth));
      if (!error_.empty()) break;
      skip_space();
      if (at_ != end_ && *at_ == ',') {
        ++at_;
        continue;
      }
      if (at_ != end_ && *at_ == ']')
        ++at_;
      else
        unexpected("after array element");
      break;
    }
    path_ = step.parent;
    return Value::array(std::move(items));
  }

  Value object(int depth) {
    if (too_deep(depth)) return {};
    ++at_;
    std::vector<Member> members;
    skip_space();
    if (at_ != end_ && *at_ == '}') return ++at_, Value::object();
    Step step{path_, {}, 0, false};
    path_ = &step;
    for (;;) {
      skip_space();
      if (at_ == end_ || *at_ != '"') {
        unexpected("looking for beginning of object key string");
        break;
      }
      Value key = string();
      if (!error_.empty()) break;
      skip_space();
      if (at_ == end_ || *at_ != ':') {
        unexpected("after object key");
        break;
      }
      ++at_;
      step.key = key.as_string();
      Value member = value(depth);
      if (!error_.empty()) break;
      members.push_back({std::move(key), std::move(member)});
      skip_space();
      if (at_ != end_ && *at_ == ',') {
        ++at_;
        continue;
      }
      if (at_ != end_ && *at_ == '}')
        ++at_;
      else
        unexpected("after object key:value pair");
      break;
    }
    path_ = step.parent;
    note_duplicates(members);
    return Value::object(std::move(members));
  }

  void note_duplicates(const std::vector<Member>& members) {
    if (!notes_duplicates_) return;
    auto in_order = [](const Member& a, const Member& b) { return a.key() >= b.key(); };
    if (std::ranges::adjacent_find(members, in_order) == members.end())
      return;                    // strictly ascending
    if (members.size() <= 16) {  // comparing is cheaper than a table
      for (auto m = members.begin(); m != members.end(); ++m)
        if (std::any_of(members.begin(), m,
                        [&](const Member& before) { return before.key() == m->key(); }))
          note_duplicate(m->key());
      return;
    }
    std::unordered_set<std::string_view> seen;
    for (const Member& m : members)
      if (!seen.insert(m.key()).second) note_duplicate(m.key());
  }

  void note_duplicate(std::string_view key) {
    if (duplicates_.has_room()) duplicates_.add(path_to(key));
  }

  std::string path_to(std::string_view key) const {
    std::vector<const Step*> steps;
    for (const Step* s = path_; s; s = s->parent) steps.push_back(s);
    std::string path;
    for (const Step* s : std::views::reverse(steps)) {
      if (s->is_index)
        path += cat("[", s->index, "]");
      else
        append_key(path, s->key);
    }
    append_key(path, key);
    return path;
  }

  static void append_key(std::string& path, std::string_view key) {
    if (!path.empty()) path += '.';
    path += key;
  }

  const char* begin_;
  const char* at_;
  const char* end_;
  const int max_depth_;
  const bool notes_duplicates_;
  const Step* path_ = nullptr;
  std::string error_;
  NotedPaths duplicates_;
};

}  // namespace

Result<Document> parse_document(std::string_view text) {
  return Parser(text, kMaxDepth, true).run();
}

Result<Value> parse(std::string_view text, int max_depth) {
  auto document = Parser(text, max_depth, false).run();
  if (!document) return fail(std::move(document.error()));
  return std::move(document->value);
}

}  // namespace cardea::json
