#pragma once
#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/openapi/publication.h"
#include "json/value.h"

namespace cardea::rest {

class Aggregator;

// The documents in which this server describes itself and the servers behind it. While nothing is
// aggregated they are the publication's own. Otherwise each is merged at the first request for it,
// and kept until the catalogue or an APIService changes. Any thread.
class MergedPublication {
 public:
  using Document = catalog::Publication::Document;

  explicit MergedPublication(catalog::Publication& own) : own_(own) {}
  void set_aggregator(const Aggregator* aggregator) { aggregator_ = aggregator; }

  Document aggregated_discovery(const catalog::Catalog& catalog, bool core, bool protobuf);
  Document openapi_v2(const catalog::Catalog& catalog, bool protobuf);
  Document openapi_v3_index(const catalog::Catalog& catalog);
  json::Value group_list(const catalog::Catalog& catalog) const;
  std::optional<json::Value> group(const catalog::Catalog& catalog, std::string_view name) const;
  // `own` with the paths of other servers' groups, sorted.
  std::vector<std::string> paths(std::vector<std::string> own) const;

 private:
  enum Kind : std::size_t { kDiscovery, kDiscoveryProtobuf, kV2, kV2Protobuf, kV3, kKinds };
  struct Kept {
    std::uint64_t catalog = 0, table = 0;
    Document document;
  };
  bool is_aggregating() const;
  Document keep(Kind kind, const catalog::Catalog& catalog,
                const std::function<std::string()>& make);

  catalog::Publication& own_;
  const Aggregator* aggregator_ = nullptr;
  std::mutex mutex_;
  std::array<Kept, kKinds> kept_;
};

}  // namespace cardea::rest
