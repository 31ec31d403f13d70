#include "schema/custom/validate.h"

#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "base/strings.h"
#include "json/print.h"
#include "schema/custom/formats.h"
#include "schema/custom/object_rules.h"
#include "schema/custom/rules.h"

namespace cardea::schema {
namespace {

using json::FieldError;
using json::FieldErrors;
using json::Member;
using json::Value;

std::string_view type_name(const Value& v) {
  switch (v.kind()) {
    case Value::Kind::kBool:
      return "boolean";
    case Value::Kind::kInt:
      return "integer";
    case Value::Kind::kDouble:
      return "number";
    case Value::Kind::kString:
      return "string";
    case Value::Kind::kArray:
      return "array";
    case Value::Kind::kObject:
      return "object";
    default:
      return "null";
  }
}

std::string_view format_of(const Value& v) {
  return v.is_int() ? "int64" : v.is_double() ? "float64" : "";
}

bool is_whole(double d) {
  return std::isfinite(d) && std::nearbyint(d) == d && std::fabs(d) < 9007199254740992.0;
}

std::size_t runes(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

bool same_number(const Value& a, const Value& b) {
  return a.is_number() && b.is_number() && (a == b || a.as_double() == b.as_double());
}

// What came out of checking one node: errors, what was let pass, and how many checks went well. The
// last decides whose errors are shown when no alternative of anyOf or oneOf fits.
struct Outcome {
  FieldErrors errors, ratcheted;
  int matches = 0;

  void merge(Outcome&& other) {
    if (errors.empty())
      errors = std::move(other.errors);
    else
      std::ranges::move(other.errors, std::back_inserter(errors));
    if (ratcheted.empty())
      ratcheted = std::move(other.ratcheted);
    else
      std::ranges::move(other.ratcheted, std::back_inserter(ratcheted));
    matches += other.matches;
  }
  bool valid() const { return errors.empty(); }
};

class Validator {
 public:
  explicit Validator(std::string_view base) : base_(base) {}

  // The value of a field, an item or the root: this is where an unchanged value is let pass.
  Outcome node(const Schema& s, const Value& v, const Value* old) {
    if (!s.rules) return {};
    if (named_ > kMostNamed) {
      // Not looked at is not valid.
      Outcome out;
      add_general(out, "there are more errors than can be named");
      return out;
    }
    Outcome out = check(s, v, old);
    if (!out.valid() && old && *old == v) {
      std::ranges::move(out.errors, std::back_inserter(out.ratcheted));
      out.errors.clear();
    }
    return out;
  }

 private:
  // The field an error names: the path below the base. A path may begin with a dot, messages keep
  // it.
  std::string field() const { return field(path_); }
  std::string field(std::string_view path) const {
    named_ += path.size() + 1;
    if (path.starts_with('.')) path.remove_prefix(1);
    if (base_.empty() || path.empty()) return std::string(path.empty() ? base_ : path);
    return cat(base_, ".", path);
  }

  void add(Outcome& out, Value value, std::string_view message) {
    out.errors.push_back(
        json::invalid(field(), std::move(value), cat(path_, " in body ", message)));
  }
  // An error about no field in particular, the way Kubernetes reports it: at the base, with an
  // empty value.
  void add_general(Outcome& out, std::string message) {
    out.errors.push_back(json::invalid(base_, "", std::move(message)));
  }

  Outcome check(const Schema& s, const Value& v, const Value* old) {
    const ValueRules& r = *s.rules;
    Outcome out;
    if (v.is_null()) {
      if (check_type(s, v, out)) ++out.matches;
      check_enum(s, v, out);
      return out;
    }
    if (!r.type.empty() || !r.format_name.empty()) {
      if (check_type(s, v, out)) ++out.matches;
      ++out.matches;
    }
    check_alternatives(s, v, out);
    if (v.is_string()) {
      check_string(r, v, out);
      ++out.matches;
      if (r.format) {
        if (!r.format->accepts(v.as_string())) wrong_type(out, r.format_name, v.as_string());
        ++out.matches;
      }
    } else if (v.is_number()) {
      check_number(r, v, out);
      out.matches += 2;
    } else if (v.is_array()) {
      check_array(s, v, old, out);
      out.matches += 2;
    }
    check_enum(s, v, out);
    ++out.matches;
    if (v.is_object()) {
      check_object(s, v, old, out);
      ++out.matches;
    }
    ++out.matches;
    return out;
  }

  void wrong_type(Outcome& out, std::string_view wanted, std::string_view found) {
    out.errors.push_back(json::type_invalid(
        field(), found, cat(path_, " in body must be of type ", wanted, ": ", quoted(found))));
  }

  bool check_type(const Schema& s, const Value& v, Outcome& out) {
    const ValueRules& r = *s.rules;
    if (v.is_null()) {
      if (r.type.empty() || s.nullable) return true;
      wrong_type(out, r.type, "null");
      return false;
    }
    if (fits(s, v)) return true;
    bool scalar = !v.is_string() && !v.is_array();
    if (!r.format_name.empty() && scalar)
      wrong_type(out, r.format_name, format_of(v));
    else if (!r.type.empty())
      wrong_type(out, r.type, type_name(v));
    else
      return true;
    return false;
  }

  static bool fits(const Schema& s, const Value& v) {
    switch (s.type) {
      case Schema::Type::kAny:
        return s.rules->format_name.empty() || v.is_string() || v.is_array();
      case Schema::Type::kBoolean:
        return v.is_bool();
      case Schema::Type::kInteger:
        return v.is_int() || (v.is_double() && is_whole(v.as_double()));
      case Schema::Type::kNumber:
        return v.is_number();
      case Schema::Type::kString:
        return v.is_string();
      case Schema::Type::kObject:
        return v.is_object();
      case Schema::Type::kArray:
        return v.is_array();
      case Schema::Type::kIntOrString:
        return v.is_string() || v.is_int() || (v.is_double() && is_whole(v.as_double()));
    }
    return false;
  }

  // Kubernetes does not compare with the old value below a junctor.
  void check_alternatives(const Schema& s, const Value& v, Outcome& out) {
    out.matches += 2;
    if (!s.any_of.empty()) check_any_of(s, v, out);
    if (!s.one_of.empty()) check_one_of(s, v, out);
    if (!s.all_of.empty()) {
      std::size_t fitting = 0;
      for (const Schema* part : s.all_of) {
        Outcome result = check(*part, v, nullptr);
        fitting += result.valid();
        out.merge(std::move(result));
      }
      if (fitting != s.all_of.size())
        add_general(out, cat(quoted(path_), " must validate all the schemas (allOf)",
                             fitting ? "" : ". None validated"));
    }
    if (s.negated && check(*s.negated, v, nullptr).valid())
      add_general(out, cat(quoted(path_), " must not validate the schema (not)"));
  }

  void check_any_of(const Schema& s, const Value& v, Outcome& out) {
    Outcome best;
    bool have_best = false;
    for (const Schema* part : s.any_of) {
      Outcome result = check(*part, v, nullptr);
      if (result.valid()) return out.merge(std::move(result));
      if (have_best && result.matches <= best.matches) continue;
      best = std::move(result);
      have_best = true;
    }
    add_general(out, cat(quoted(path_), " must validate at least one schema (anyOf)"));
    out.merge(std::move(best));
  }

  void check_one_of(const Schema& s, const Value& v, Outcome& out) {
    Outcome best, first;
    bool have_best = false;
    int fitting = 0;
    for (const Schema* part : s.one_of) {
      Outcome result = check(*part, v, nullptr);
      if (result.valid()) {
        if (fitting++ == 0) first = std::move(result);
        have_best = false;
        best = {};
      } else if (fitting == 0 && (!have_best || result.matches > best.matches)) {
        best = std::move(result);
        have_best = true;
      }
    }
    if (fitting == 1) return out.merge(std::move(first));
    add_general(out,
                cat(quoted(path_), " must validate one and only one schema (oneOf). ",
                    fitting ? cat("Found ", fitting, " valid alternatives") : "Found none valid"));
    if (have_best) out.merge(std::move(best));
  }

  // Of several faults of a text the first is reported.
  void check_string(const ValueRules& r, const Value& v, Outcome& out) {
    std::string_view text = v.as_string();
    if (r.max_length &&
        runes(text) > static_cast<std::size_t>(std::max<std::int64_t>(*r.max_length, 0)))
      out.errors.push_back(json::too_long(field(), static_cast<int>(*r.max_length)));
    else if (r.min_length && static_cast<std::int64_t>(runes(text)) < *r.min_length)
      add(out, v, cat("should be at least ", *r.min_length, " chars long"));
    else if (r.regex &&
             !re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *r.regex))
      add(out, v, cat("should match '", r.pattern, "'"));
  }

  // Whether a number can be held by the type and format of the schema.
  static bool in_range(const ValueRules& r, const Value& v) {
    if (r.type == "integer") {
      if (v.is_double() && !is_whole(v.as_double()) &&
          !(std::fabs(v.as_double()) < 9.2e18 && std::nearbyint(v.as_double()) == v.as_double()))
        return false;
      return r.format_name != "int32" || (v.as_double() >= INT32_MIN && v.as_double() <= INT32_MAX);
    }
    return r.format_name != "float" || std::fabs(v.as_double()) <= 3.4028234663852886e38;
  }

  bool check_range(const ValueRules& r, const Value& v, std::string_view what, Outcome& out) {
    if (in_range(r, v)) return true;
    add_general(out, r.format_name.empty() ? cat(what, " value must be of type ", r.type,
                                                 " (default format) in ", path_)
                                           : cat(what, " value must be of type ", r.type,
                                                 " with format ", r.format_name, " in ", path_));
    return false;
  }

  void check_number(const ValueRules& r, const Value& v, Outcome& out) {
    check_range(r, v, "Checked", out);
    // A bound is compared and shown as an integer when value and bound are.
    auto bound = [&](double b, std::string_view what) {
      return check_range(r, b, what, out) && v.is_int()
                 ? std::to_string(static_cast<std::int64_t>(b))
                 : go_float(b);
    };
    if (r.multiple_of) check_multiple(r, v, out);
    double d = v.as_double();
    if (r.minimum) {
      std::string shown = bound(*r.minimum, "Minimum boundary");
      if (r.exclusive_minimum ? d <= *r.minimum : d < *r.minimum)
        add(out, v,
            cat("should be greater than ", r.exclusive_minimum ? "" : "or equal to ", shown));
    }
    if (r.maximum) {
      std::string shown = bound(*r.maximum, "Maximum boundary");
      if (r.exclusive_maximum ? d >= *r.maximum : d > *r.maximum)
        add(out, v, cat("should be less than ", r.exclusive_maximum ? "" : "or equal to ", shown));
    }
  }

  void check_multiple(const ValueRules& r, const Value& v, Outcome& out) {
    // Kubernetes cuts the factor to an integer for integers, and then finds fault with a fraction.
    bool integers = check_range(r, *r.multiple_of, "MultipleOf", out) && v.is_int();
    Value factor = integers ? Value(static_cast<std::int64_t>(*r.multiple_of))
                            : Value(*r.multiple_of);
    std::string shown = integers ? std::to_string(factor.as_int()) : go_float(factor.as_double());
    if (factor.as_double() <= 0) {
      out.errors.push_back(json::invalid(
          field(), factor,
          cat("factor MultipleOf declared for ", path_, " must be positive: ", shown)));
      return;
    }
    double d = factor.as_double();
    bool fits = integers ? v.as_int() % factor.as_int() == 0
                         : is_whole(d < 1 ? 1 / d * v.as_double() : v.as_double() / d);
    if (!fits) add(out, v, cat("should be a multiple of ", shown));
  }

  void check_array(const Schema& s, const Value& v, const Value* old, Outcome& out) {
    auto items = v.items();
    if (s.items) {
      OldItems old_items(s, old);
      std::size_t length = path_.size();
      for (std::size_t i = 0; i < items.size(); ++i) {
        path_ += cat("[", i, "]");
        out.merge(node(*s.items, items[i], old_items.of(items[i])));
        path_.resize(length);
      }
    }
    const ValueRules& r = *s.rules;
    auto size = static_cast<std::int64_t>(items.size());
    if (r.min_items && size < *r.min_items)
      add(out, size, cat("should have at least ", *r.min_items, " items"));
    if (r.max_items && size > *r.max_items)
      out.errors.push_back(
          json::too_many(field(), static_cast<int>(size), static_cast<int>(*r.max_items)));
    if (r.unique_items && has_duplicates(items)) add(out, "", "shouldn't contain duplicates");
  }

  static bool has_duplicates(std::span<const Value> items) {
    std::unordered_set<std::string> seen;
    return std::ranges::any_of(items,
                               [&](const Value& v) { return !seen.insert(json::print(v)).second; });
  }

  // The items of the old list by their map keys.
  class OldItems {
   public:
    OldItems(const Schema& s, const Value* old) : schema_(s) {
      if (!old || s.list_type != Schema::ListType::kMap) return;
      for (const Value& item : old->items()) by_key_.emplace(key(item), &item);
    }
    const Value* of(const Value& item) const {
      if (by_key_.empty()) return nullptr;
      auto at = by_key_.find(key(item));
      return at == by_key_.end() ? nullptr : at->second;
    }

   private:
    std::string key(const Value& item) const {
      std::string out;
      for (const std::string& k : schema_.map_keys) out += json::print(item[k]) + ",";
      return out;
    }
    const Schema& schema_;
    std::unordered_map<std::string, const Value*> by_key_;
  };

  void check_enum(const Schema& s, const Value& v, Outcome& out) {
    if (s.enumeration.empty()) return;
    for (const Value& allowed : s.enumeration)
      if (!allowed.is_null() && (allowed == v || same_number(allowed, v))) return;
    std::vector<std::string> names;
    for (const Value& allowed : s.enumeration)
      names.push_back(allowed.is_string() ? std::string(allowed.as_string())
                                          : json::print(allowed));
    out.errors.push_back(json::not_supported(field(), v, names));
  }

  void check_object(const Schema& s, const Value& v, const Value* old, Outcome& out) {
    const ValueRules& r = *s.rules;
    auto size = static_cast<std::int64_t>(v.size());
    if (r.min_properties && size < *r.min_properties)
      add(out, size, cat("should have at least ", *r.min_properties, " properties"));
    if (r.max_properties && size > *r.max_properties)
      out.errors.push_back(
          json::too_many(field(), static_cast<int>(size), static_cast<int>(*r.max_properties)));

    bool root = path_.empty();
    std::size_t length = path_.size();
    auto old_member = [&](std::string_view key) { return old ? old->find(key) : nullptr; };
    if (s.additional) {
      for (const Member& m : v.members()) {
        if (s.property(m.key())) continue;
        if (!s.additional_allowed) {
          out.errors.push_back(json::invalid(
              field(), m.key(), cat(path_, ".", m.key(), " in body is a forbidden property")));
          continue;
        }
        path_ += cat(".", m.key());
        out.merge(node(*s.additional, m.value, r.any_additional ? nullptr : old_member(m.key())));
        path_.resize(length);
      }
    }
    for (const Property& p : s.properties) {
      if (!p.schema->rules) continue;
      const Value* value = v.find(p.name);
      if (!value) continue;
      if (!root) path_ += '.';
      path_ += p.name;
      bool type_meta = root && (p.name == "kind" || p.name == "apiVersion");
      out.merge(node(*p.schema, *value, type_meta ? nullptr : old_member(p.name)));
      path_.resize(length);
    }
    for (const std::string& name : r.required)
      if (!v.has(name)) out.errors.push_back(json::required(field(cat(path_, ".", name))));
  }

  std::string base_;
  std::string path_;  // as messages write it
  // Bytes of the paths that errors name. A long key stands in all paths below it, so that they can
  // be much longer than the object.
  static constexpr std::size_t kMostNamed = 4u << 20;
  mutable std::size_t named_ = 0;
};

void drop_repeated(FieldErrors& errors) {
  if (errors.size() < 2) return;
  std::unordered_set<std::string> seen;
  std::erase_if(errors, [&](const FieldError& e) { return !seen.insert(e.message()).second; });
}

}  // namespace

Findings validate_value(const Schema& schema, const Value& value, const Value* old,
                        std::string_view base) {
  Outcome outcome = Validator(base).node(schema, value, old);
  drop_repeated(outcome.errors);
  drop_repeated(outcome.ratcheted);
  return {std::move(outcome.errors), std::move(outcome.ratcheted)};
}

namespace {

// Rules are not asked about objects whose types they could not trust.
bool keeps_rules_from_running(const FieldError& e) {
  using Type = FieldError::Type;
  return e.type == Type::kNotSupported || e.type == Type::kRequired || e.type == Type::kTooLong ||
         e.type == Type::kTooMany || e.type == Type::kTypeInvalid;
}

FieldErrors validate_status(const Schema& schema, const Value& object, const Value* old) {
  const Value* status = object.find("status");
  const Property* property = schema.property("status");
  if (!status || !property) return {};
  return validate_value(*property->schema, *status, old ? old->find("status") : nullptr, "status")
      .errors;
}

}  // namespace

FieldErrors validate_custom(const Schema& schema, const Schema& object_meta, const Value& object,
                            const Value* old, bool status_only,
                            std::vector<std::string>& warnings) {
  FieldErrors errors = status_only ? validate_status(schema, object, old)
                                   : validate_value(schema, object, old).errors;
  auto append = [&](FieldErrors more) { std::ranges::move(more, std::back_inserter(errors)); };
  if (!status_only) append(validate_embedded(schema, object_meta, object));
  if (!old || validate_lists(schema, *old).empty()) append(validate_lists(schema, object));
  if (!schema.expressions) return errors;
  if (std::ranges::any_of(errors, keeps_rules_from_running)) {
    errors.push_back(
        json::invalid("", Value(),
                      "some validation rules were not checked because the object was invalid; "
                      "correct the existing errors to complete validation"));
    return errors;
  }
  ObjectRules::Outcome outcome = schema.expressions->check(object, old, true);
  append(std::move(outcome.errors));
  std::ranges::move(outcome.warnings, std::back_inserter(warnings));
  return errors;
}

}  // namespace cardea::schema
