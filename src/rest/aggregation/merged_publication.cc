#include "rest/aggregation/merged_publication.h"

#include <algorithm>

#include "base/strings.h"
#include "catalog/discovery.h"
#include "catalog/openapi/openapi_v2.h"
#include "json/parse.h"
#include "json/print.h"
#include "rest/aggregation/aggregator.h"

namespace cardea::rest {

using json::Value;

bool MergedPublication::is_aggregating() const {
  return aggregator_ && !aggregator_->table()->remotes.empty();
}

MergedPublication::Document MergedPublication::keep(Kind kind, const catalog::Catalog& catalog,
                                                    const std::function<std::string()>& make) {
  const std::uint64_t table = aggregator_->table()->generation;
  std::lock_guard lock(mutex_);
  Kept& kept = kept_[kind];
  if (!kept.document || kept.catalog != catalog.generation() || kept.table != table)
    kept = {catalog.generation(), table, catalog::publish(make())};
  return kept.document;
}

MergedPublication::Document MergedPublication::aggregated_discovery(const catalog::Catalog& catalog,
                                                                    bool core, bool protobuf) {
  if (core || !is_aggregating())
    return protobuf ? own_.aggregated_discovery_protobuf(catalog, core)
                    : own_.aggregated_discovery(catalog, core);
  return keep(protobuf ? kDiscoveryProtobuf : kDiscovery, catalog, [&] {
    const Value merged = merged_discovery(catalog::aggregated_discovery(catalog, false),
                                          aggregator_->table()->all);
    return protobuf ? catalog::aggregated_discovery_protobuf(catalog, merged) : json::print(merged);
  });
}

MergedPublication::Document MergedPublication::openapi_v2(const catalog::Catalog& catalog,
                                                          bool protobuf) {
  auto own = [&] {
    return protobuf ? own_.openapi_v2_protobuf(catalog) : own_.openapi_v2(catalog);
  };
  if (!is_aggregating()) return own();
  const auto table = aggregator_->table();
  const bool has_some = std::ranges::any_of(
      table->all, [](const Described& d) { return d.documents.openapi_v2.is_object(); });
  if (!has_some) return own();
  return keep(protobuf ? kV2Protobuf : kV2, catalog, [&] {
    auto parsed = json::parse(own_.openapi_v2(catalog)->body);
    const Value merged = merged_openapi_v2(parsed ? std::move(*parsed) : Value(), table->all);
    return protobuf ? catalog::openapi_v2_protobuf(merged) : json::print(merged);
  });
}

MergedPublication::Document MergedPublication::openapi_v3_index(const catalog::Catalog& catalog) {
  if (!is_aggregating()) return own_.openapi_v3_index(catalog);
  return keep(kV3, catalog, [&] {
    auto parsed = json::parse(own_.openapi_v3_index(catalog)->body);
    return json::print(
        merged_openapi_v3(parsed ? std::move(*parsed) : Value(), aggregator_->table()->all));
  });
}

Value MergedPublication::group_list(const catalog::Catalog& catalog) const {
  Value own = catalog::group_list(catalog);
  return is_aggregating() ? merged_group_list(std::move(own), aggregator_->table()->all) : own;
}

std::optional<Value> MergedPublication::group(const catalog::Catalog& catalog,
                                              std::string_view name) const {
  std::optional<Value> own = catalog::group(catalog, name);
  return is_aggregating() ? merged_group(std::move(own), name, aggregator_->table()->all) : own;
}

std::vector<std::string> MergedPublication::paths(std::vector<std::string> own) const {
  if (!is_aggregating()) return own;
  for (const auto& [key, remote] : aggregator_->table()->remotes) {
    own.push_back(cat("/apis/", remote->service.group));
    own.push_back(cat("/apis/", key));
  }
  std::ranges::sort(own);
  own.erase(std::unique(own.begin(), own.end()), own.end());
  return own;
}

}  // namespace cardea::rest
