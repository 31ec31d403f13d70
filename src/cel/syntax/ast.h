#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cel/eval/arena.h"
#include "cel/eval/value.h"

namespace cardea::cel {

// The loops and bindings of macros. They are kept whole and not expanded into accumulators, so that
// they can be run, reduced and printed in their original form.
enum class Macro : std::uint8_t {
  kNone,
  kAll,
  kExists,
  kExistsOne,
  kMap,
  kFilter,  // kMap and the transforms may have a filter
  kTransformList,
  kTransformMap,
  kTransformMapEntry,
  kBind,
  kOptMap,
  kOptFlatMap,
  kSortBy,
  kBlock,
};

// One expression of the source text, as parsed. Lives in its Ast's arena.
struct Expr {
  enum class Kind : std::uint8_t { kLiteral, kIdent, kSelect, kCall, kList, kMap, kStruct, kMacro };
  Kind kind = Kind::kLiteral;
  Macro macro = Macro::kNone;
  bool has = false;       // a select inside has()
  bool optional = false;  // a.?b, a[?b]
  bool absolute = false;  // an identifier written with a leading dot
  std::uint32_t id = 0;
  std::uint32_t position = 0;  // byte offset of the place that an error points at
  std::string_view name;       // identifier, field, function, struct type, macro as written
  Value literal;
  Expr* target = nullptr;  // operand of a select, receiver of a call, range of a macro
  std::span<Expr*> args;   // arguments; elements; keys and values in turn; [filter,] body
  std::span<bool> marked;  // elements, keys or fields written with `?`
  std::span<std::string_view> fields;  // of a struct
  std::string_view var1, var2;         // of a macro
};

struct Issue {
  std::uint32_t position = 0;
  std::string message;
};

// A source text and the offsets of its lines.
class Source {
 public:
  explicit Source(std::string text);
  const std::string& text() const { return text_; }
  // As cel-go prints it: `ERROR: <input>:1:5: message`, the line, and a caret under the place.
  std::string format(const Issue& issue) const;
  std::string format(const std::vector<Issue>& issues) const;
  std::pair<int, int> line_and_column(std::uint32_t position) const;  // both from 1, columns in
                                                                      // code points

 private:
  std::string text_;
};

// A parsed expression. Immutable once made.
struct Ast {
  explicit Ast(std::string text) : source(std::move(text)) {}
  Source source;
  Arena arena;
  Expr* root = nullptr;
  std::uint32_t expressions = 0;  // ids run from 1 to this
};

}  // namespace cardea::cel
