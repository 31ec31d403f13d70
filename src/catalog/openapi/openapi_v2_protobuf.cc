#include "catalog/openapi/openapi_v2.h"
#include "catalog/openapi/protobuf_message.h"
#include "json/print.h"

namespace cardea::catalog {

using json::Value;

namespace {

// Free-form values are encoded as YAML text; JSON is YAML.
Message any(const Value& value) {
  Message out;
  out.text(2, json::print(value));
  return out;
}

void extensions(Message& out, int field, const Value& source) {
  for (const auto& member : source.members())
    if (member.key().starts_with("x-")) out.message(field, named(member, any));
}

Message schema(const Value& s) {
  Message out;
  out.text(1, s["$ref"].as_string());
  out.text(2, s["format"].as_string());
  out.text(3, s["title"].as_string());
  out.text(4, s["description"].as_string());
  if (s.has("default")) out.message(5, any(s["default"]));
  out.number(6, s["multipleOf"].as_double());
  out.number(7, s["maximum"].as_double());
  out.flag(8, s["exclusiveMaximum"].as_bool());
  out.number(9, s["minimum"].as_double());
  out.flag(10, s["exclusiveMinimum"].as_bool());
  out.integer(11, s["maxLength"].as_int());
  out.integer(12, s["minLength"].as_int());
  out.text(13, s["pattern"].as_string());
  out.integer(14, s["maxItems"].as_int());
  out.integer(15, s["minItems"].as_int());
  out.flag(16, s["uniqueItems"].as_bool());
  out.integer(17, s["maxProperties"].as_int());
  out.integer(18, s["minProperties"].as_int());
  out.texts(19, s["required"]);
  for (const Value& allowed : s["enum"].items()) out.message(20, any(allowed));
  if (const Value* additional = s.find("additionalProperties")) {
    Message item;
    if (additional->is_bool())
      item.flag(2, additional->as_bool());
    else
      item.message(1, schema(*additional));
    out.message(21, item);
  }
  if (s["type"].is_string()) {
    Message type;
    type.text(1, s["type"].as_string());
    out.message(22, type);
  }
  if (s.has("items")) out.message(23, wrapped(1, schema(s["items"])));
  if (s.has("properties")) {
    Message properties;
    for (const auto& member : s["properties"].members())
      properties.message(1, named(member, schema));
    out.message(25, properties);
  }
  extensions(out, 31, s);
  return out;
}

Message parameter(const Value& p) {
  std::string_view in = p["in"].as_string();
  if (in == "body") {
    Message body;
    body.text(1, p["description"].as_string());
    body.text(2, p["name"].as_string());
    body.text(3, in);
    body.flag(4, p["required"].as_bool());
    body.message(5, schema(p["schema"]));
    return wrapped(1, wrapped(1, body));
  }
  bool query = in == "query";
  Message out;
  out.flag(1, p["required"].as_bool());
  out.text(2, in);
  out.text(3, p["description"].as_string());
  out.text(4, p["name"].as_string());
  out.text(query ? 6 : 5, p["type"].as_string());
  out.flag(query ? 20 : 19, p["uniqueItems"].as_bool());
  return wrapped(1, wrapped(2, wrapped(query ? 3 : 4, out)));
}

Message response(const Value& r) {
  Message out;
  out.text(1, r["description"].as_string());
  if (r.has("schema")) out.message(2, wrapped(1, schema(r["schema"])));
  return wrapped(1, out);
}

Message operation(const Value& o) {
  Message out;
  out.texts(1, o["tags"]);
  out.text(3, o["description"].as_string());
  out.text(5, o["operationId"].as_string());
  out.texts(6, o["produces"]);
  out.texts(7, o["consumes"]);
  for (const Value& p : o["parameters"].items()) out.message(8, parameter(p));
  Message responses;
  for (const auto& member : o["responses"].members()) responses.message(1, named(member, response));
  out.message(9, responses);
  out.texts(10, o["schemes"]);
  extensions(out, 13, o);
  return out;
}

Message path_item(const Value& p) {
  Message out;
  constexpr std::string_view kMethods[] = {"get",     "put",  "post", "delete",
                                           "options", "head", "patch"};
  for (int i = 0; i < 7; ++i)
    if (const Value* o = p.find(kMethods[i])) out.message(2 + i, operation(*o));
  for (const Value& parameter_value : p["parameters"].items())
    out.message(9, parameter(parameter_value));
  return out;
}

Message security_definition(const Value& d) {
  Message key;
  key.text(1, d["type"].as_string());
  key.text(2, d["name"].as_string());
  key.text(3, d["in"].as_string());
  key.text(4, d["description"].as_string());
  return wrapped(2, key);
}

Message text_list(const Value& list) {
  Message out;
  out.texts(1, list);
  return out;
}

}  // namespace

std::string openapi_v2_protobuf(const Value& d) {
  Message out;
  out.text(1, d["swagger"].as_string());
  Message info;
  info.text(1, d["info"]["title"].as_string());
  info.text(2, d["info"]["version"].as_string());
  out.message(2, info);
  Message paths;
  for (const auto& member : d["paths"].members()) paths.message(2, named(member, path_item));
  out.message(8, paths);
  Message definitions;
  for (const auto& member : d["definitions"].members())
    definitions.message(1, named(member, schema));
  out.message(9, definitions);
  for (const Value& requirement : d["security"].items()) {
    Message one;
    for (const auto& member : requirement.members()) one.message(1, named(member, text_list));
    out.message(12, one);
  }
  Message security;
  for (const auto& member : d["securityDefinitions"].members())
    security.message(1, named(member, security_definition));
  out.message(13, security);
  return std::move(out).take();
}

}  // namespace cardea::catalog
