#include "catalog/discovery.h"
#include "catalog/openapi/protobuf_message.h"
#include "schema/wire/protobuf_writer.h"

namespace cardea::catalog {

using json::Value;

namespace {

// The numbers are those of k8s.io.api.apidiscovery.v2. Texts are written even when they are empty.
Message group_version_kind(const Value& kind) {
  Message out;
  out.bytes(1, kind["group"].as_string());
  out.bytes(2, kind["version"].as_string());
  out.bytes(3, kind["kind"].as_string());
  return out;
}

Message subresource(const Value& sub) {
  Message out;
  out.bytes(1, sub["subresource"].as_string());
  if (sub["responseKind"].is_object()) out.message(2, group_version_kind(sub["responseKind"]));
  for (const Value& type : sub["acceptedTypes"].items()) out.message(3, group_version_kind(type));
  out.texts(4, sub["verbs"]);
  return out;
}

Message resource(const Value& r) {
  Message out;
  out.bytes(1, r["resource"].as_string());
  if (r["responseKind"].is_object()) out.message(2, group_version_kind(r["responseKind"]));
  out.bytes(3, r["scope"].as_string());
  out.bytes(4, r["singularResource"].as_string());
  out.texts(5, r["verbs"]);
  out.texts(6, r["shortNames"]);
  out.texts(7, r["categories"]);
  for (const Value& sub : r["subresources"].items()) out.message(8, subresource(sub));
  return out;
}

Message version(const Value& v) {
  Message out;
  out.bytes(1, v["version"].as_string());
  for (const Value& r : v["resources"].items()) out.message(2, resource(r));
  out.bytes(3, v["freshness"].as_string());
  return out;
}

const schema::Schema& type_of(const Catalog& catalog, std::string_view name) {
  const schema::Schema* type = catalog.type(name);
  CARDEA_CHECK(type);
  return *type;
}

}  // namespace

std::string aggregated_discovery_protobuf(const Catalog& catalog, const Value& document) {
  const schema::Schema &list_meta = type_of(catalog,
                                            "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"),
                       &object_meta = type_of(catalog,
                                              "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
  std::vector<std::string> groups;
  for (const Value& group : document["items"].items()) {
    Message out;
    out.bytes(1, schema::encode_protobuf(object_meta, group["metadata"]));
    for (const Value& v : group["versions"].items()) out.message(2, version(v));
    groups.push_back(std::move(out).take());
  }
  return schema::enveloped_list(document["apiVersion"].as_string(), document["kind"].as_string(),
                                schema::encode_protobuf(list_meta, document["metadata"]),
                                std::vector<std::string_view>(groups.begin(), groups.end()));
}

}  // namespace cardea::catalog
