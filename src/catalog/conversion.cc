#include "catalog/conversion.h"

namespace cardea::catalog {

using json::Value;

const Value* Conversions::find(const Value& object, const Resource& to) {
  auto is_it = [&](const Entry& e) { return e.to == &to && e.object == object; };
  for (const Entry& e : known_)
    if (is_it(e)) return &e.converted;
  for (const Entry& e : wanted_)
    if (is_it(e)) return nullptr;
  wanted_.push_back({object, &to, Value()});
  return nullptr;
}

Task<Result<void>> Conversions::fetch(const WebhookConversion& webhooks, const Catalog& catalog) {
  std::vector<Entry> wanted = std::exchange(wanted_, {});
  while (!wanted.empty()) {
    const Resource* to = wanted.back().to;
    std::vector<Entry> batch;
    std::vector<Value> objects;
    std::erase_if(wanted, [&](Entry& e) {
      if (e.to != to) return false;
      objects.push_back(e.object);
      batch.push_back(std::move(e));
      return true;
    });
    Result<std::vector<Value>> converted = co_await webhooks.convert(std::move(objects), *to,
                                                                     catalog);
    if (!converted) co_return fail(converted.error());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      batch[i].converted = std::move((*converted)[i]);
      known_.push_back(std::move(batch[i]));
    }
  }
  co_return Result<void>();
}

}  // namespace cardea::catalog
