#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/catalog.h"
#include "json/field_error.h"
#include "json/parse.h"
#include "schema/wire/decode.h"

namespace cardea::rest {

// The rules for objects of one resource. Built-in kinds follow their types and strategies,
// custom kinds their definition's schema; no other code distinguishes the two.

// The typed or pruned form of a body, with defaults; `without_defaults`, where given, gets it
// before they are added.
Result<schema::Decoded> decode_form(const catalog::Catalog& catalog,
                                    const catalog::Resource& resource, const schema::Schema& schema,
                                    const json::Document& document, std::string_view text,
                                    json::Value* without_defaults = nullptr);

void prepare_for_create(json::Value& object, const catalog::Resource& resource,
                        const catalog::StrategyContext& context);
void prepare_for_update(json::Value& object, const json::Value& old,
                        const catalog::Resource& resource, const catalog::StrategyContext& context);

// `warnings` receives errors that existed before the write and are accepted.
json::FieldErrors validate_create(const json::Value& object, const catalog::Catalog& catalog,
                                  const catalog::Resource& resource,
                                  const catalog::StrategyContext& context,
                                  std::vector<std::string>& warnings);
json::FieldErrors validate_update(const json::Value& object, const json::Value& old,
                                  const catalog::Catalog& catalog,
                                  const catalog::Resource& resource,
                                  const catalog::StrategyContext& context,
                                  std::vector<std::string>& warnings);

// The object in another version of the same resource. A custom object gets the defaults of the
// version that it is in, not those of the other one.
json::Value converted(const json::Value& object, const catalog::Resource& from,
                      const catalog::Resource& to);

}  // namespace cardea::rest
