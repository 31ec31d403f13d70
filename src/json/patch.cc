#include "json/patch.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/strings.h"
#include "json/edited_object.h"
#include "json/parse.h"
#include "json/print.h"

namespace cardea::json {
std::vector<std::string> pointer_tokens(std::string_view path) {
  std::vector<std::string> tokens;
  path.remove_prefix(path.find('/') + 1);
  for (std::string_view part : split(path, '/')) {
    std::string token;
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (part[i] == '~' && i + 1 < part.size() && (part[i + 1] == '0' || part[i + 1] == '1'))
        token.push_back(part[++i] == '0' ? '~' : '/');
      else
        token.push_back(part[i]);
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

namespace {

// Enough for any patch of an object that fits the request limit; a body made to burn time stops
// here.
constexpr std::size_t kMaxWork = 1 << 25;
constexpr std::size_t kMaxCopied = 3 << 20;  // what all copies together may add, about one request
                                             // body
constexpr std::size_t kItemsPerUnit = 8;     // moving this many items costs as much as visiting one

Error does_not_apply() {
  return Error::of(Reason::kInvalid,
                   "the server rejected our request due to an error in our request")
      .with(ErrorDetails{});
}

// The position an index names, in [0, size). Negative ones count from the end.
std::optional<std::size_t> position(std::string_view token, std::size_t size) {
  if (token.starts_with('+')) token.remove_prefix(1);
  auto index = parse_int(token);
  if (!index) return std::nullopt;
  auto n = static_cast<std::int64_t>(size);
  if (*index < -n || *index >= n) return std::nullopt;
  return static_cast<std::size_t>(*index < 0 ? *index + n : *index);
}

struct Extent {
  std::size_t bytes = 0;
  std::size_t depth = 0;
};

class Patcher {
 public:
  Patcher(const Value& document, Missing missing) : document_(document), missing_(missing) {}

  bool apply(const Value& operation) {
    std::string_view op = operation["op"].as_string();
    const Value* path = operation.find("path");
    if (!path || !path->is_string()) return false;
    const Value& value = operation["value"];
    if (op == "replace" && path->as_string().empty()) {
      document_ = value;
      return true;
    }
    if (!path->as_string().contains('/')) return false;
    auto to = pointer_tokens(path->as_string());
    if (op == "add") return fits(value, to.size()) && add(to, value);
    if (op == "remove") return remove(to);
    if (op == "replace") return fits(value, to.size()) && replace(to, value);
    if (op == "test") return test(to, value);
    if (op != "move" && op != "copy") return false;
    const Value* from_path = operation.find("from");
    if (!from_path || !from_path->as_string().contains('/')) return false;
    auto from = pointer_tokens(from_path->as_string());
    return op == "move" ? move(from, to) : copy(from, to);
  }

  Value take() { return std::move(document_); }

 private:
  using Path = std::vector<std::string>;

  bool spend(std::size_t work) {
    work_ += work;
    return work_ <= kMaxWork;
  }

  // False when the budget ran out on the way.
  bool measure(const Value& value, std::size_t depth, Extent& extent, std::size_t max_bytes) {
    if (!spend(1)) return false;
    extent.depth = std::max(extent.depth, depth);
    extent.bytes += value.is_string() ? value.as_string().size() + 2 : 4;
    if (extent.bytes > max_bytes || depth > kMaxDepth) return false;
    for (const Value& item : value.items())
      if (!measure(item, depth + 1, extent, max_bytes)) return false;
    for (const Member& member : value.members()) {
      extent.bytes += member.key().size() + 3;
      if (!measure(member.value, depth + 1, extent, max_bytes)) return false;
    }
    return true;
  }

  // INVARIANT: the document never grows deeper than what the parser would accept, because
  // everything that walks values recurses.
  bool fits(const Value& value, std::size_t depth) {
    Extent extent;
    return measure(value, depth, extent, SIZE_MAX);
  }

  const Value* find(const Path& path, std::size_t length) {
    const Value* at = &document_;
    for (std::size_t i = 0; i < length; ++i) {
      if (at->is_array()) {
        auto index = position(path[i], at->size());
        if (!index) return nullptr;
        at = &at->items()[*index];
      } else {
        at = at->find(path[i]);
      }
      if (!at) return nullptr;
    }
    return at;
  }

  // The container that holds the last token, ready to be edited; nullptr when there is none.
  Value* container(const Path& path) {
    const Value* found = find(path, path.size() - 1);
    if (!found || !(found->is_object() || found->is_array())) return nullptr;
    Value* at = &document_;
    for (std::size_t i = 0; i + 1 < path.size(); ++i) {
      if (!spend(at->size() / kItemsPerUnit)) return nullptr;
      at = at->is_array() ? &at->item(*position(path[i], at->size())) : &at->member(path[i]);
    }
    return spend(at->size() / kItemsPerUnit) ? at : nullptr;
  }

  // Makes the objects that lead to a place, where nothing is there.
  bool make_way(const Path& path) {
    Value* at = &document_;
    for (std::size_t i = 0; i + 1 < path.size(); ++i) {
      if (!spend(1 + at->size() / kItemsPerUnit)) return false;
      if (at->is_array()) {
        auto index = position(path[i], at->size());
        if (!index) return false;
        at = &at->item(*index);
      } else {
        at = &at->member(path[i]);
      }
      if (at->is_null()) *at = Value::object();
      if (!at->is_object() && !at->is_array()) return false;
    }
    return true;
  }

  bool add(const Path& path, Value value) {
    if (missing_ == Missing::kIsMade && !make_way(path)) return false;
    Value* into = container(path);
    if (!into) return false;
    if (into->is_object()) {
      into->set(path.back(), std::move(value));
      return true;
    }
    std::size_t size = into->size();
    auto index = path.back() == "-" ? std::optional(size) : position(path.back(), size + 1);
    if (!index) return false;
    into->insert_item(*index, std::move(value));
    return true;
  }

  bool replace(const Path& path, const Value& value) {
    if (missing_ == Missing::kIsMade && !make_way(path)) return false;
    Value* into = container(path);
    if (!into) return false;
    if (into->is_object()) {
      into->set(path.back(), value);
      return true;
    }
    auto index = position(path.back(), into->size());
    if (!index) return false;
    into->item(*index) = value;
    return true;
  }

  bool remove(const Path& path) {
    const bool may_be_gone = missing_ == Missing::kIsMade;
    if (may_be_gone && !find(path, path.size())) return true;
    Value* from = container(path);
    if (!from) return false;
    if (from->is_object()) return from->erase(path.back());
    auto index = position(path.back(), from->size());
    if (!index) return false;
    from->erase_item(*index);
    return true;
  }

  bool test(const Path& path, const Value& expected) {
    const Value* holder = find(path, path.size() - 1);
    if (!holder || !(holder->is_object() || holder->is_array())) return false;
    const Value* found = find(path, path.size());
    if (!found) return holder->is_object() && expected.is_null();
    return fits(expected, 0) && *found == expected;
  }

  bool move(const Path& from, const Path& to) {
    const Value* found = find(from, from.size());
    if (!found) return false;
    Value value = *found;
    if (to.size() > from.size() && !fits(value, to.size())) return false;
    return remove(from) && add(to, std::move(value));
  }

  bool copy(const Path& from, const Path& to) {
    const Value* holder = find(from, from.size() - 1);
    if (!holder) return false;
    const Value* found = find(from, from.size());
    if (!found && !holder->is_object()) return false;
    Value value = found ? *found : Value();
    Extent extent;
    if (!measure(value, to.size(), extent, kMaxCopied - copied_)) return false;
    copied_ += extent.bytes;
    return add(to, std::move(value));
  }

  Value document_;
  Missing missing_;
  std::size_t work_ = 0;
  std::size_t copied_ = 0;
};

Result<Value> wrong_shape(const Value& found, std::string_view where, std::string_view wanted) {
  return fail(bad_request(cat("error decoding patch: json: cannot unmarshal ", go_kind(found),
                              " into Go ", where, " of type ", wanted)));
}

Value merge(const Value& target, const Value& patch) {
  if (!patch.is_object()) return patch;
  EditedObject out(target.is_object() ? target : Value::object());
  for (const Member& member : patch.members()) {
    if (member.value.is_null())
      out.erase(member.key());
    else
      out.set(member.key(), merge(target[member.key()], member.value));
  }
  return out.take();
}

}  // namespace

Result<Value> apply_json_patch(const Value& document, const Value& patch, Missing missing) {
  if (!patch.is_array() && !patch.is_null())
    return wrong_shape(patch, "value", "[]handlers.jsonPatchOp");
  if (patch.size() > kMaxPatchOperations)
    return fail(Error::of(
        Reason::kRequestEntityTooLarge,
        cat("Request entity too large: The allowed maximum operations in a JSON patch is ",
            kMaxPatchOperations, ", got ", patch.size())));
  for (const Value& operation : patch.items()) {
    if (!operation.is_object()) return wrong_shape(operation, "value", "handlers.jsonPatchOp");
    for (const char* name : {"op", "path", "from"})
      if (const Value* text = operation.find(name); text && !text->is_string() && !text->is_null())
        return wrong_shape(*text, cat("struct field jsonPatchOp.", name), "string");
  }
  Patcher patcher(document, missing);
  for (const Value& operation : patch.items())
    if (!patcher.apply(operation)) return fail(does_not_apply());
  return patcher.take();
}

Result<Value> apply_merge_patch(const Value& document, const Value& patch) {
  if (patch.is_null()) return fail(bad_request("Invalid JSON Patch"));
  if (!patch.is_object()) return wrong_shape(patch, "value", "map[string]interface {}");
  return merge(document, patch);
}

}  // namespace cardea::json
