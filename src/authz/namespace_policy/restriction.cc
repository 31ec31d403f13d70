#include "authz/namespace_policy/restriction.h"

#include <algorithm>

#include "authz/access/environment.h"
#include "authz/access/policy.h"
#include "base/names.h"
#include "base/strings.h"
#include "schema/ownership/shape.h"

namespace cardea::authz::namespace_policy {
namespace {

using json::FieldErrors;
using Kind = Restriction::Kind;

constexpr std::string_view kWrites[] = {"create", "update", "patch", "delete", "deletecollection"};
constexpr std::string_view kChanges[] = {"create", "update", "patch"};
constexpr std::string_view kReviews[] = {"create", "permission-request"};
constexpr std::string_view kStreams[] = {"exec", "attach", "portforward", "proxy", "log"};

// The verbs whose objects a restriction can look at; nothing: all.
std::span<const std::string_view> verbs_of(Kind kind) {
  switch (kind) {
    case Kind::kFieldsMutatable:
      return kChanges;
    case Kind::kLabelsContain:
    case Kind::kCel:
      return kWrites;
    case Kind::kPersonalReview:
      return kReviews;
    default:
      return {};
  }
}

bool names_pods(std::string_view kind) {
  std::string_view resource = kind.substr(0, kind.find('/'));
  return resource == "pods" || resource == "pod";
}
bool names_a_review(std::string_view kind) {
  return kind.ends_with("accessreviews") || kind.ends_with("accessreview");
}
bool names_a_stream(std::string_view kind) {
  auto slash = kind.find('/');
  return slash != std::string_view::npos &&
         std::ranges::find(kStreams, kind.substr(slash + 1)) != std::end(kStreams);
}

void check_items(const Restriction& r, const std::string& at, FieldErrors& errors) {
  bool is_fields = r.kind == Kind::kFieldsMutatable;
  std::string where = cat(at, is_fields ? ".fieldsMutatable" : ".labelsContain");
  if (r.items.empty() && !is_fields)
    errors.push_back(json::required(where, "must name at least one label"));
  if (r.items.size() > kMostWords)
    errors.push_back(
        json::too_many(where, static_cast<int>(r.items.size()), static_cast<int>(kMostWords)));
  for (std::size_t i = 0; i < r.items.size() && i < kMostWords; ++i) {
    std::string item = cat(where, "[", i, "]"), problem;
    if (is_fields) {
      FieldPattern::parse(r.items[i], problem);
      if (!problem.empty()) errors.push_back(json::invalid(item, r.items[i], problem));
      continue;
    }
    LabelPattern label = read_label_pattern(r.items[i]);
    for (std::string& p : label_key_problems(label.key))
      errors.push_back(json::invalid(item, r.items[i], std::move(p)));
    for (std::string& p : label_value_problems(label.value))
      errors.push_back(json::invalid(item, r.items[i], std::move(p)));
  }
}

}  // namespace

FieldPattern FieldPattern::parse(std::string_view text, std::string& problem) {
  FieldPattern out;
  auto bad = [&](std::string why) {
    problem = std::move(why);
    return FieldPattern();
  };
  if (text.starts_with('.')) text.remove_prefix(1);
  if (text.empty()) return bad("must name a field");
  // The two common ones are written without their parent.
  if (text == "labels" || text == "annotations" || text.starts_with("labels[") ||
      text.starts_with("annotations["))
    out.steps_.push_back({.element = schema::field_element("metadata")});
  for (bool is_first = true; !text.empty(); is_first = false) {
    if (text.starts_with("[*]")) {
      out.steps_.push_back({.is_any = true});
      text.remove_prefix(3);
    } else if (text.starts_with("[\"")) {
      auto end = text.find("\"]", 2);
      if (end == std::string_view::npos) return bad("a key in `[\"` must end with `\"]`");
      out.steps_.push_back({.element = schema::field_element(text.substr(2, end - 2))});
      text.remove_prefix(end + 2);
    } else if (is_first || text.starts_with('.')) {
      if (!is_first) text.remove_prefix(1);
      std::string_view name = text.substr(0, text.find_first_of(".["));
      bool is_name = !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
        return std::isalnum(c) || c == '-' || c == '_' || c == '$';
      });
      if (!is_name)
        return bad(
            "must be a path of fields such as `spec.replicas`, with `[*]` for any item and "
            "`[\"key\"]` for a key");
      out.steps_.push_back({.element = schema::field_element(name)});
      text.remove_prefix(name.size());
    } else {
      return bad(
          "must be a path of fields such as `spec.replicas`, with `[*]` for any item and "
          "`[\"key\"]` for a key");
    }
  }
  return out;
}

bool FieldPattern::covers(const schema::FieldPath& path) const {
  if (steps_.empty() || path.size() < steps_.size()) return false;
  for (std::size_t i = 0; i < steps_.size(); ++i)
    if (!steps_[i].is_any && steps_[i].element != path[i]) return false;
  return true;
}

bool FieldPattern::is_in(const schema::Schema& schema) const {
  const schema::Schema* at = &schema;
  for (const Step& s : steps_) {
    const bool is_list = at->type == schema::Schema::Type::kArray;
    if (s.is_any)
      at = is_list ? &schema::item_schema(*at) : schema::member_schema(*at, "");
    else
      at = is_list ? nullptr : schema::member_schema(*at, std::string_view(s.element).substr(2));
    if (!at) return false;
  }
  return true;
}

LabelPattern read_label_pattern(std::string_view text) {
  auto equals = text.find('=');
  if (equals == std::string_view::npos) return {std::string(text), "", false};
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)), true};
}

bool has_labels(const json::Value& object, const std::vector<LabelPattern>& labels) {
  const json::Value& there = object["metadata"]["labels"];
  return std::ranges::all_of(labels, [&](const LabelPattern& l) {
    const json::Value* value = there.find(l.key);
    return value && (!l.has_value || value->as_string() == l.value);
  });
}

std::shared_ptr<const cel::Program> compile_expression(std::string_view text,
                                                       std::string& problem) {
  if (text.size() > access::kLongestExpression) {
    problem = cat("expression is too long: ", text.size(), " bytes, at most ",
                  access::kLongestExpression, " are allowed");
    return nullptr;
  }
  auto compiled = cel::compile(text, access::language().environment);
  if (!compiled) {
    problem = compiled.error().text;
    return nullptr;
  }
  const cel::Type* type = (*compiled)->type();
  if (type && type->kind != cel::Type::kBool && type->kind != cel::Type::kDyn) {
    problem = "the expression must give a bool";
    return nullptr;
  }
  return std::move(*compiled);
}

FieldErrors validate_restriction(const Rule& rule, const std::vector<std::string>& kinds,
                                 const std::string& at) {
  FieldErrors errors;
  const Restriction& r = rule.restriction;
  if (r.kind == Kind::kNone) return errors;
  if (r.kind == Kind::kUnknown) {
    errors.push_back(
        json::not_supported(at, r.written,
                            {"fieldsMutatable", "labelsContain", "kind: sameMinionRestriction",
                             "kind: IsPersonalSubjectAccessReview", "kind: cel"}));
    return errors;
  }
  if (!rule.non_resource_urls.empty())
    errors.push_back(json::forbidden(at, "paths have no object to look at"));
  std::span<const std::string_view> verbs = verbs_of(r.kind);
  for (const std::string& v : rule.verbs)
    if (!v.starts_with('-') && !verbs.empty() && std::ranges::find(verbs, v) == verbs.end())
      errors.push_back(json::forbidden(
          at, cat("cannot be looked at with the verb ", quoted(v), ": there is no object then")));
  for (const std::string& k : kinds) {
    if (k.starts_with('-')) continue;
    if (r.kind == Kind::kSameMinion && !names_pods(k))
      errors.push_back(json::forbidden(at, cat("only pods run on a node, not ", quoted(k))));
    if (r.kind == Kind::kPersonalReview && !names_a_review(k))
      errors.push_back(
          json::forbidden(at, cat("only access reviews are about a user, not ", quoted(k))));
    if (r.kind != Kind::kSameMinion && names_a_stream(k))
      errors.push_back(json::forbidden(at, cat("there is no object to look at in ", quoted(k))));
  }
  if (r.kind == Kind::kFieldsMutatable || r.kind == Kind::kLabelsContain)
    check_items(r, at, errors);
  if (r.kind == Kind::kCel) {
    std::string problem;
    if (r.expression.empty())
      errors.push_back(json::required(cat(at, ".expression")));
    else if (!compile_expression(r.expression, problem))
      errors.push_back(json::invalid(cat(at, ".expression"), r.expression, problem));
  }
  return errors;
}

}  // namespace cardea::authz::namespace_policy
