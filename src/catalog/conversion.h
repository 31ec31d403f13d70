#pragma once
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "catalog/catalog.h"
#include "json/value.h"

namespace cardea::catalog {

// Converts objects of custom resources whose definition names a webhook for it
// (`Resource::is_converted_by_webhook`). Shared between threads.
class WebhookConversion {
 public:
  virtual ~WebhookConversion() = default;

  // The objects in the version `to`, in the same order, pruned to its schema. Each may be in
  // another version of the resource; those that are in `to` already are not sent. Nothing but the
  // labels and annotations of their metadata can change. An error is the webhook's, in
  // Kubernetes' words: no object was converted.
  //
  // `to` and `catalog` live until the task completes. It continues on the loop it was called from.
  virtual Task<Result<std::vector<json::Value>>> convert(std::vector<json::Value> objects,
                                                         const Resource& to,
                                                         const Catalog& catalog) const = 0;
};

// The conversions that plain functions need. A function asks for an object in another version; if
// it is not known yet, the function gives up, the caller waits for what was asked for, and calls
// it again. For one request; borrows the catalogue's resources.
class Conversions {
 public:
  // Null: not known yet.
  const json::Value* find(const json::Value& object, const Resource& to);
  bool is_waiting() const { return !wanted_.empty(); }
  Task<Result<void>> fetch(const WebhookConversion& webhooks, const Catalog& catalog);

 private:
  struct Entry {
    json::Value object;
    const Resource* to;
    json::Value converted;
  };
  std::vector<Entry> known_, wanted_;
};

}  // namespace cardea::catalog
