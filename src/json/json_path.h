#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace cardea::json {

// A JSONPath as Kubernetes writes them in printer columns, selectable fields and scale paths:
// `.spec.replicas`, `.metadata.labels['a\.b/c']`, `.items[0]`, `.spec.tags[*]`, `[1:3]`, `..name`,
// `.conditions[?(@.type=="Ready")].status`. Braces around it and a leading `$` are allowed.
//
// Parsed once, then used from any thread. A path that leads nowhere finds nothing; it is never an
// error.
class JsonPath {
 public:
  static Result<JsonPath> parse(std::string_view text);

  // What the path leads to, in document order. The pointers live as long as `root`, unedited.
  std::vector<const Value*> find(const Value& root) const;
  // The first of them, or nullptr.
  const Value* first(const Value& root) const;

  // The names of a path made of plain fields alone (`.spec.replicas` gives spec, replicas); empty
  // otherwise.
  std::vector<std::string> plain_fields() const;

 private:
  struct Step;
  struct Operand;
  class Parser;
  using Steps = std::vector<Step>;

  static void walk(const Steps& steps, std::size_t at, const Value& value,
                   std::vector<const Value*>& out);
  static void walk_all(const Value& value, const Steps& steps, std::size_t at,
                       std::vector<const Value*>& out, int depth);
  static bool accepts(const Step& filter, const Value& item);

  std::shared_ptr<const Steps> steps_;
};

}  // namespace cardea::json
