#include "admission/plugins/pod_resources.h"

#include <string_view>

namespace cardea::admission {

using json::Value;

Amounts read_amounts(const Value& list) {
  Amounts out;
  for (const json::Member& m : list.members()) {
    auto amount = m.value.is_string() ? Quantity::parse(m.value.as_string())
                                      : Result<Quantity>(Quantity(m.value.as_int()));
    if (amount) out.emplace(m.key(), std::move(*amount));
  }
  return out;
}

Value write_amounts(const Amounts& amounts) {
  Value out = Value::object();
  for (const auto& [name, amount] : amounts) out.set(name, amount.print());
  return out;
}

void add_amounts(Amounts& to, const Amounts& more) {
  for (const auto& [name, amount] : more) {
    auto [at, is_new] = to.emplace(name, amount);
    if (!is_new) at->second += amount;
  }
}

void take_greater(Amounts& to, const Amounts& other) {
  for (const auto& [name, amount] : other) {
    auto [at, is_new] = to.emplace(name, amount);
    if (!is_new && at->second < amount) at->second = amount;
  }
}

Amounts pod_amounts(const Value& pod, std::string_view which, bool with_overhead) {
  const Value& spec = pod["spec"];
  Amounts total, sidecars, first;
  for (const Value& c : spec["containers"].items())
    add_amounts(total, read_amounts(c["resources"][which]));
  for (const Value& c : spec["initContainers"].items()) {
    Amounts own = read_amounts(c["resources"][which]);
    if (c["restartPolicy"].as_string() == "Always") {
      add_amounts(total, own);
      add_amounts(sidecars, own);
      own = sidecars;
    } else {
      add_amounts(own, sidecars);
    }
    take_greater(first, own);
  }
  take_greater(total, first);
  for (auto& [name, amount] : read_amounts(spec["resources"][which])) total[name] = amount;
  if (!with_overhead) return total;
  for (const auto& [name, amount] : read_amounts(spec["overhead"])) {
    // A limit that is not there is not made by overhead.
    auto at = total.find(name);
    if (at != total.end())
      at->second += amount;
    else if (which == "requests")
      total.emplace(name, amount);
  }
  return total;
}

}  // namespace cardea::admission
