#include "catalog/openapi/descriptions.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::catalog::openapi {

namespace {

// Takes the first line, without its end, from `text`.
std::string_view take_line(std::string_view& text) {
  auto end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

bool continues(std::string_view text) {
  return text.starts_with("    ");
}

bool is_ignored(std::string_view line) {
  return trim(line).empty() || line.starts_with('#');
}

// One text from its lines.
std::string joined(std::string_view lines) {
  std::string out;
  while (!lines.empty()) {
    std::string_view part = trim(take_line(lines));
    if (part.empty()) continue;
    if (!out.empty()) out += ' ';
    out += part;
  }
  return out;
}

// Takes the lines that continue a text whose rest of the first line is `first`.
std::string_view with_continuation(std::string_view first, std::string_view& following) {
  std::size_t size = first.size();
  while (continues(following)) {
    std::string_view line = take_line(following);
    size = static_cast<std::size_t>(line.data() + line.size() - first.data());
  }
  return {first.data(), size};
}

std::string_view short_name(std::string_view type_name) {
  if (type_name.starts_with("io.k8s.")) type_name.remove_prefix(7);
  return type_name;
}

std::string_view last_label(std::string_view type_name) {
  return type_name.substr(type_name.rfind('.') + 1);
}

}  // namespace

Descriptions::Descriptions(std::string_view text) {
  Entry* last = nullptr;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (is_ignored(line)) continue;
    if (line.starts_with(' ')) {
      if (!last) continue;
      if (last->fields.empty()) last->fields = line;
      // The lines of one type follow each other.
      std::size_t size = static_cast<std::size_t>(line.data() + line.size() - last->fields.data());
      last->fields = {last->fields.data(), size};
      continue;
    }
    auto colon = std::min(line.find(':'), line.size());
    std::string_view first = line.substr(std::min(colon + 1, line.size()));
    last = &types_[line.substr(0, colon)];
    *last = {.text = with_continuation(first, text), .fields = {}};
  }
}

const Descriptions& Descriptions::embedded() {
  static const Descriptions kEmbedded(description_texts());
  return kEmbedded;
}

const Descriptions::Entry* Descriptions::find(std::string_view type_name) const {
  auto at = types_.find(short_name(type_name));
  return at == types_.end() ? nullptr : &at->second;
}

std::string Descriptions::of_type(const BuiltinTypes::Type& type) const {
  std::string_view name = type.schema->type_name;
  if (const Entry* entry = find(name))
    if (std::string text = joined(entry->text); !text.empty()) return text;
  const schema::Property* items = type.schema->property("items");
  if (type.kinds.empty() || !name.ends_with("List") || !items) return "";
  return cat(last_label(name), " is a list of ", last_label(items->schema->items->type_name));
}

std::string Descriptions::of_field(const BuiltinTypes::Type& type, std::string_view field) const {
  std::string_view next = type.schema->type_name;
  while (const Entry* entry = find(next)) {
    next = {};
    std::string_view rest = entry->fields;
    while (!rest.empty()) {
      std::string_view line = trim(take_line(rest));
      std::string_view text = with_continuation(line, rest);
      if (line.starts_with("= ")) next = line.substr(2);
      if (line.starts_with(field) && line.substr(field.size()).starts_with(':'))
        return joined(text.substr(field.size() + 1));
    }
  }
  if (type.kinds.empty()) return "";
  return std::string(
      describe_common_field(field, std::string_view(type.schema->type_name).ends_with("List")));
}

// Tests of clients look for the beginnings of some of these texts in `kubectl explain`, and of
// those about ObjectMeta.
std::string_view describe_common_field(std::string_view field, bool is_list) {
  if (field == "apiVersion")
    return "APIVersion defines the group and version of the schema this object is written in.";
  if (field == "kind") return "Kind names the type of this object, in CamelCase.";
  if (field == "metadata")
    return is_list ? "Standard list metadata."
                   : "Standard object's metadata: name, labels, owners.";
  if (field == "spec") return "The desired state.";
  if (field == "status") return "The last observed state. Written by the system.";
  if (field == "items") return "The objects of the list.";
  return "";
}

}  // namespace cardea::catalog::openapi
