#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/task.h"
#include "rest/catalog_holder.h"
#include "rest/loopback.h"
#include "store/store.h"

namespace cardea::rest {

// Keeps the catalogue in step with the CustomResourceDefinitions: accepts their names, serves
// established definitions, and removes deleted ones after their objects. Works on the loop of
// its Loopback.
class DefinitionServer {
 public:
  // `published` is called with each new catalogue, on the loop.
  using Published = std::function<void(std::shared_ptr<const catalog::Catalog>)>;
  DefinitionServer(store::Store& store, CatalogHolder& catalog, const Loopback& api,
                   const Clock& clock, Published published = {});
  ~DefinitionServer();

  // Serves what is stored. Returns when the catalogue has it. From outside the loop, once.
  void start();
  // From outside the loop.
  void stop();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace cardea::rest
