#include "catalog/ignored_fields.h"

#include "schema/ownership/managed_fields.h"

namespace cardea::catalog {

schema::IgnoredFields ignored_fields(const Resource& r, std::string_view subresource,
                                     bool is_create) {
  const bool has_status = r.subresource("status") != nullptr;
  schema::IgnoredFields out{schema::IgnoredFields::of_server(is_create), {}};
  if (!is_create) {
    // `finalize` writes the object itself.
    const std::string_view written = subresource == "finalize" ? "" : subresource;
    out.reset = schema::kept_fields(r.group, r.kind, written, r.is_custom, has_status);
  } else if (has_status && !r.strategy->brings_status) {
    out.reset.insert({"f:status"});
  }
  return out;
}

}  // namespace cardea::catalog
