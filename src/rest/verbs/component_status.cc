// ComponentStatus: how the store and the programs beside this server are, found out when asked.
#include "base/strings.h"
#include "base/time_parse.h"
#include "rest/present/status.h"
#include "rest/verbs/options.h"
#include "rest/verbs/selection.h"
#include "rest/verbs/subresources.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {

using json::Value;

namespace {

// Empty when the program renewed its lease in time. A lease is found wherever the program runs.
std::string trouble_of(Call& call, std::string_view program) {
  const std::string name = cat("kube-system/", program);
  store::RecordPtr record = call.services.store.get(cat("/registry/leases/", name));
  if (!record) return cat("there is no Lease ", name);
  const Value lease = parse_stored(*record);
  if (lease["spec"]["holderIdentity"].as_string().empty()) return cat("no one holds Lease ", name);
  auto renewed = parse_rfc3339_micro(lease["spec"]["renewTime"].as_string());
  if (!renewed) return cat("Lease ", name, " has no time of renewal");
  const std::chrono::seconds duration(lease["spec"]["leaseDurationSeconds"].as_int());
  const std::string now = rfc3339_micro(call.services.clock.now() - duration);
  if (print_rfc3339_micro(*renewed) >= now) return "";
  return cat("Lease ", name, " was not renewed since ", print_rfc3339(*renewed));
}

Value component(std::string_view name, std::string_view trouble) {
  Value condition = Value::object({{"type", "Healthy"},
                                   {"status", trouble.empty() ? "True" : "False"},
                                   {"message", trouble.empty() ? "ok" : trouble}});
  return Value::object(
      {{"metadata", Value::object({{"name", name}})}, {"conditions", Value::array({condition})}});
}

}  // namespace

Task<Result<Answer>> component_statuses(Call& call) {
  const catalog::Resource& r = *call.resource;
  Value all[] = {component("controller-manager", trouble_of(call, "kube-controller-manager")),
                 component("scheduler", trouble_of(call, "kube-scheduler")),
                 component("store", call.services.store.stats().trouble)};
  if (call.info.verb == "get") {
    for (Value& one : all) {
      if (one["metadata"]["name"].as_string() != call.info.name) continue;
      Value object = Value::object({{"kind", r.kind}, {"apiVersion", r.api_version()}});
      for (auto key : {"metadata", "conditions"}) object.set(key, std::move(one.member(key)));
      co_return Answer::of(std::move(object));
    }
    co_return fail(not_found(r, call.info.name));
  }
  auto options = list_options(call.info);
  if (!options) co_return fail(options.error());
  auto selection = Selection::make(r, *options);
  if (!selection) co_return fail(selection.error());
  Value items = Value::array();
  for (Value& one : all)
    if (selection->matches(one)) items.push_back(std::move(one));
  Answer answer = Answer::of(Value::object({{"kind", r.list_kind},
                                            {"apiVersion", r.api_version()},
                                            {"metadata", Value::object()},
                                            {"items", std::move(items)}}));
  answer.is_list = true;
  co_return answer;
}

}  // namespace cardea::rest
