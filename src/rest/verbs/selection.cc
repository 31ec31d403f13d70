#include "rest/verbs/selection.h"

#include <algorithm>

#include "base/strings.h"

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
  s.labels_ = options.labels;
  s.fields_ = options.fields;
  return s;
}

bool Selection::matches(const json::Value& object) const {
  if (!labels_.matches(object["metadata"]["labels"])) return false;
  for (const auto& term : fields_.terms())
    if ((field_value(*resource_, object, term.field) == term.value) != term.equal) return false;
  return true;
}

}  // namespace cardea::rest
