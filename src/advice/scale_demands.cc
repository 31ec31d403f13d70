#include "advice/scale_demands.h"

#include <algorithm>

#include "catalog/scale.h"

namespace cardea::advice {

using json::Value;

ScaleDemands scale_demands(const catalog::Resource& r, const schema::ExcludedVerbs& excluded) {
  const schema::Schema& shape = *r.subresource("scale")->schema;
  auto tree = schema::PermissionTree::of_builtin(shape, "autoscaling", "Scale");
  schema::ChangedFields nothing(Value(), Value::object(), shape, {});
  ScaleDemands out{
      schema::demands_of(schema::FieldSet::of({{"f:spec", "f:replicas"}}), nothing, *tree, {})};
  auto scaled = [&r](int replicas) {
    return catalog::with_scale(
        Value::object(), Value::object({{"spec", Value::object({{"replicas", replicas}})}}), r);
  };
  auto one = scaled(1), two = scaled(2);
  out.knows_object = one && two;
  if (!out.knows_object) return out;
  schema::ChangedFields changed(
      *one, *two, r.permissions->compared() ? *r.permissions->compared() : *r.schema, {});
  const schema::Demands own = schema::demands_of(changed, *r.permissions, excluded);
  std::vector<std::string>& verbs = out.demands.verbs;
  const std::vector<std::uint32_t> chain = out.demands.fields[0].chain;
  for (schema::Demand d : own.fields) {
    if (d.excluded.empty() && d.inside.empty()) continue;
    d.chain = chain;
    for (auto* indexes : {&d.excluded, &d.inside})
      for (std::uint32_t& index : *indexes) {
        auto at = std::ranges::find(verbs, own.verbs[index]);
        if (at == verbs.end()) at = verbs.insert(at, own.verbs[index]);
        index = static_cast<std::uint32_t>(at - verbs.begin());
      }
    out.demands.fields.push_back(std::move(d));
  }
  return out;
}

}  // namespace cardea::advice
