#include "schema/custom/check_schema.h"

#include <algorithm>

#include "base/strings.h"
#include "schema/custom/check_rules.h"
#include "schema/custom/object_rules.h"
#include "schema/custom/prune.h"
#include "schema/custom/shown_schema.h"
#include "schema/custom/structural.h"
#include "schema/custom/validate.h"
#include "schema/permissions/check_permissions.h"

namespace cardea::schema {
namespace {

using json::FieldErrors;
using json::Member;
using json::Value;

void append(FieldErrors& to, FieldErrors from) {
  std::ranges::move(from, std::back_inserter(to));
}

// A default must be a value that its own schema would take.
class DefaultChecker {
 public:
  explicit DefaultChecker(const Schema& object_meta) : object_meta_(object_meta) {}

  void check(const Schema& s, const std::string& path, bool root, bool inside_meta) {
    bool is_resource = root || s.embedded_resource;
    if (is_resource) inside_meta = false;
    std::vector<std::string> outer_steps;
    const Schema* outer_resource = resource_;
    if (is_resource) {
      outer_steps.swap(steps_);
      resource_ = &s;
    }
    if (s.default_value)
      check_value(s, *s.default_value, path + ".default", is_resource, inside_meta);
    if (s.items) {
      steps_.push_back("");
      check(*s.items, path + ".items", false, inside_meta);
      steps_.pop_back();
    }
    for (const Property& p : s.properties) {
      bool meta = is_resource &&
                  (p.name == "metadata" || p.name == "apiVersion" || p.name == "kind");
      steps_.push_back(p.name);
      check(*p.schema, cat(path, ".properties[", p.name, "]"), false, inside_meta || meta);
      steps_.pop_back();
    }
    if (is_resource) {
      steps_.swap(outer_steps);
      resource_ = outer_resource;
    }
  }

  FieldErrors errors;

 private:
  void check_value(const Schema& s, const Value& value, const std::string& path, bool is_resource,
                   bool inside_meta) {
    if (inside_meta) {
      FieldErrors found = validate_embedded(*resource_, object_meta_, surrounded(value), true);
      if (!found.empty()) {
        std::vector<std::string> messages;
        for (const auto& e : found) messages.push_back(e.message());
        std::string all = messages.size() == 1 ? messages[0] : cat("[", join(messages, ", "), "]");
        errors.push_back(json::invalid(path, value, "must result in valid metadata: " + all));
        return;
      }
    } else {
      if (!(prune(s, value, is_resource).value == value))
        errors.push_back(json::invalid(path, value, "must not have unknown fields"));
      if (FieldErrors found = validate_embedded(s, object_meta_, value, is_resource, path);
          !found.empty())
        return append(errors, std::move(found));
    }
    FieldErrors found = validate_value(s, value, nullptr, path).errors;
    if (found.empty()) found = broken_rules(s, value, path, is_resource);
    append(errors, std::move(found));
  }

  // A default must keep the rules both as a new value and as one that was there before.
  FieldErrors broken_rules(const Schema& s, const Value& value, const std::string& path,
                           bool is_resource) {
    if (budget_ < 0 || !ObjectRules::any_in(s.source)) return {};
    const ObjectRules rules(s.source, is_resource);
    ObjectRules::Outcome kept = rules.check(value, &value, false, path, budget_);
    std::int64_t left = kept.budget;
    if (kept.errors.empty()) {
      kept = rules.check(value, nullptr, false, path, budget_);
      left = std::min(left, kept.budget);
    }
    budget_ = left;
    return std::move(kept.errors);
  }

  // The smallest resource that has this value where the default would stand.
  Value surrounded(Value value) const {
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      if (step->empty()) {
        value = Value::array({value});
      } else {
        Value outer = Value::object();
        outer.set(*step, std::move(value));
        value = std::move(outer);
      }
    }
    if (!value.has("apiVersion")) value.set("apiVersion", "validation/v1");
    if (!value.has("kind")) value.set("kind", "Validation");
    return value;
  }

  const Schema& object_meta_;
  const Schema* resource_ = nullptr;
  std::vector<std::string> steps_;  // from the resource to the node; "" for an item
  std::int64_t budget_ = ObjectRules::kBudget;
};

// With a status subresource the root may only say what does not matter to the status on its own.
void check_root(const Value& schema, const std::string& path, FieldErrors& errors) {
  // Kubernetes names the fields of its own type here.
  struct Field {
    std::string_view key, name;
  };
  static constexpr Field kAllowed[] = {
      {"description", "Description"},
      {"type", "Type"},
      {"format", "Format"},
      {"title", "Title"},
      {"maximum", "Maximum"},
      {"exclusiveMaximum", "ExclusiveMaximum"},
      {"minimum", "Minimum"},
      {"exclusiveMinimum", "ExclusiveMinimum"},
      {"maxLength", "MaxLength"},
      {"minLength", "MinLength"},
      {"pattern", "Pattern"},
      {"maxItems", "MaxItems"},
      {"minItems", "MinItems"},
      {"uniqueItems", "UniqueItems"},
      {"multipleOf", "MultipleOf"},
      {"required", "Required"},
      {"items", "Items"},
      {"properties", "Properties"},
      {"externalDocs", "ExternalDocs"},
      {"example", "Example"},
      {"x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields"},
      {"x-kubernetes-validations", "XValidations"}};
  if (std::string_view type = schema["type"].as_string(); !type.empty() && type != "object")
    errors.push_back(json::invalid(
        path + ".type", type,
        "only \"object\" is allowed as the type at the root of the schema if the status "
        "subresource is enabled"));
  auto allowed = [&](const Member& m) {
    return m.key() == "nullable"
               ? !m.value.as_bool()
               : std::ranges::find(kAllowed, m.key(), &Field::key) != std::end(kAllowed);
  };
  if (std::ranges::all_of(schema.members(), allowed)) return;
  std::string names;
  for (const Field& f : kAllowed) names += cat(names.empty() ? "" : " ", f.name);
  errors.push_back(json::shown_as(
      json::invalid(path, schema,
                    cat("only [", names,
                        "] fields are allowed at the root of the schema if the status "
                        "subresource is enabled")),
      shown_schema(schema)));
}

}  // namespace

FieldErrors check_defaults(const Value& schema, const std::string& path,
                           const Schema& object_meta) {
  SchemaSet set;
  DefaultChecker checker(object_meta);
  checker.check(*build_structural(set, schema, nullptr), path, true, false);
  return std::move(checker.errors);
}

FieldErrors check_custom_schema(const Value& schema, const std::string& path,
                                const Schema& object_meta, const SchemaChecks& checks) {
  FieldErrors errors;
  if (checks.status_subresource) check_root(schema, path, errors);
  if (schema["nullable"].as_bool())
    errors.push_back(json::forbidden(path + ".nullable", "nullable cannot be true at the root"));
  auto unsupported = unsupported_keyword(schema);
  bool structural = !unsupported;
  if (!unsupported) {
    FieldErrors found = check_structural(schema, path);
    if (found.empty()) found = check_defaults(schema, path, object_meta);
    structural = found.empty();
    append(errors, std::move(found));
  }
  RuleChecker rules(checks.unchanged);
  append(errors, check_open_api(schema, path, structural ? &rules : nullptr));
  // What is not supported is usually named above already, and better.
  if (errors.empty() && unsupported) errors.push_back(json::invalid(path, "", *unsupported));
  rules.total(path);
  append(errors, std::move(rules.errors));
  append(errors, check_permissions(schema, path));
  return errors;
}

}  // namespace cardea::schema
