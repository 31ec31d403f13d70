#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "base/strings.h"
#include "json/parse.h"
#include "schema/ownership/path_hash.h"
#include "schema/wire/decode.h"

namespace cardea::schema {
namespace {

// Walks the keys of a JSON text that is known to be well formed, without recursion. A path is
// known by its PathHash: the paths themselves can be much longer than the text.
class KeyWalker {
 public:
  explicit KeyWalker(std::string_view text) : text_(text) {}

  // Calls `visit(path, offset)` for every key and every array item.
  template <typename Visit>
  void run(Visit visit) {
    while (skip_to_token()) {
      char c = text_[at_];
      if (c == '{' || c == '[') {
        frames_.push_back({path_, 0, c == '['});
        ++at_;
        if (c == '[') enter_item(visit);
      } else if (c == '}' || c == ']') {
        if (frames_.empty()) return;
        path_ = frames_.back().prefix;
        frames_.pop_back();
        ++at_;
      } else if (c == ',') {
        ++at_;
        if (frames_.empty()) return;
        if (frames_.back().is_array) enter_item(visit);
      } else if (c == '"') {
        std::size_t start = at_;
        std::string_view literal = string_literal();
        if (is_key()) enter_key(literal, start, visit);
      } else {
        ++at_;
      }
    }
  }

 private:
  struct Frame {
    PathHash prefix;   // of the path before this object or array
    std::size_t next;  // index of the next item
    bool is_array;
  };

  bool skip_to_token() {
    at_ = text_.find_first_of("{}[],\"", at_);
    return at_ != text_.npos;
  }

  std::string_view string_literal() {
    std::size_t start = at_++;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    ++at_;
    return text_.substr(start, at_ - start);
  }

  bool is_key() {
    if (frames_.empty() || frames_.back().is_array) return false;
    std::size_t next = text_.find_first_not_of(" \t\r\n", at_);
    return next != text_.npos && text_[next] == ':';
  }

  template <typename Visit>
  void enter_item(Visit& visit) {
    Frame& f = frames_.back();
    path_ = f.prefix;
    path_.add(cat("[", f.next++, "]"));
    visit(path_, at_);
  }

  template <typename Visit>
  void enter_key(std::string_view literal, std::size_t start, Visit& visit) {
    path_ = frames_.back().prefix;
    if (!path_.empty()) path_.add(".");
    if (literal.find('\\') == literal.npos) {
      path_.add(literal.substr(1, literal.size() - 2));
    } else if (auto unescaped = json::parse(literal)) {
      path_.add(unescaped->as_string());
    }
    visit(path_, start);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  PathHash path_;
  std::vector<Frame> frames_;
};

}  // namespace

std::vector<std::size_t> order_in_text(std::string_view text, const std::vector<TextPath>& paths) {
  std::vector<std::size_t> order(paths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (text.empty() || paths.size() < 2) return order;
  constexpr std::size_t kNowhere = std::string_view::npos;
  struct Seen {
    std::size_t first = kNowhere, second = kNowhere;
  };
  std::unordered_map<PathHash, Seen> seen;
  std::vector<Seen*> places;
  seen.reserve(paths.size());
  places.reserve(paths.size());
  for (const TextPath& p : paths) places.push_back(&seen[PathHash(p.path)]);
  KeyWalker(text).run([&](PathHash path, std::size_t offset) {
    auto at = seen.find(path);
    if (at == seen.end()) return;
    Seen& s = at->second;
    (s.first == kNowhere ? s.first : s.second) = std::min(s.second, offset);
  });
  auto position = [&](std::size_t i) {
    return paths[i].second ? places[i]->second : places[i]->first;
  };
  std::ranges::stable_sort(order, {}, position);
  return order;
}

}  // namespace cardea::schema
