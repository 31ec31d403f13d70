#include "base/strings.h"
#include "catalog/openapi/openapi_v3.h"
#include "catalog/openapi/protobuf_message.h"
#include "json/print.h"
#include "json/yaml.h"

namespace cardea::catalog {

using json::Value;

namespace {

// Free-form values are encoded as YAML in block style, members in the order of the document.
std::string block(const Value& value, std::size_t indent = 0) {
  const std::string pad(indent, ' ');
  if (!value.is_object() && !value.is_array())
    return value.is_string() ? json::print_yaml(value) : cat(json::print(value), "\n");
  std::string out;
  for (const Value& item : value.items()) {
    const std::string inside = block(item, indent + 2);
    const bool is_nested = item.is_object() || item.is_array();
    out += cat(pad, "- ", std::string_view(inside).substr(is_nested ? indent + 2 : 0));
  }
  for (const json::Member& member : value.members()) {
    const bool is_nested = member.value.is_object() || member.value.is_array();
    out += cat(pad, member.key(), is_nested ? ":\n" : ": ", block(member.value, indent + 2));
  }
  return out;
}

Message free_form(const Value& value) {
  Message out;
  out.text(2, block(value));
  return out;
}

void add_extensions(Message& out, int field, const Value& source) {
  for (const auto& member : source.members())
    if (member.key().starts_with("x-")) out.message(field, named(member, free_form));
}

Message schema_in_v3(const Value& s);

Message schema_or_reference(const Value& s) {
  if (!s.has("$ref")) return wrapped(1, schema_in_v3(s));
  Message reference;
  reference.text(1, s["$ref"].as_string());
  return wrapped(2, reference);
}

Message schemas_by_name(const Value& schemas) {
  Message out;
  for (const auto& member : schemas.members()) out.message(1, named(member, schema_or_reference));
  return out;
}

// One of three; also when it is false, zero or empty.
Message default_value(const Value& value) {
  Message out;
  if (value.is_bool())
    out.always_flag(2, value.as_bool());
  else if (value.is_string())
    out.bytes(3, value.as_string());
  else if (value.is_number())
    out.always_number(1, value.as_double());
  return out;
}

Message schema_in_v3(const Value& s) {
  Message out;
  out.flag(1, s["nullable"].as_bool());
  if (s.has("example")) out.message(7, free_form(s["example"]));
  out.flag(8, s["deprecated"].as_bool());
  out.text(9, s["title"].as_string());
  out.number(10, s["multipleOf"].as_double());
  out.number(11, s["maximum"].as_double());
  out.flag(12, s["exclusiveMaximum"].as_bool());
  out.number(13, s["minimum"].as_double());
  out.flag(14, s["exclusiveMinimum"].as_bool());
  out.integer(15, s["maxLength"].as_int());
  out.integer(16, s["minLength"].as_int());
  out.text(17, s["pattern"].as_string());
  out.integer(18, s["maxItems"].as_int());
  out.integer(19, s["minItems"].as_int());
  out.flag(20, s["uniqueItems"].as_bool());
  out.integer(21, s["maxProperties"].as_int());
  out.integer(22, s["minProperties"].as_int());
  out.texts(23, s["required"]);
  for (const Value& allowed : s["enum"].items()) out.message(24, free_form(allowed));
  out.text(25, s["type"].as_string());
  for (const Value& one : s["allOf"].items()) out.message(26, schema_or_reference(one));
  for (const Value& one : s["oneOf"].items()) out.message(27, schema_or_reference(one));
  for (const Value& one : s["anyOf"].items()) out.message(28, schema_or_reference(one));
  if (s.has("not")) out.message(29, schema_in_v3(s["not"]));
  if (s.has("items")) out.message(30, wrapped(1, schema_or_reference(s["items"])));
  if (s.has("properties")) out.message(31, schemas_by_name(s["properties"]));
  if (const Value* additional = s.find("additionalProperties")) {
    Message item;
    if (additional->is_bool())
      item.always_flag(2, additional->as_bool());
    else
      item.message(1, schema_or_reference(*additional));
    out.message(32, item);
  }
  if (s.has("default")) out.message(33, default_value(s["default"]));
  out.text(34, s["description"].as_string());
  out.text(35, s["format"].as_string());
  add_extensions(out, 36, s);
  return out;
}

Message media_type(const Value& m) {
  Message out;
  if (m.has("schema")) out.message(1, schema_or_reference(m["schema"]));
  return out;
}

Message content_of(const Value& content) {
  Message out;
  for (const auto& member : content.members()) out.message(1, named(member, media_type));
  return out;
}

Message parameter_in_v3(const Value& p) {
  Message out;
  out.text(1, p["name"].as_string());
  out.text(2, p["in"].as_string());
  out.text(3, p["description"].as_string());
  out.flag(4, p["required"].as_bool());
  if (p.has("schema")) out.message(10, schema_or_reference(p["schema"]));
  return wrapped(1, out);
}

Message response_in_v3(const Value& r) {
  Message out;
  out.text(1, r["description"].as_string());
  if (r.has("content")) out.message(3, content_of(r["content"]));
  return wrapped(1, out);
}

Message request_body(const Value& b) {
  Message out;
  out.text(1, b["description"].as_string());
  if (b.has("content")) out.message(2, content_of(b["content"]));
  out.flag(3, b["required"].as_bool());
  return wrapped(1, out);
}

Message operation_in_v3(const Value& o) {
  Message out;
  out.texts(1, o["tags"]);
  out.text(3, o["description"].as_string());
  out.text(5, o["operationId"].as_string());
  for (const Value& p : o["parameters"].items()) out.message(6, parameter_in_v3(p));
  if (o.has("requestBody")) out.message(7, request_body(o["requestBody"]));
  Message responses;
  for (const auto& member : o["responses"].members())
    responses.message(2, named(member, response_in_v3));
  out.message(8, responses);
  out.flag(10, o["deprecated"].as_bool());
  add_extensions(out, 13, o);
  return out;
}

Message path_in_v3(const Value& p) {
  Message out;
  constexpr std::string_view kMethods[] = {"get",     "put",  "post",  "delete",
                                           "options", "head", "patch", "trace"};
  for (int i = 0; i < 8; ++i)
    if (const Value* o = p.find(kMethods[i])) out.message(4 + i, operation_in_v3(*o));
  for (const Value& one : p["parameters"].items()) out.message(13, parameter_in_v3(one));
  return out;
}

Message security_scheme(const Value& s) {
  Message out;
  out.text(1, s["type"].as_string());
  out.text(2, s["description"].as_string());
  out.text(3, s["name"].as_string());
  out.text(4, s["in"].as_string());
  return wrapped(1, out);
}

Message strings_of(const Value& list) {
  Message out;
  out.texts(1, list);
  return out;
}

Message components_of(const Value& c) {
  Message out;
  if (c.has("schemas")) out.message(1, schemas_by_name(c["schemas"]));
  if (c.has("securitySchemes")) {
    Message schemes;
    for (const auto& member : c["securitySchemes"].members())
      schemes.message(1, named(member, security_scheme));
    out.message(7, schemes);
  }
  return out;
}

}  // namespace

std::string openapi_v3_protobuf(const Value& d) {
  Message out, info, paths;
  out.text(1, d["openapi"].as_string());
  info.text(1, d["info"]["title"].as_string());
  info.text(6, d["info"]["version"].as_string());
  out.message(2, info);
  for (const auto& member : d["paths"].members()) paths.message(1, named(member, path_in_v3));
  out.message(4, paths);
  if (d.has("components")) out.message(5, components_of(d["components"]));
  for (const Value& requirement : d["security"].items()) {
    Message one;
    for (const auto& member : requirement.members()) one.message(1, named(member, strings_of));
    out.message(6, one);
  }
  return std::move(out).take();
}

}  // namespace cardea::catalog
