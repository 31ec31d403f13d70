#include "advice/field_question.h"

#include <algorithm>
#include <map>

#include "advice/scale_demands.h"
#include "base/strings.h"
#include "json/parse.h"
#include "schema/ownership/managed_fields.h"
#include "schema/ownership/shape.h"

namespace cardea::advice {

using json::Value;
using schema::FieldPath;
using schema::Schema;

namespace {

std::string unquoted(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"')
    if (auto value = json::parse(text); value && value->is_string())
      return std::string(value->as_string());
  if (text.size() >= 2 && text.front() == '\'' && text.back() == '\'')
    return std::string(text.substr(1, text.size() - 2));
  return std::string(text);
}

// Splits at separators outside quotes.
std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  char quote = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (!quote && text[i] == separator)) {
      out.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    } else if (quote && text[i] == '\\') {
      ++i;
    } else if (quote ? text[i] == quote : text[i] == '"' || text[i] == '\'') {
      quote = quote ? 0 : text[i];
    }
  }
  return out;
}

Value scalar_of(const Schema* schema, std::string_view text) {
  std::string plain = unquoted(text);
  bool is_number = schema && schema->type == Schema::Type::kInteger;
  if (auto number = parse_int(plain); is_number && number) return Value(*number);
  return Value(plain);
}

// What `[...]` names in a list of type set or map.
Result<std::string> item_of(const Schema& list, std::string_view inside) {
  if (list.list_type == Schema::ListType::kSet)
    return schema::value_element(scalar_of(list.items, inside));
  Value item = Value::object();
  auto parts = parts_of(inside, ',');
  for (std::string_view part : parts) {
    auto sides = parts_of(part, '=');
    std::string key = sides.size() == 2                        ? std::string(trim(sides[0]))
                      : parts.size() == 1 && sides.size() == 1 ? list.map_keys[0]
                                                               : "";
    if (std::ranges::find(list.map_keys, key) == list.map_keys.end())
      return fail(bad_request(cat("items of this list are named by ", join(list.map_keys, ", "),
                                  ": `[", list.map_keys[0], "=...]`")));
    const schema::Property* property = list.items ? list.items->property(key) : nullptr;
    item.set(key, scalar_of(property ? property->schema : nullptr, trim(sides.back())));
  }
  std::string element;
  if (!schema::item_element(list, item, element))
    return fail(bad_request(cat("`[", inside, "]` is not an item of this list")));
  return element;
}

bool is_scalar(const Schema& s) {
  return s.type != Schema::Type::kAny && s.type != Schema::Type::kObject &&
         s.type != Schema::Type::kArray;
}

class FieldReader {
 public:
  FieldReader(const Schema& root, std::string_view text) : at_(&root), rest_(text), whole_(text) {
    if (rest_.starts_with('.')) rest_.remove_prefix(1);
  }

  Result<FieldPath> read() {
    if (rest_.empty())
      return fail(bad_request("a field is required, such as `metadata.labels.app`"));
    while (!rest_.empty()) {
      // Parts of what changes as one value are that value.
      if (at_->type == Schema::Type::kArray ? schema::is_atomic_list(*at_)
                                            : schema::is_atomic_map(*at_))
        break;
      Result<void> step = rest_[0] == '[' ? bracket() : name();
      if (!step) return fail(step.error());
      if (rest_.starts_with('.')) {
        rest_.remove_prefix(1);
        if (rest_.empty()) return fail(bad_request(cat("`", whole_, "` ends with a dot")));
      } else if (!rest_.empty() && rest_[0] != '[') {
        return fail(bad_request(
            cat("`", whole_, "`: a dot or a bracket is required before `", rest_, "`")));
      }
    }
    return std::move(path_);
  }

 private:
  Result<void> into(std::string_view key) {
    const Schema* next = at_->type == Schema::Type::kArray || is_scalar(*at_)
                             ? nullptr
                             : schema::member_schema(*at_, key);
    if (!next)
      return fail(bad_request(
          cat("there is no field `", key, "` in ",
              path_.empty() ? "the object" : cat("`", schema::field_text(path_), "`"))));
    path_.push_back(schema::field_element(key));
    at_ = next;
    return {};
  }

  Result<void> name() {
    // A key may have dots in it; where it is the last step, all of it is the key.
    bool is_last = at_->properties.empty() && at_->additional && is_scalar(*at_->additional);
    auto end = is_last ? rest_.size() : std::min(rest_.find_first_of(".["), rest_.size());
    std::string_view key = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return into(key);
  }

  Result<void> bracket() {
    auto end = parts_of(rest_, ']')[0].size();
    if (end >= rest_.size()) return fail(bad_request(cat("`", whole_, "` lacks a `]`")));
    std::string_view inside = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    if (at_->type != Schema::Type::kArray) return into(unquoted(inside));
    auto element = item_of(*at_, inside);
    if (!element) return fail(element.error());
    path_.push_back(std::move(*element));
    at_ = &schema::item_schema(*at_);
    return {};
  }

  const Schema* at_;
  std::string_view rest_, whole_;
  FieldPath path_;
};

// A field, and the value that it is to get where one is given: `spec.hostNetwork=true`.
struct FieldAndValue {
  std::string_view field;
  std::optional<Value> value;

  explicit FieldAndValue(std::string_view text) : field(text) {
    const auto bracket = text.rfind(']');
    const auto at = text.find('=', bracket == text.npos ? 0 : bracket);
    if (at == text.npos) return;
    field = text.substr(0, at);
    auto parsed = json::parse(text.substr(at + 1));
    value = parsed ? std::move(*parsed) : Value(text.substr(at + 1));
  }
};

// An object with this value at the path; an empty one where items of lists are in between.
Value object_with(const FieldPath& path, const Value& value) {
  Value out = value;
  for (auto step = path.rbegin(); step != path.rend(); ++step) {
    if (!step->starts_with("f:")) return Value::object();
    out = Value::object({{step->substr(2), std::move(out)}});
  }
  return out;
}

// Whether a permission on the way depends on the value of its field, and the question does not say
// which that is.
bool lacks_value(const schema::PermissionTree& tree, const FieldPath& path, bool has_value) {
  const schema::PermissionTree::Node* node = &tree.root();
  bool is_plain = true;
  for (std::size_t i = 0; i < path.size() && node; ++i) {
    is_plain &= path[i].starts_with("f:");
    node = node->child(path[i]);
    if (node && node->permission && node->permission->source == schema::Permission::Source::kSelf &&
        (!has_value || !is_plain || i + 1 < path.size()))
      return true;
  }
  return false;
}

bool is_server_written(const FieldPath& path, bool is_create) {
  const schema::FieldSet& fields = schema::IgnoredFields::of_server(is_create);
  if (path.size() == 1) return path[0] != "f:metadata" && fields.has(path);
  return path[0] == "f:metadata" ? fields.has({path[0], path[1]}) : fields.has({path[0]});
}

}  // namespace

Result<FieldPath> parse_field(const Schema& root, std::string_view text) {
  return FieldReader(root, text).read();
}

Result<FieldQuestion> ask_about_field(const catalog::Resource& r, std::string_view subresource,
                                      std::string_view verb, std::string_view field,
                                      const schema::ExcludedVerbs& excluded) {
  if (verb != "create" && verb != "update" && verb != "patch")
    return fail(bad_request(cat("`", verb, "` changes no fields: create, update and patch do")));
  // Some lists that are one value otherwise are compared item by item for permissions.
  const Schema* shape = r.permissions->compared() ? r.permissions->compared() : r.schema;
  bool is_scale = false;
  std::shared_ptr<const schema::PermissionTree> tree = r.permissions;
  if (!subresource.empty()) {
    const catalog::Subresource* s = r.subresource(subresource);
    if (!s) return fail(bad_request(cat("`", r.name, "` has no subresource `", subresource, "`")));
    is_scale = s->name == "scale" && s->schema;
    if (verb == "create" || (!is_scale && !s->kind.empty() && s->kind != r.kind))
      return fail(bad_request(cat("`", r.name, "/", subresource,
                                  "` is covered by its verb alone, not field by field")));
    if (is_scale) {
      shape = s->schema;
      tree = schema::PermissionTree::of_builtin(*shape, "autoscaling", "Scale");
    }
  }
  const FieldAndValue asked(field);
  auto path = parse_field(*shape, asked.field);
  if (!path) return fail(path.error());
  if (lacks_value(*tree, *path, asked.value.has_value()))
    return fail(bad_request(cat("what `", asked.field, "` needs depends on its value: ask about `",
                                asked.field, "=VALUE`")));
  FieldQuestion out{.field = schema::field_text(*path), .chain = {}, .excluded = {}, .unnamed = {}};
  bool is_create = verb == "create";
  if (is_server_written(*path, is_create))
    return fail(bad_request(
        cat("`", out.field, "` cannot be changed by ", verb, "; the server writes it")));
  schema::FieldSet leaves;
  leaves.insert(*path);
  auto reset = schema::kept_fields(r.group, r.kind, subresource, r.is_custom,
                                   r.subresource("status") != nullptr);
  if (!is_scale && leaves.recursive_difference(reset).empty()) {
    std::string_view other = subresource.empty() ? "/status" : "";
    return fail(bad_request(cat("`", out.field, "` is not written through `", r.name,
                                subresource.empty() ? "" : "/", subresource, "` but through `",
                                r.name, other, "`")));
  }
  schema::ChangedFields change(
      Value(), asked.value ? object_with(*path, *asked.value) : Value::object(), *shape, {});
  const bool is_replicas = is_scale && *path == FieldPath{"f:spec", "f:replicas"};
  schema::Demands demands = is_replicas ? scale_demands(r, excluded).demands
                                        : schema::demands_of(leaves, change, *tree, excluded);
  for (const schema::Demand& demand : demands.fields) {
    out.chain = demands.chain_of(demand);
    for (std::uint32_t index : demand.excluded) out.excluded.push_back(demands.verbs[index]);
    for (std::uint32_t index : demand.inside) out.excluded.push_back(demands.verbs[index]);
    out.unnamed = demand.unnamed;
  }
  return out;
}

Result<FieldAnswer> judge_field(const FieldQuestion& q, const std::string& verb,
                                const std::function<Result<VerbAnswer>(const std::string&)>& ask) {
  std::map<std::string, VerbAnswer> known;
  Result<void> fine;
  auto answer = [&](const std::string& v) {
    auto [at, added] = known.try_emplace(v, VerbAnswer::kNo);
    if (!added || !fine) return at->second;
    if (auto said = ask(v))
      at->second = *said;
    else
      fine = fail(said.error());
    return at->second;
  };
  auto holds = [&](const std::string& v) { return answer(v) >= VerbAnswer::kIf; };
  FieldAnswer out;
  const std::string granular(schema::kGranularVerb);

  VerbAnswer base = answer(verb);
  if (fine && base == VerbAnswer::kDenied) {
    out.answer = VerbAnswer::kDenied;
    return out;
  }
  bool has_verb = base >= VerbAnswer::kIf;
  if (has_verb) {
    out.covered_by.push_back(verb);
  } else {
    // Conditions of the gate itself are not waited for.
    if (answer(granular) != VerbAnswer::kYes) out.lacking.push_back(granular);
    bool is_covered = std::ranges::any_of(q.excluded, [&](const std::string& v) {
      return std::ranges::find(q.chain, v) != q.chain.end();
    });
    if (!is_covered) {
      auto best = std::ranges::find_if(
          q.chain, [&](const std::string& v) { return answer(v) == VerbAnswer::kYes; });
      if (best == q.chain.end()) best = std::ranges::find_if(q.chain, holds);
      if (best != q.chain.end())
        out.covered_by.push_back(*best);
      else if (!q.chain.empty())
        out.lacking.push_back(q.chain.back());
      else
        out.lacking = {verb};
      out.would_cover.push_back(verb);
      out.would_cover.insert(out.would_cover.end(), q.chain.begin(), q.chain.end());
    }
  }
  for (const std::string& v : q.excluded)
    if (holds(v))
      out.covered_by.push_back(v);
    else
      out.lacking.push_back(v);
  if (!fine) return fail(fine.error());
  if (!q.unnamed.empty()) {
    out.lacking.clear();
    return out;
  }
  if (!out.lacking.empty()) {
    bool lacks_excluded = std::ranges::any_of(q.excluded,
                                              [&](const std::string& v) { return !holds(v); });
    if (lacks_excluded || out.would_cover.empty()) out.would_cover = q.excluded;
    return out;
  }
  bool sure = std::ranges::all_of(
      out.covered_by, [&](const std::string& v) { return answer(v) == VerbAnswer::kYes; });
  out.answer = sure ? VerbAnswer::kYes : VerbAnswer::kIf;
  return out;
}

}  // namespace cardea::advice
