#include "schema/ownership/shape.h"

namespace cardea::schema {

const Schema& deduced_schema() {
  static const Schema deduced;
  return deduced;
}

const Schema& opaque_schema() {
  static const Schema opaque = [] {
    Schema schema;
    schema.map_type = Schema::MapType::kAtomic;
    return schema;
  }();
  return opaque;
}

}  // namespace cardea::schema
