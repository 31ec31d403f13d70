#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/catalog.h"

namespace cardea::app {

// Which of the built-in resources clients are served: --runtime-config.
class RuntimeConfig {
 public:
  // Entries such as `api/beta=false`, `apps/v1=true` or `batch/v1/jobs=false`. `known` has every
  // resource that could be served. An entry that cannot be followed is an error.
  static Result<RuntimeConfig> parse(const std::vector<std::string>& entries,
                                     const catalog::Catalog& known);

  bool is_off(const catalog::Resource& resource) const;

 private:
  struct Entry {
    std::string key;
    bool is_on;
  };
  std::vector<Entry> entries_;  // the most general first: later ones win
};

}  // namespace cardea::app
