#include "schema/custom/object_rules.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/strings.h"
#include "cel/check/schema_types.h"
#include "cel/eval/evaluate.h"
#include "json/print.h"
#include "schema/custom/correlation.h"
#include "schema/custom/rule_compiler.h"

namespace cardea::schema {

using json::FieldError;
using json::Member;
using json::Value;

// A node of the schema that has rules at or below it.
struct RuleNode {
  Value schema;
  bool root = false;
  std::string error;  // rules stand where nothing can be compiled
  std::vector<CompiledRule> rules;
  std::unique_ptr<RuleNode> items, additional;
  std::map<std::string, std::unique_ptr<RuleNode>, std::less<>> properties;
  std::vector<std::unique_ptr<RuleNode>> all_of;
};

namespace {

constexpr std::size_t kMessageLimit = 5 * 1024;
constexpr std::string_view kOverBudget =
    "validation failed due to running out of cost budget, no further validation rules will be run";

bool is_embedded(const Value& schema) {
  return schema["x-kubernetes-embedded-resource"].as_bool();
}

// Rules written at `source` (a node, or a part of its allOf) for data of the node `schema`.
std::unique_ptr<RuleNode> build(const Value& source, const Value& schema, bool root) {
  auto node = std::make_unique<RuleNode>();
  node->schema = schema;
  node->root = root;
  if (const Value& rules = source["x-kubernetes-validations"]; !rules.empty()) {
    RuleCompiler compiler(schema, root);
    if (!compiler.has_type())
      node->error = "failed to convert to declType for CEL validation rules";
    else
      for (const Value& rule : rules.items()) node->rules.push_back(compiler.compile(rule));
  }
  const auto below = [](const Value& part, const Value& data) {
    return build(part, data, is_embedded(data));
  };
  if (source["items"].is_object() && schema["items"].is_object())
    node->items = below(source["items"], schema["items"]);
  if (source["additionalProperties"].is_object() && schema["additionalProperties"].is_object())
    node->additional = below(source["additionalProperties"], schema["additionalProperties"]);
  for (const Member& m : source["properties"].members())
    if (const Value* data = schema["properties"].find(m.key()))
      if (auto made = below(m.value, *data))
        node->properties[std::string(m.key())] = std::move(made);
  for (const Value& part : source["allOf"].items())
    if (auto made = build(part, schema, root)) node->all_of.push_back(std::move(made));
  const bool empty = node->rules.empty() && node->error.empty() && !node->items &&
                     !node->additional && node->properties.empty() && node->all_of.empty();
  return empty ? nullptr : std::move(node);
}

std::string_view shown_rule(const Value& rule) {
  const std::string_view message = rule["message"].as_string();
  return trim(message.empty() ? rule["rule"].as_string() : message);
}

class Run {
 public:
  Run(ObjectRules::Outcome& out) : out_(out), evaluation_({.cost = ObjectRules::kCallLimit}) {}

  // False when nothing more may be evaluated.
  bool visit(const RuleNode& node, const std::string& path, const Value& value, const Value* old,
             const Ratchet& ratchet) {
    if (value.is_null()) return true;
    if (old != nullptr && old->is_null()) old = nullptr;
    if (!expressions(node, path, value, old, ratchet)) return false;
    for (const auto& part : node.all_of)
      if (!visit(*part, path, value, old, ratchet.uncorrelated())) return false;
    if (value.is_array()) return array(node, path, value, old, ratchet);
    if (value.is_object()) return object(node, path, value, old, ratchet);
    return true;
  }

 private:
  bool give_up() {
    out_.budget = -1;
    return false;
  }

  bool object(const RuleNode& node, const std::string& path, const Value& value, const Value* old,
              const Ratchet& ratchet) {
    const auto before = [&](std::string_view key) {
      return old != nullptr ? old->find(key) : nullptr;
    };
    if (node.additional)
      for (const Member& m : value.members())
        if (!visit(*node.additional, cat(path, "[", m.key(), "]"), m.value, before(m.key()),
                   ratchet.key(m.key())))
          return false;
    for (const auto& [name, below] : node.properties)
      if (const Value* v = value.find(name))
        if (!visit(*below, path.empty() ? name : cat(path, ".", name), *v, before(name),
                   ratchet.key(name)))
          return false;
    return true;
  }

  bool array(const RuleNode& node, const std::string& path, const Value& value, const Value* old,
             const Ratchet& ratchet) {
    if (!node.items) return true;
    const KeyedItems old_items(node.schema, old != nullptr ? *old : Value());
    for (std::size_t i = 0; i < value.size(); ++i) {
      const Value* before = old_items.find(value[i]);
      if (!visit(*node.items, cat(path, "[", i, "]"), value[i], before,
                 ratchet.item(value[i], before)))
        return false;
    }
    return true;
  }

  bool expressions(const RuleNode& node, const std::string& path, const Value& value,
                   const Value* old, const Ratchet& ratchet) {
    const Value& type = node.schema["type"];
    const auto wrong = [&](std::string detail) {
      out_.errors.push_back(
          json::invalid(path, type.is_null() ? Value("") : type, std::move(detail)));
    };
    if (!node.error.empty()) wrong(cat("rule compiler initialization error: ", node.error));
    if (node.rules.empty()) return true;
    if (out_.budget <= 0) {
      wrong(std::string(kOverBudget));
      return give_up();
    }
    cel::Arena arena;
    cel::Frame frame(arena);
    const bool wants_old = std::ranges::any_of(node.rules, &CompiledRule::uses_old);
    cel::Value variables[2];
    variables[kSelfSlot] = cel::typed_value(frame, value, node.schema, node.root);
    cel::Value old_value, optional_old = cel::Value::none();
    if (wants_old && old != nullptr) {
      old_value = cel::typed_value(frame, *old, node.schema, node.root);
      optional_old = cel::Value::some(&old_value);
    }
    for (const CompiledRule& rule : node.rules) {
      if (!rule.error.empty()) {
        wrong(cat("rule compile error: ", rule.error));
        continue;
      }
      if (rule.rule == nullptr || (rule.uses_old && old == nullptr && !rule.optional_old)) continue;
      variables[kOldSelfSlot] = rule.optional_old ? optional_old : old_value;
      if (!run(node, rule, variables, path, value, ratchet, wrong)) return give_up();
    }
    return true;
  }

  // Takes what the last evaluation cost; false when that was more than there was.
  bool pay() {
    const std::uint64_t cost = evaluation_.cost();
    if (cost > static_cast<std::uint64_t>(out_.budget)) return false;
    out_.budget -= static_cast<std::int64_t>(cost);
    return true;
  }

  bool run(const RuleNode& node, const CompiledRule& rule, std::span<const cel::Value> variables,
           const std::string& path, const Value& value, const Ratchet& ratchet, const auto& wrong) {
    const cel::Value result = evaluation_.run(*rule.rule, variables);
    if (!pay()) {
      wrong(std::string(kOverBudget));
      return false;
    }
    if (result.is_error()) {
      const std::string_view why = result.error->message;
      const std::string_view shown = shown_rule(rule.source);
      if (why.starts_with("no such overload")) {
        wrong(cat("'", why,
                  "': call arguments did not match a supported operator, function or macro "
                  "signature for rule: ",
                  shown));
      } else if (why.starts_with("operation cancelled")) {
        wrong(cat(
            "'", why,
            "': no further validation rules will be run due to call cost exceeds limit for rule: ",
            shown));
        return false;
      } else {
        wrong(cat(why, " evaluating rule: ", shown));
      }
      return true;
    }
    if (result.is_true()) return true;
    const std::string at = rule.field_path.empty() ? path
                           : path.empty()          ? rule.field_path
                                                   : cat(path, ".", rule.field_path);
    const auto report = [&](FieldError e) {
      if (!rule.uses_old && ratchet.is_unchanged())
        out_.warnings.push_back(e.message());
      else
        out_.errors.push_back(std::move(e));
    };
    std::string detail = rule.source["message"].as_string().empty()
                             ? cat("failed rule: ", shown_rule(rule.source))
                             : std::string(shown_rule(rule.source));
    if (rule.message != nullptr) {
      const Message made = message(rule, variables);
      if (!made.fatal.empty()) {
        report(json::invalid(at, node.schema["type"], made.fatal));
        return false;
      }
      if (made.text) detail = *made.text;
    }
    report(failed(rule, node, at, value, std::move(detail)));
    return true;
  }

  struct Message {
    std::optional<std::string> text;
    std::string fatal;  // evaluation ends with it
  };
  // A message that cannot be made falls back to the one that is written.
  Message message(const CompiledRule& rule, std::span<const cel::Value> variables) {
    const cel::Value result = evaluation_.run(*rule.message, variables);
    if (!pay())
      return {{},
              "messageExpression evaluation failed due to running out of cost budget, no further "
              "validation rules will be run"};
    if (result.is_error()) {
      if (!result.error->message.starts_with("operation cancelled")) return {};
      return {{},
              cat("no further validation rules will be run due to call cost exceeds limit for "
                  "messageExpression: ",
                  quoted(rule.source["messageExpression"].as_string()))};
    }
    if (!result.is_string()) return {};
    const std::string_view text = trim(result.string());
    if (text.empty() || text.size() > kMessageLimit || text.find('\n') != text.npos) return {};
    return {std::string(text), {}};
  }

  static FieldError failed(const CompiledRule& rule, const RuleNode& node, const std::string& at,
                           const Value& value, std::string detail) {
    const std::string_view reason = rule.source["reason"].as_string();
    if (reason == "FieldValueForbidden") return json::forbidden(at, std::move(detail));
    if (reason == "FieldValueRequired") return json::required(at, std::move(detail));
    FieldError e = reason == "FieldValueDuplicate" ? json::duplicate(at, value)
                                                   : json::invalid(at, value, std::move(detail));
    const std::string_view type = node.schema["type"].as_string();
    e.has_value = type != "object" && type != "array";
    return e;
  }

  ObjectRules::Outcome& out_;
  cel::Evaluation evaluation_;
};

}  // namespace

ObjectRules::ObjectRules(Value open_api, bool root) : open_api_(std::move(open_api)), root_(root) {}
ObjectRules::~ObjectRules() = default;

bool ObjectRules::any_in(const Value& s) {
  if (!s.is_object()) return false;
  if (!s["x-kubernetes-validations"].empty() || any_in(s["items"]) ||
      any_in(s["additionalProperties"]))
    return true;
  return std::ranges::any_of(s["properties"].members(),
                             [](const Member& m) { return any_in(m.value); });
}

const RuleNode* ObjectRules::tree() const {
  std::call_once(once_, [this] { tree_ = build(open_api_, open_api_, root_); });
  return tree_.get();
}

ObjectRules::Outcome ObjectRules::check(const Value& value, const Value* old, bool ratchet,
                                        const std::string& base, std::int64_t budget) const {
  Outcome out;
  out.budget = budget;
  if (const RuleNode* node = tree())
    Run(out).visit(*node, base, value, old,
                   ratchet && old != nullptr ? Ratchet(value, *old, open_api_) : Ratchet());
  return out;
}

}  // namespace cardea::schema
