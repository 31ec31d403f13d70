#include "json/patch_error.h"

#include "base/strings.h"

namespace cardea::json {
namespace {

std::string unescaped(std::string_view step) {
  std::string out;
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (step[i] == '~' && i + 1 < step.size() && (step[i + 1] == '0' || step[i + 1] == '1'))
      out += step[++i] == '1' ? '/' : '~';
    else
      out += step[i];
  }
  return out;
}

// What holds the last step of a path, or null.
const Value* holder(const Value& document, std::string_view path, std::string& last) {
  const auto steps = split(path, '/');
  const Value* at = &document;
  for (std::size_t i = 1; i + 1 < steps.size(); ++i) {
    const std::string step = unescaped(steps[i]);
    if (at->is_object())
      at = at->find(step);
    else if (const auto index = parse_int(step); at->is_array() && index && *index >= 0 &&
                                                 static_cast<std::size_t>(*index) < at->size())
      at = &at->items()[static_cast<std::size_t>(*index)];
    else
      at = nullptr;
    if (at == nullptr || at->is_null()) return nullptr;
  }
  last = unescaped(steps.back());
  return at->is_object() || at->is_array() ? at : nullptr;
}

}  // namespace

std::string patch_error(const Value& document, const Value& operation) {
  const std::string_view op = operation["op"].as_string(), path = operation["path"].as_string(),
                         from = operation["from"].as_string();
  std::string key;
  if (op.empty()) return "unable to decode patch: missing op";
  if (operation["path"].is_null())
    return cat(op, " operation failed to decode path: missing value");
  if (op == "move" || op == "copy") {
    const Value* source = holder(document, from, key);
    if (source == nullptr)
      return cat(op, " operation does not apply: doc is missing from path: ", from,
                 ": missing value");
    return cat("error in ", op, " for path: '", key, "': missing value");
  }
  if (op != "add" && op != "remove" && op != "replace" && op != "test")
    return cat("Unexpected kind: ", op);
  const Value* parent = holder(document, path, key);
  if (parent == nullptr) {
    const bool quotes = op == "add" || op == "remove";
    return cat(op, " operation does not apply: doc is missing path: ", quotes ? "\"" : "", path,
               quotes ? "\"" : "", ": missing value");
  }
  if (op == "test") return cat("testing value ", path, " failed: test failed");
  if (op == "replace")
    return cat("replace operation does not apply: doc is missing key: ", path, ": missing value");
  if (op == "remove" && parent->is_object())
    return cat("error in remove for path: '", path, "': Unable to remove nonexistent key: ", key,
               ": missing value");
  const auto index = parse_int(key);
  if (!index)
    return cat("error in ", op, " for path: '", path, "': strconv.Atoi: parsing ", quoted(key),
               ": invalid syntax");
  return cat("error in ", op, " for path: '", path, "': Unable to access invalid index: ", *index,
             ": invalid index referenced");
}

}  // namespace cardea::json
