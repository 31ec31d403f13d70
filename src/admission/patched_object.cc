#include "admission/patched_object.h"

#include "base/strings.h"
#include "json/parse.h"
#include "schema/custom/defaults.h"
#include "schema/wire/decode.h"

namespace cardea::admission {

using json::Value;

Result<Value> completed(const Value& object, const Review& r, const catalog::Resource& as) {
  const catalog::Subresource* sub = r.subresource.empty() ? nullptr : as.subresource(r.subresource);
  // Most subresources show the object itself; some have their own document.
  const bool is_own = sub == nullptr || sub->kind.empty() || sub->kind == as.kind;
  if (as.is_custom && is_own)
    return r.subresource.empty() ? schema::apply_defaults(*as.schema, object) : object;
  const schema::Schema* schema = is_own ? as.schema : sub->schema;
  if (schema == nullptr) return object;
  auto decoded = schema::decode(*schema, {.value = object, .duplicates = {}, .duplicate_lines = {}},
                                "");
  if (!decoded) return fail(decoded.error());
  Value out = std::move(decoded->value);
  if (is_own && as.strategy->defaults) {
    const catalog::StrategyContext context{
        .group = as.group, .version = as.version, .resource = as.name};
    as.strategy->defaults(out, context);
    out = schema::normalize(*as.schema, out);
  }
  return out;
}

Error internal_failure(const std::string& why) {
  return Error::of(Reason::kInternalError, cat("Internal error occurred: ", why))
      .with({.causes = {{"", why, ""}}});
}

}  // namespace cardea::admission
