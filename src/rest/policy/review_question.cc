#include "rest/policy/review_question.h"

#include "authz/namespace_policy/documents.h"
#include "authz/namespace_policy/parts.h"
#include "base/strings.h"

namespace cardea::rest::policy {

using authz::namespace_policy::stored_verb;
using catalog::Resource;
using json::Value;

namespace {

bool is_called(const Resource& r, std::string_view text) {
  if (equals_ignoring_case(r.name, text) || equals_ignoring_case(r.singular, text) ||
      equals_ignoring_case(r.kind, text))
    return true;
  for (const std::string& s : r.short_names)
    if (equals_ignoring_case(s, text)) return true;
  return false;
}

const Resource* find_in(const catalog::Group& group, std::string_view text) {
  for (const catalog::Version& version : group.versions)
    for (const Resource* r : version.resources)
      if (is_called(*r, text)) return r;
  return nullptr;
}

const Resource* find_anywhere(const catalog::Catalog& catalog, std::string_view text) {
  for (const catalog::Group& group : catalog.groups())
    if (group.name == authz::namespace_policy::kGroup)
      if (const Resource* r = find_in(group, text)) return r;
  for (const catalog::Group& group : catalog.groups())
    if (const Resource* r = find_in(group, text)) return r;
  // With its group.
  auto dot = text.find('.');
  if (dot == std::string_view::npos) return nullptr;
  for (const catalog::Group& group : catalog.groups())
    if (equals_ignoring_case(group.name, text.substr(dot + 1)))
      return find_in(group, text.substr(0, dot));
  return nullptr;
}

// `exec` of `pods` asks about the request that this means.
void open_stream(ReviewQuestion& q) {
  if (!q.resource.subresource.empty() || !authz::namespace_policy::is_stream_word(q.verb)) return;
  const Resource* r = q.resource.resource;
  if (!r || !r->subresource(q.verb)) return;
  q.resource.subresource = q.verb;
  q.verb = q.verb == "log" ? "get" : "create";
}

void need(const Value& v, const char* field, json::FieldErrors& errors) {
  if (v.as_string().empty()) errors.push_back(json::required(field));
}

}  // namespace

NamedResource find_resource(const catalog::Catalog& catalog, std::string_view text) {
  auto slash = text.find('/');
  std::string_view name = text.substr(0, slash);
  NamedResource out;
  if (slash != std::string_view::npos) out.subresource = lower(text.substr(slash + 1));
  out.resource = find_anywhere(catalog, name);
  if (out.resource) {
    out.group = out.resource->group;
    out.version = out.resource->version;
    out.name = out.resource->name;
  } else {
    out.name = lower(name);
  }
  return out;
}

authz::Attributes ReviewQuestion::attributes(const authz::User& user) const {
  authz::Attributes a(user);
  a.verb = verb;
  a.is_resource_request = !is_path;
  if (is_path) {
    a.path = path;
    return a;
  }
  a.api_group = resource.group;
  a.api_version = resource.version;
  a.resource = resource.name;
  a.subresource = resource.subresource;
  a.namespace_name = namespace_name;
  a.name = resource_name;
  return a;
}

ReviewQuestion read_question(const Value& spec, std::string_view namespace_name,
                             const catalog::Catalog& catalog, json::FieldErrors& errors) {
  need(spec["verb"], "spec.verb", errors);
  need(spec["resourceKind"], "spec.resourceKind", errors);
  ReviewQuestion out;
  out.verb = stored_verb(spec["verb"].as_string());
  out.namespace_name = namespace_name;
  out.resource_name = spec["resourceName"].as_string();
  out.resource = find_resource(catalog, spec["resourceKind"].as_string());
  out.content = spec["content"];
  open_stream(out);
  return out;
}

ReviewQuestion read_flat_question(const Value& review, const catalog::Catalog& catalog,
                                  json::FieldErrors& errors) {
  ReviewQuestion out;
  out.is_path = review["isNonResourceURL"].as_bool();
  out.path = review["path"].as_string();
  need(review["verb"], "verb", errors);
  if (out.is_path)
    need(review["path"], "path", errors);
  else
    need(review["resource"], "resource", errors);
  out.verb = stored_verb(review["verb"].as_string());
  out.namespace_name = review["namespace"].as_string();
  out.resource_name = review["resourceName"].as_string();
  out.content = review["content"];
  std::string_view text = review["resource"].as_string(),
                   group = review["resourceAPIGroup"].as_string(),
                   version = review["resourceAPIVersion"].as_string();
  std::string_view name = text.substr(0, text.find('/'));
  // What says its group is taken at its word; what does not, by its name.
  bool is_exact = !group.empty() || !version.empty() || name == "*";
  if (!is_exact) {
    out.resource = find_resource(catalog, text);
    open_stream(out);
    return out;
  }
  out.resource = {
      .group = std::string(group),
      .version = std::string(version),
      .name = std::string(name),
      .subresource = std::string(name.size() < text.size() ? text.substr(name.size() + 1)
                                                           : std::string_view())};
  for (const catalog::Group& g : catalog.groups())
    for (const catalog::Version& v : g.versions)
      for (const Resource* r : v.resources)
        if (!out.resource.resource && g.name == group && (version.empty() || v.name == version) &&
            r->name == name)
          out.resource.resource = r;
  if (out.resource.resource) out.resource.version = out.resource.resource->version;
  open_stream(out);
  return out;
}

}  // namespace cardea::rest::policy
