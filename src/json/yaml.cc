#include "json/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>
#include <unordered_set>

#include "base/strings.h"
#include "json/noted_paths.h"
#include "json/parse.h"
#include "json/print.h"

namespace cardea::json {
namespace {

std::string without(std::string_view text, char c) {
  std::string out;
  for (char x : text)
    if (x != c) out += x;
  return out;
}

bool one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  for (std::string_view w : words)
    if (w == text) return true;
  return false;
}

// An integer in the given base with its sign, or null.
Value integer(std::string_view digits, int base, bool negative) {
  if (digits.empty()) return {};
  std::uint64_t magnitude = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude,
                                      base);
  if (end != digits.data() + digits.size()) return {};
  if (error != std::errc{} ||
      magnitude > static_cast<std::uint64_t>(INT64_MAX) + (negative ? 1 : 0)) {
    if (base != 10) return {};
    double d = std::strtod(std::string(digits).c_str(), nullptr);
    return std::isfinite(d) ? Value(negative ? -d : d) : Value();
  }
  return negative ? Value(static_cast<std::int64_t>(0 - magnitude))
                  : Value(static_cast<std::int64_t>(magnitude));
}

Value number(std::string_view text) {
  bool negative = text.starts_with('-');
  std::string_view unsigned_text = text.substr(negative || text.starts_with('+') ? 1 : 0);
  std::string plain = without(unsigned_text, '_');
  std::string_view p = plain;
  if (p.empty() || !((p[0] >= '0' && p[0] <= '9') || p[0] == '.')) return {};
  if (p.starts_with("0x")) return integer(p.substr(2), 16, negative);
  if (p.starts_with("0b")) return integer(p.substr(2), 2, negative);
  if (p.starts_with("0o")) return integer(p.substr(2), 8, negative);
  if (p.size() > 1 && p[0] == '0')
    if (Value octal = integer(p.substr(1), 8, negative); !octal.is_null()) return octal;
  if (Value decimal = integer(p, 10, negative); !decimal.is_null()) return decimal;
  if (p.find_first_not_of("0123456789.eE+-") != std::string_view::npos) return {};
  double d = 0;
  auto [end, error] = std::from_chars(p.data(), p.data() + p.size(), d);
  if (error != std::errc{} || end != p.data() + p.size()) return {};
  return negative ? -d : d;
}

// What a plain scalar means.
Result<Value> resolve(std::string_view text) {
  if (one_of(text, {"", "~", "null", "Null", "NULL"})) return Value();
  if (one_of(text, {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"}))
    return Value(true);
  if (one_of(text, {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"}))
    return Value(false);
  if (one_of(text, {".inf", ".Inf", ".INF", "+.inf", "-.inf", ".nan", ".NaN", ".NAN"}))
    return fail(bad_request(cat("yaml: `", text, "` cannot be written in JSON")));
  if (Value n = number(text); !n.is_null()) return n;
  return Value(text);
}

struct Failure {
  std::string message;
};

// Builds the value from the parser's events. An alias shares the value of its anchor; what it would
// print is counted, so that a few lines cannot stand for gigabytes.
class Builder : public YAML::EventHandler {
 public:
  // What files of configuration may not have: merge keys and tags.
  enum class Surprises : std::uint8_t { kTaken, kRefused };
  Builder(std::size_t budget, Surprises surprises) : budget_(budget), surprises_(surprises) {}

  Document take() {
    if (duplicates_.has_more()) throw Failure{"yaml: too many keys are repeated"};
    return {std::move(result_), duplicates_.take(), duplicate_lines_.take()};
  }
  // Where collections in flow style begin that lie in no other, in characters from the beginning.
  const std::vector<std::size_t>& flows() const { return flows_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t anchor) override { add(Value(), anchor, 4); }

  void OnAlias(const YAML::Mark&, YAML::anchor_t anchor) override {
    auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw Failure{"yaml: anchor value contains itself"};
    Anchored anchored = found->second;
    if (!stack_.empty() && is_merge_key()) return merge(anchored.value, anchored.height);
    add(anchored.value, 0, anchored.size, anchored.height);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    if (!is_valid_utf8(text)) throw Failure{"yaml: invalid UTF-8"};
    check_tag(mark, tag);
    std::size_t size = text.size() + 2;
    if (expects_key()) {
      stack_.back().key = key_text(tag, text);
      stack_.back().key_line = mark.line + 1;
      stack_.back().has_key = true;
      spend(size);
      return;
    }
    add(scalar(mark, tag, text), anchor, size);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    check_tag(mark, tag);
    open(false, anchor, mark, style);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    check_tag(mark, tag);
    open(true, anchor, mark, style);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Anchored {
    Value value;
    std::size_t size;
    std::size_t height;  // how many collections lie in one another
  };
  struct Frame {
    bool is_map;
    YAML::anchor_t anchor;
    std::size_t size = 2;
    std::size_t height = 0;  // of the highest value in it
    std::vector<Value> items;
    std::vector<Member> members;
    std::vector<Member> merged;
    std::unordered_set<std::string> seen;
    std::string key;
    bool has_key = false;
    bool is_flow = false;
    int key_line = 0;
  };

  // The reader says `?` where nothing is written, and `!` of what is quoted.
  void check_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (surprises_ == Surprises::kTaken || tag.empty() || tag == "?" || tag == "!") return;
    throw Failure{
        cat("yaml: line ", mark.line + 1, ": tags (!) are not allowed in a configuration file")};
  }

  bool expects_key() const {
    return !stack_.empty() && stack_.back().is_map && !stack_.back().has_key;
  }
  bool is_merge_key() const {
    return stack_.back().is_map && stack_.back().has_key && stack_.back().key == "<<";
  }

  void spend(std::size_t size) {
    if (size > budget_) throw Failure{"yaml: document contains excessive aliasing"};
    budget_ -= size;
    if (!stack_.empty()) stack_.back().size += size;
  }

  static Value scalar(const YAML::Mark&, const std::string& tag, const std::string& text) {
    if (tag == "!" || tag == "tag:yaml.org,2002:str") return text;
    if (tag == "tag:yaml.org,2002:binary") {
      auto bytes = base64_decode(without(without(text, '\n'), ' '));
      if (!bytes || !is_valid_utf8(*bytes))
        throw Failure{"yaml: !!binary value contains invalid base64 data"};
      return *bytes;
    }
    auto value = resolve(text);
    if (!value) throw Failure{value.error().message};
    return *value;
  }

  // Keys of JSON are strings: numbers and booleans are written out.
  static std::string key_text(const std::string& tag, const std::string& text) {
    if (tag == "!" || text == "<<") return text;
    Value v = scalar({}, tag, text);
    if (v.is_null()) throw Failure{"unsupported map key of type: null"};
    return v.is_string() ? std::string(v.as_string()) : print(v);
  }

  // What an alias brings counts as if it were written here.
  void rise(std::size_t height) {
    if (stack_.size() + height > static_cast<std::size_t>(kMaxDepth))
      throw Failure{"yaml: exceeded max depth"};
    if (!stack_.empty()) stack_.back().height = std::max(stack_.back().height, height);
  }

  void merge(const Value& value, std::size_t height) {
    rise(height);
    Frame& frame = stack_.back();
    if (surprises_ == Surprises::kRefused)
      throw Failure{cat("yaml: line ", frame.key_line,
                        ": merge keys (<<) are not allowed in a configuration file")};
    frame.has_key = false;
    auto all = value.is_array() ? value.items() : std::span<const Value>(&value, 1);
    for (const Value& map : all) {
      if (!map.is_object())
        throw Failure{"yaml: map merge requires map or sequence of maps as the value"};
      for (const Member& m : map.members()) {
        spend(print(m.value).size());
        frame.merged.push_back(m);
      }
    }
  }

  void open(bool is_map, YAML::anchor_t anchor, const YAML::Mark& mark,
            YAML::EmitterStyle::value style) {
    const bool is_flow = style == YAML::EmitterStyle::Flow;
    if (is_flow && (stack_.empty() || !stack_.back().is_flow))
      flows_.push_back(static_cast<std::size_t>(mark.pos));
    if (expects_key()) throw Failure{"yaml: keys must be scalars"};
    if (stack_.size() >= static_cast<std::size_t>(kMaxDepth))
      throw Failure{"yaml: exceeded max depth"};
    stack_.push_back(Frame{.is_map = is_map, .anchor = anchor, .is_flow = is_flow});
  }

  void close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    Value value;
    if (frame.is_map) {
      // What is written wins over what is merged in, and an earlier merge over a later one.
      std::vector<Member> members(frame.merged.rbegin(), frame.merged.rend());
      members.insert(members.end(), frame.members.begin(), frame.members.end());
      value = Value::object(std::move(members));
    } else {
      value = Value::array(std::move(frame.items));
    }
    spend(2);
    add(std::move(value), frame.anchor, 0, frame.height + 1);
    if (!stack_.empty()) stack_.back().size += frame.size;
    if (frame.anchor) anchors_[frame.anchor].size = frame.size;
  }

  void add(Value value, YAML::anchor_t anchor, std::size_t size, std::size_t height = 0) {
    spend(size);
    rise(height);
    if (anchor) anchors_[anchor] = {value, size, height};
    if (stack_.empty()) {
      result_ = std::move(value);
      return;
    }
    Frame& frame = stack_.back();
    if (!frame.is_map) return frame.items.push_back(std::move(value));
    if (!frame.has_key) throw Failure{"yaml: keys must be scalars"};
    frame.has_key = false;
    if (frame.key == "<<") {
      frame.has_key = true;
      return merge(value, height);
    }
    if (!frame.seen.insert(frame.key).second) {
      if (duplicates_.has_room()) duplicates_.add(path_to_here());
      if (duplicate_lines_.has_room())
        duplicate_lines_.add(
            cat("line ", frame.key_line, ": key ", quoted(frame.key), " already set in map"));
    }
    frame.members.push_back({frame.key, std::move(value)});
  }

  std::string path_to_here() const {
    std::string path;
    for (const Frame& f : stack_) {
      if (f.is_map)
        path += (path.empty() ? "" : ".") + f.key;
      else
        path += cat("[", f.items.size(), "]");
    }
    return path;
  }

  std::size_t budget_;
  const Surprises surprises_;
  std::vector<std::size_t> flows_;
  std::vector<Frame> stack_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  Value result_;
  NotedPaths duplicates_, duplicate_lines_;
};

// Where two readers of YAML stop at the same place, people know the words of the other.
std::string_view known_wording(std::string_view message) {
  struct Row {
    std::string_view ours, known;
  };
  constexpr Row kRows[] = {
      {"end of sequence flow not found", "did not find expected node content"},
      {"end of map flow not found", "did not find expected ',' or '}'"},
      {"illegal tab when looking for indentation", "found character that cannot start any token"},
      {"unknown token", "found character that cannot start any token"},
      {"end of map not found", "did not find expected key"},
      {"end of sequence not found", "did not find expected '-' indicator"},
      {"illegal map value", "mapping values are not allowed in this context"},
  };
  for (const Row& r : kRows)
    if (r.ours == message) return r.known;
  return message;
}

// Takes a document only if it says nothing.
class NothingMore : public YAML::EventHandler {
 public:
  // The parser stands still before what cannot begin a document, and would for ever.
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (mark.pos <= last_) refuse(mark);
    last_ = mark.pos;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string&) override {
    refuse(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    refuse(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    refuse(mark);
  }
  void OnMapEnd() override {}

 private:
  [[noreturn]] static void refuse(const YAML::Mark& mark) {
    throw Failure{cat("yaml: line ", mark.line + 1,
                      ": the file has more than one document, or something after its end")};
  }

  int last_ = -1;
};

// Refuses a comma before the end of the collection in flow style that begins at `at`. The text was
// parsed before, so that quotes and brackets close.
void check_commas(std::string_view text, std::size_t at) {
  int depth = 0;
  bool is_after_comma = false, is_at_start = true;  // of an entry or a value: where a quote opens a
                                                    // string
  for (std::size_t i = at; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (is_space) continue;
    if (c == '#' && i > at && std::string_view(" \t\n\r").contains(text[i - 1])) {
      i = std::min(text.find('\n', i), text.size()) - 1;
      continue;
    }
    if (is_at_start && (c == '"' || c == '\'')) {
      for (++i; i < text.size() && text[i] != c; ++i)
        if (c == '"' && text[i] == '\\') ++i;
      // Two single quotes inside stand for one: the next round opens the rest as if it were another
      // string.
      is_at_start = c == '\'' && i + 1 < text.size() && text[i + 1] == '\'';
      is_after_comma = false;
      continue;
    }
    const bool closes = c == ']' || c == '}';
    if (closes && is_after_comma)
      throw Failure{
          "yaml: a comma before the end of a list or mapping is not allowed in a configuration "
          "file"};
    if (c == '[' || c == '{') ++depth;
    if (closes && --depth == 0) return;
    is_after_comma = c == ',';
    is_at_start = c == ',' || c == ':' || c == '?' || c == '[' || c == '{';
  }
}

// Refuses characters that end a line for one reader of YAML and not for another, so that what looks
// like a comment is a field: a CR alone, NEL, LS, PS, and control characters.
void check_characters(std::string_view text) {
  // One at the very beginning has been taken off; readers of YAML differ about any other.
  if (text.contains("\xEF\xBB\xBF")) throw Failure{"yaml: a byte order mark inside the file"};
  int line = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const std::string_view rest = text.substr(i);
    if (c == '\n') ++line;
    const bool is_low = static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r';
    const bool is_high = c == '\x7f' ||
                         (c == '\xC2' && static_cast<unsigned char>(text[i + 1]) < 0xA0);
    const bool is_break = (c == '\r' && !rest.starts_with("\r\n")) ||
                          rest.starts_with("\xE2\x80\xA8") || rest.starts_with("\xE2\x80\xA8") ||
                          rest.starts_with("\xE2\x80\xA9");
    if (is_low || is_high || is_break)
      throw Failure{cat("yaml: line ", line, ": control characters are not allowed")};
  }
}

// Refuses a line that ends the document (`...`) with more after it than comments and empty lines.
// The text was parsed before; in a block or a quoted text such a line cannot stand.
void check_end(std::string_view text) {
  bool has_ended = false;
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    std::string_view said = trim(line);
    if (has_ended && !said.empty() && !said.starts_with('#'))
      throw Failure{cat("yaml: line ", number,
                        ": the file has more than one document, or something after its end")};
    has_ended |= line.starts_with("...") && (said.size() == 3 || line[3] == ' ' || line[3] == '\t');
  }
}

std::string_view without_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

// What `read` returns or, as an error, what it throws.
template <typename Read>
Result<Document> guarded(std::string_view text, Read read) {
  try {
    return read();
  } catch (const YAML::Exception& e) {
    // A tab that indents is what people get wrong most, and the reader notices it late.
    auto lines = split(text, '\n');
    auto at = static_cast<std::size_t>(e.mark.line);
    bool is_tab = e.mark.line >= 0 && at < lines.size() && lines[at].starts_with('\t');
    std::string_view why = is_tab ? "found character that cannot start any token"
                                  : known_wording(e.msg);
    return fail(bad_request(cat("yaml: line ", e.mark.line + 1, ": ", why)));
  } catch (const Failure& f) {
    return fail(bad_request(f.message));
  }
}

// Whether YAML reads this value, written as JSON, in the same way. It turns 1.0 into 1, and takes
// `<<` for a merge.
bool means_the_same_in_yaml(const Value& value) {
  if (value.is_double()) return false;
  for (const Value& item : value.items())
    if (!means_the_same_in_yaml(item)) return false;
  for (const Member& member : value.members())
    if (member.key() == "<<" || !means_the_same_in_yaml(member.value)) return false;
  return true;
}

// Most clients that say YAML send JSON, which our own reader reads fifty times faster.
std::optional<Document> read_as_json(std::string_view text) {
  // JSON writes characters beyond 16 bits as two escapes, YAML does not.
  if (!text.starts_with('{') || text.contains("\\u")) return std::nullopt;
  auto document = parse_document(text);
  if (!document || !document->duplicates.empty() || !means_the_same_in_yaml(document->value))
    return std::nullopt;
  return std::move(*document);
}

}  // namespace

Result<Document> parse_yaml(std::string_view text, std::size_t max_bytes) {
  if (auto document = read_as_json(text)) return std::move(*document);
  return guarded(text, [&] {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    Builder builder(max_bytes, Builder::Surprises::kTaken);
    parser.HandleNextDocument(builder);
    return builder.take();
  });
}

bool is_json_configuration(std::string_view text) {
  return trim(without_mark(text)).starts_with('{');
}

Result<Document> parse_configuration(std::string_view text, std::size_t max_bytes, FlowStyle flow) {
  text = without_mark(text);
  if (is_json_configuration(text)) {
    auto document = parse_document(text);
    if (document || flow == FlowStyle::kRefused) return document;
  }
  return guarded(text, [&] {
    if (!is_valid_utf8(text) || text.contains('\0'))
      throw Failure{"yaml: the file is not UTF-8 text"};
    check_characters(text);
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    Builder builder(max_bytes, Builder::Surprises::kRefused);
    parser.HandleNextDocument(builder);
    for (std::size_t at : builder.flows()) check_commas(text, at);
    check_end(text);
    NothingMore rest;
    while (parser.HandleNextDocument(rest)) {
    }
    return builder.take();
  });
}

Result<Value> parse_strict_configuration(std::string_view text, std::size_t max_bytes,
                                         FlowStyle flow) {
  auto document = parse_configuration(text, max_bytes, flow);
  if (!document) return fail(std::move(document.error()));
  if (!document->duplicate_lines.empty())
    return fail(
        bad_request(cat("yaml: unmarshal errors:\n  ", join(document->duplicate_lines, "\n  "))));
  if (!document->duplicates.empty())
    return fail(bad_request(cat("duplicate field ", quoted(document->duplicates[0]))));
  return std::move(document->value);
}

bool yaml_reads_as_string(std::string_view plain) {
  auto resolved = resolve(plain);
  return resolved && resolved->is_string();
}

}  // namespace cardea::json
