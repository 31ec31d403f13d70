#include "rest/verbs/selection.h"

#include <algorithm>

#include "base/strings.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

bool is_metadata_field(const catalog::Resource& r, std::string_view field) {
  return field == "metadata.name" || (field == "metadata.namespace" && r.namespaced);
}

std::vector<std::string> selectable_fields(const catalog::Resource& r) {
  if (!r.is_custom) return r.strategy->selectable_fields;
  std::vector<std::string> fields;
  for (const json::Value& f : r.custom_version["selectableFields"].items()) {
    std::string_view path = f["jsonPath"].as_string();
    fields.emplace_back(path.starts_with('.') ? path.substr(1) : path);
  }
  return fields;
}

std::string field_value(const catalog::Resource& r, const json::Value& object,
                        std::string_view field) {
  if (field == "metadata.name") return std::string(object["metadata"]["name"].as_string());
  if (field == "metadata.namespace")
    return std::string(object["metadata"]["namespace"].as_string());
  if (!r.is_custom)
    return r.strategy->selectable_field ? r.strategy->selectable_field(object, field) : "";
  const json::Value* at = &object;
  for (std::string_view part : split(field, '.')) at = &(*at)[part];
  if (at->is_string()) return std::string(at->as_string());
  if (at->is_bool()) return at->as_bool() ? "true" : "false";
  return at->is_int() ? std::to_string(at->as_int()) : "";
}

Error unknown_field(const catalog::Resource& r, const std::vector<std::string>& known,
                    std::string_view field) {
  std::string_view form = r.strategy->unknown_field;
  if (form.empty() && (r.is_custom || !known.empty())) form = "field label not supported: {}";
  if (form.empty())
    return bad_request(
        cat(quoted(field),
            " is not a known field selector: only \"metadata.name\", \"metadata.namespace\""));
  auto at = form.find("{}");
  return bad_request(cat(form.substr(0, at), field, form.substr(at + 2)));
}

}  // namespace

Result<Selection> Selection::make(const catalog::Resource& resource, const ListOptions& options) {
  std::vector<std::string> known = selectable_fields(resource);
  for (const auto& term : options.fields.terms())
    if (!is_metadata_field(resource, term.field) &&
        std::ranges::find(known, term.field) == known.end())
      return fail(unknown_field(resource, known, term.field));
  Selection s;
  s.resource_ = &resource;
  s.selects_all_ = options.labels.empty() && options.fields.empty();
  s.labels_ = json::LabelMatcher(options.labels);
  for (const auto& term : options.fields.terms()) {
    auto at = std::ranges::find(s.fields_, term.field, &Condition::field);
    if (at == s.fields_.end()) at = s.fields_.insert(at, Condition{.field = term.field});
    if (!term.equal)
      at->unwanted.push_back(term.value);
    else if (at->value && *at->value != term.value)
      s.selects_none_ = true;
    else
      at->value = term.value;
  }
  for (Condition& c : s.fields_) std::ranges::sort(c.unwanted);
  s.name_ = options.fields.exact("metadata.name").value_or("");
  if (resource.namespaced) s.namespace_ = options.fields.exact("metadata.namespace").value_or("");
  return s;
}

store::KeyRange keys_of(const catalog::Resource& resource, std::string_view namespace_name,
                        const Selection& selection) {
  if (namespace_name.empty()) namespace_name = selection.namespace_name();
  const bool is_one = !selection.name().empty() &&
                      (!resource.namespaced || !namespace_name.empty());
  if (!is_one) return store::keys_with_prefix(collection_prefix(resource, namespace_name));
  std::string key = object_key(resource, namespace_name, selection.name());
  std::string end = key + '\0';
  return {std::move(key), std::move(end)};
}

bool Selection::matches(const json::Value& object) const {
  if (selects_none_ || !labels_.matches(object["metadata"]["labels"])) return false;
  for (const Condition& c : fields_) {
    const std::string value = field_value(*resource_, object, c.field);
    if (c.value && value != *c.value) return false;
    if (std::ranges::binary_search(c.unwanted, value)) return false;
  }
  return true;
}

}  // namespace cardea::rest
