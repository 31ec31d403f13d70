#include "rest/conversion/versions.h"

#include "catalog/conversion.h"
#include "rest/write/object_rules.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {

using catalog::Resource;
using json::Value;

Task<Result<std::vector<Value>>> convert_all(const Call& call, std::vector<Value> objects,
                                             const Resource& from, const Resource& to) {
  if (!to.is_converted_by_webhook) {
    for (Value& object : objects) object = converted(object, from, to);
    co_return std::move(objects);
  }
  if (!call.services.conversion)
    co_return fail(internal_error("this server calls no conversion webhooks"));
  Result<std::vector<Value>> out = co_await call.services.conversion->convert(std::move(objects),
                                                                              to, *call.catalog);
  co_return out;
}

Task<Result<Value>> convert_one(const Call& call, Value object, const Resource& from,
                                const Resource& to) {
  std::vector<Value> objects;
  objects.push_back(std::move(object));
  Result<std::vector<Value>> out = co_await convert_all(call, std::move(objects), from, to);
  if (!out) co_return fail(out.error());
  co_return std::move((*out)[0]);
}

Task<Result<Value>> read_as(const Call& call, store::RecordPtr record, const Resource& version) {
  Result<Value> out = co_await convert_one(call, parse_stored(*record),
                                           *call.catalog->storage_of(version), version);
  co_return out;
}

}  // namespace cardea::rest
