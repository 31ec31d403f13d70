#include "authz/namespace_policy/restricted.h"

#include <algorithm>

#include "authz/eligibility.h"
#include "authz/rbac/hash.h"
#include "base/names.h"
#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"
#include "schema/permissions/changed_fields.h"

namespace cardea::authz::namespace_policy {
namespace {

using json::Value;
using Kind = Restriction::Kind;

// A condition of this room, evaluated directly. Its text says the same in CEL, for other
// readers.
class Native : public Condition::Compiled {
 public:
  virtual Truth truth(const ConditionData& data) const = 0;
};

Truth as_truth(bool holds) {
  return holds ? Truth::kTrue : Truth::kFalse;
}
const Value& or_null(const Value* v) {
  static const Value kNull;
  return v ? *v : kNull;
}

std::string cel_text(std::string_view text) {
  std::string out;
  json::print_string_to(out, text);
  return out;
}

std::string some_of(const std::vector<std::string>& texts) {
  constexpr std::size_t kMostShown = 4, kLongestShown = 64;
  std::string out;
  for (std::size_t i = 0; i < texts.size() && i < kMostShown; ++i)
    out += cat(i == 0 ? "" : ", ",
               texts[i].size() > kLongestShown ? std::string("...") : quoted(texts[i]));
  return texts.size() > kMostShown ? cat(out, " and ", texts.size() - kMostShown, " more") : out;
}

// `"app" in object.metadata.labels && object.metadata.labels["app"] == "x"`.
std::string labels_text(std::string_view of, const std::vector<LabelPattern>& labels) {
  std::string out = cat("has(", of, ".metadata.labels)");
  for (const LabelPattern& l : labels) {
    out += cat(" && ", cel_text(l.key), " in ", of, ".metadata.labels");
    if (l.has_value)
      out += cat(" && ", of, ".metadata.labels[", cel_text(l.key), "] == ", cel_text(l.value));
  }
  return out;
}

class Labels : public Native {
 public:
  enum class Where { kAllow, kDeny, kStripping };
  Labels(std::vector<LabelPattern> labels, Where where)
      : labels_(std::move(labels)), where_(where) {}

  Truth truth(const ConditionData& data) const override {
    const Value &old = or_null(data.old_object), &now = or_null(data.object);
    bool had = !old.is_null() && has_labels(old, labels_),
         has = !now.is_null() && has_labels(now, labels_);
    switch (where_) {
      case Where::kAllow:
        return as_truth(old.is_null() ? has : had);
      case Where::kDeny:
        return as_truth(had || has);
      case Where::kStripping:
        break;
    }
    return as_truth(had && !has);
  }
  std::string text() const override {
    std::string old = labels_text("oldObject", labels_), now = labels_text("object", labels_);
    switch (where_) {
      case Where::kAllow:
        return cat("oldObject != null ? (", old, ") : (object != null && ", now, ")");
      case Where::kDeny:
        return cat("(oldObject != null && ", old, ") || (object != null && ", now, ")");
      case Where::kStripping:
        break;
    }
    return cat("oldObject != null && ", old, " && !(object != null && ", now, ")");
  }

 private:
  std::vector<LabelPattern> labels_;
  Where where_;
};

class OnNode : public Native {
 public:
  explicit OnNode(std::string_view node) : node_(node) {}
  Truth truth(const ConditionData& data) const override {
    const Value& old = or_null(data.old_object);
    const Value& pod = old.is_null() ? or_null(data.object) : old;
    return as_truth(!node_.empty() && pod["spec"]["nodeName"].as_string() == node_);
  }
  std::string text() const override {
    return cat("(oldObject != null ? oldObject : object).?spec.?nodeName.orValue(\"\") == ",
               cel_text(node_));
  }

 private:
  std::string node_;
};

class Named : public Native {
 public:
  explicit Named(std::vector<std::string> names) : names_(std::move(names)) {}
  Truth truth(const ConditionData& data) const override {
    std::string_view name = data.object_name();
    return as_truth(std::ranges::find(names_, name) != names_.end());
  }
  std::string text() const override {
    Value list = Value::array();
    for (const std::string& n : names_) list.push_back(n);
    return cat("object.metadata.?name.orValue(\"\") in ", json::print(list));
  }

 private:
  std::vector<std::string> names_;
};

// An access review about its sender only, in each of its items where it has several.
class Personal : public Native {
 public:
  explicit Personal(const User& user) : name_(user.name), groups_(user.groups) {}

  Truth truth(const ConditionData& data) const override {
    const Value& review = or_null(data.object);
    if (review.is_null()) return Truth::kFalse;
    const Value& spec = review["spec"];
    bool personal = names_only_me(review) && is_about_me(spec) &&
                    std::ranges::all_of(spec["items"].items(),
                                        [&](const Value& item) { return is_about_me(item); });
    return as_truth(personal);
  }
  std::string text() const override {
    Value mine = Value::array();
    for (const std::string& g : groups_) mine.push_back(g);
    std::string name = cel_text(name_), groups = json::print(mine);
    auto names_only_me = [&](std::string_view part) {
      std::string out;
      for (auto key : {"user", "userName"})
        out += cat(part, ".?", key, ".orValue(\"\") in [\"\", ", name, "] && ");
      out += cat(part, ".?groupName.orValue(\"\") == \"\" && ");
      return out + cat("(", part, ".?groups.orValue([]).size() == 0 || (", part,
                       ".?groups.orValue([]).all(g, g in ", groups, ") && ", groups,
                       ".all(g, g in ", part, ".?groups.orValue([]))))");
    };
    auto is_about_me = [&](std::string_view part) {
      return cat(names_only_me(part), " && ", part, ".?uid.orValue(\"\") == \"\" && ", part,
                 ".?extra.orValue({}).size() == 0");
    };
    return cat(names_only_me("object"), " && ", is_about_me("object.?spec"),
               " && object.?spec.?items.orValue([]).all(i, ", is_about_me("i"), ")");
  }

 private:
  static bool has_content(const Value& v) {
    return v.is_string()                   ? !v.as_string().empty()
           : v.is_object() || v.is_array() ? !v.empty()
                                           : !v.is_null();
  }
  bool names_only_me(const Value& part) const {
    return is_me(part["user"]) && is_me(part["userName"]) && !has_content(part["groupName"]) &&
           are_mine(part["groups"]);
  }
  // User attributes other than the name make it a question about another user.
  bool is_about_me(const Value& part) const {
    return names_only_me(part) && !has_content(part["uid"]) && !has_content(part["extra"]);
  }
  bool is_me(const Value& v) const {
    return v.is_null() || (v.is_string() && (v.as_string().empty() || v.as_string() == name_));
  }
  bool are_mine(const Value& v) const {
    if (!v.is_null() && !v.is_array()) return false;
    if (v.empty()) return true;
    for (const Value& g : v.items())
      if (std::ranges::find(groups_, g.as_string()) == groups_.end()) return false;
    return std::ranges::all_of(groups_, [&](const std::string& g) {
      return std::ranges::any_of(v.items(), [&](const Value& x) { return x.as_string() == g; });
    });
  }

  std::string name_;
  std::vector<std::string> groups_;
};

class Fields : public Condition::Compiled {
 public:
  Fields(std::vector<FieldPattern> patterns, const std::vector<std::string>& items)
      : patterns_(std::move(patterns)), items_(items) {}
  std::string text() const override {
    Value list = Value::array();
    for (const std::string& i : items_) list.push_back(i);
    return json::print(list);
  }
  const std::vector<FieldPattern>& patterns() const { return patterns_; }

 private:
  std::vector<FieldPattern> patterns_;
  std::vector<std::string> items_;
};

std::string hex(std::uint64_t n) {
  std::string out;
  for (int i = 0; i < 16; ++i, n >>= 4) out += "0123456789abcdef"[n & 15];
  return out;
}

bool verb_is(const Attributes& a, std::initializer_list<std::string_view> verbs) {
  return std::ranges::any_of(verbs,
                             [&](std::string_view v) { return equals_ignoring_case(v, a.verb); });
}

// About all users.
bool asks_who_can(std::string_view resource) {
  constexpr std::string_view kEnd = "resourceaccessreviews";
  return resource.size() >= kEnd.size() &&
         equals_ignoring_case(resource.substr(resource.size() - kEnd.size()), kEnd);
}

// What an object that is being created is called says nothing about its fields.
bool is_identity(const schema::FieldPath& path) {
  static const schema::FieldPath kPaths[] = {{"f:metadata", "f:name"},
                                             {"f:metadata", "f:generateName"},
                                             {"f:metadata", "f:namespace"},
                                             {"f:apiVersion"},
                                             {"f:kind"},
                                             {"f:metadata"}};
  return std::ranges::find(kPaths, path) != std::end(kPaths);
}

}  // namespace

std::string_view Surroundings::node_of(const User& user) const {
  if (auto at = node_names.find(user.name); at != node_names.end()) return at->second;
  constexpr std::string_view kPrefix = "system:node:";
  std::string_view name = user.name;
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
}

std::string condition_id(const CompiledRole& role, std::size_t rule, std::string_view more) {
  std::string name = cat(role.namespace_name(), ".", role.name(), ".", rule, more);
  std::string id = cat("policy.openshift.io/", name);
  if (label_key_problems(id).empty()) return id;
  return cat("policy.openshift.io/rule-", hex(rbac::hash_name(name)));
}

std::optional<bool> Restricted::same_minion() const {
  const Attributes& a = attributes_;
  if (!equals_ignoring_case(a.resource, "pods") || !a.api_group.empty()) return closed();
  std::string_view node = surroundings_.node_of(a.user);
  if (node.empty()) return closed();
  if (verb_is(a, {"list", "watch", "get"}) && a.name.empty()) {
    std::optional<std::string> asked = a.selectors ? a.selectors->fields.exact("spec.nodeName")
                                                   : std::nullopt;
    if (!asked) return closed();
    return *asked == node;
  }
  bool waits = verb_is(a, {"update", "patch", "delete", "deletecollection"}) ||
               (verb_is(a, {"create"}) && a.subresource.empty());
  if (waits && may_be_conditional(a) && !is_connection(a)) return std::nullopt;
  if (a.name.empty() || !surroundings_.nodes) return closed();
  return surroundings_.nodes->leads_to(node::Kind::kPod, a.namespace_name, a.name, node);
}

std::optional<bool> Restricted::now() const {
  const Rule& rule = role_.rules()[rule_];
  // The options of a connection have no labels or other fields of the object behind it: such a rule
  // fails closed.
  const bool needs_object = match_ == Match::kByName || match_ == Match::kStripping ||
                            rule.restriction.kind != Kind::kCel;
  bool can_wait = may_be_conditional(attributes_) && !(needs_object && is_connection(attributes_));
  if (match_ == Match::kByName || match_ == Match::kStripping)
    return can_wait ? std::nullopt : std::optional(closed());
  if (role_.is_broken(rule_)) return closed();
  switch (rule.restriction.kind) {
    case Kind::kNone:
      return true;
    case Kind::kUnknown:
      return closed();
    case Kind::kSameMinion:
      return same_minion();
    case Kind::kFieldsMutatable:
      can_wait &= verb_is(attributes_, {"create", "update", "patch"});
      break;
    case Kind::kPersonalReview:
      if (asks_who_can(attributes_.resource)) return false;
      can_wait &= (verb_bits_of(attributes_) & verb_bit(verb_number("permission-request"))) != 0;
      break;
    case Kind::kLabelsContain:
      break;
    case Kind::kCel: {
      access::RequestValue request(attributes_);
      access::Variables variables;
      variables[access::Language::kRequest] = request.get();
      variables[access::Language::kImpersonatedRequest] = cel::Value::null();
      cel::Residual rest = cel::reduce(role_.program_of(rule_), variables,
                                       access::language().unknowns, access::kLimits);
      if (rest.is_value()) return rest.value().is_true() || (closed() && !rest.value().is_false());
      residual_ = std::move(rest);
      break;
    }
  }
  return can_wait ? std::nullopt : std::optional(closed());
}

std::shared_ptr<const Condition::Compiled> Restricted::compiled() const {
  const Rule& rule = role_.rules()[rule_];
  if (match_ == Match::kStripping)
    return std::make_shared<const Labels>(role_.labels_of(rule_), Labels::Where::kStripping);
  switch (rule.restriction.kind) {
    case Kind::kFieldsMutatable:
      return std::make_shared<const Fields>(role_.fields_of(rule_), rule.restriction.items);
    case Kind::kLabelsContain:
      return std::make_shared<const Labels>(
          role_.labels_of(rule_), rule.deny ? Labels::Where::kDeny : Labels::Where::kAllow);
    case Kind::kSameMinion:
      return std::make_shared<const OnNode>(surroundings_.node_of(attributes_.user));
    case Kind::kPersonalReview:
      return std::make_shared<const Personal>(attributes_.user);
    case Kind::kCel:
      if (residual_) return std::make_shared<const access::Residue>(std::move(*residual_));
      break;
    default:
      break;
  }
  return nullptr;
}

// For people whom the rule refuses: they need not be able to read the role.
std::string Restricted::text() const {
  const Rule& rule = role_.rules()[rule_];
  const std::string items = some_of(rule.restriction.items);
  const std::string_view does = rule.deny ? "denies" : "allows";
  std::string out = cat("rule ", rule_, " of role ", role_.namespace_name(), "/", role_.name());
  if (match_ == Match::kByName)
    out += cat(" denies the names ", some_of(rule.resource_names));
  else if (match_ == Match::kStripping)
    out += cat(" keeps the labels ", items, " from being removed");
  else if (rule.restriction.kind == Kind::kLabelsContain)
    out += cat(" ", does, " objects with the labels ", items);
  else if (rule.restriction.kind == Kind::kFieldsMutatable)
    out += cat(" ", does, " changes of the fields ", items, rule.deny ? "" : " and no others");
  else if (rule.restriction.kind == Kind::kSameMinion)
    out += cat(" ", does, " pods of the node ", quoted(surroundings_.node_of(attributes_.user)));
  else if (rule.restriction.kind == Kind::kPersonalReview)
    out += cat(" ", does, " questions of users about themselves");
  if (effect_)
    out += cat(", because the effect of this request is ", attributes_.verb, " ",
               attributes_.resource);
  if (!rule.description.empty()) out += cat(": ", rule.description);
  return out;
}

Condition Restricted::later(std::size_t before) const {
  const Rule& rule = role_.rules()[rule_];
  std::string more = effect_ ? cat("_as_", attributes_.verb) : "";
  if (before > 0) more += cat("_", before);
  bool on_parent = effect_ && effect_->on_parent;
  bool is_fields = match_ == Match::kYes && rule.restriction.kind == Kind::kFieldsMutatable;
  // A create whose name is to come: which of the names, says its object; any other restriction is
  // left out, so that more is denied.
  std::shared_ptr<const Condition::Compiled> compiled = match_ == Match::kByName
                                                            ? std::make_shared<const Named>(
                                                                  rule.resource_names)
                                                            : this->compiled();
  return {.effect = rule.deny ? Condition::Effect::kDeny : Condition::Effect::kAllow,
          .id = condition_id(role_, rule_, more),
          .type = std::string(on_parent   ? kParentType
                              : is_fields ? kFieldsType
                                          : kCelType),
          .text = "",
          .description = text(),
          .compiled = std::move(compiled),
          .on_parent = on_parent};
}

Truth RestrictionRuns::only_changes(const std::vector<FieldPattern>& fields, bool is_deny,
                                    std::string& error) {
  const Value &old = or_null(data_.old_object), &now = or_null(data_.object);
  const schema::FieldSet* leaves = data_.changed ? &data_.changed->leaves() : nullptr;
  std::optional<schema::ChangedFields> own;
  if (!leaves) {
    std::shared_ptr<const schema::Schema> shape;
    if (surroundings_.kinds)
      shape = surroundings_.kinds->schema_of(data_.group, data_.version, data_.resource);
    if (!shape) {
      error = "the changed fields are not known";
      return Truth::kError;
    }
    own.emplace(old, now, *shape,
                schema::IgnoredFields{.server = schema::IgnoredFields::of_server(old.is_null()),
                                      .reset = {}});
    leaves = &own->leaves();
  }
  bool is_create = old.is_null(), all = true, some = false, any = false;
  leaves->for_each([&](const schema::FieldPath& path) {
    if (is_create && is_identity(path)) return;
    any = true;
    bool is_listed = std::ranges::any_of(fields,
                                         [&](const FieldPattern& f) { return f.covers(path); });
    all &= is_listed;
    some |= is_listed;
  });
  // A user that must not change a field alone must not change it together with others.
  return as_truth(is_deny ? some || !any : all);
}

Truth RestrictionRuns::truth(const Condition& c, std::string& error) {
  if (const Native* native = dynamic_cast<const Native*>(c.compiled.get()))
    return native->truth(data_);
  bool is_deny = c.effect == Condition::Effect::kDeny;
  if (const Fields* fields = dynamic_cast<const Fields*>(c.compiled.get()))
    return only_changes(fields->patterns(), is_deny, error);
  if (c.type != kFieldsType) return cel_.truth(c, error);
  auto list = json::parse(c.text);
  if (!list || !list->is_array()) {
    error = "is not a list of fields";
    return Truth::kError;
  }
  std::vector<FieldPattern> patterns;
  for (const Value& item : list->items()) {
    patterns.push_back(FieldPattern::parse(item.as_string(), error));
    if (!error.empty()) return Truth::kError;
  }
  return only_changes(patterns, is_deny, error);
}

}  // namespace cardea::authz::namespace_policy
