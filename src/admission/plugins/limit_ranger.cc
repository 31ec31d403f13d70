#include <algorithm>
#include <cstdio>
#include <limits>

#include "admission/plugins.h"
#include "admission/plugins/pod_resources.h"
#include "base/strings.h"
#include "json/members.h"

namespace cardea::admission {
namespace {

using json::Value;

// What a pod, a container or a claim asks for and may use.
struct Ask {
  Amounts requests, limits;
};

const Quantity* find(const Amounts& amounts, const std::string& name) {
  auto at = amounts.find(name);
  return at == amounts.end() ? nullptr : &at->second;
}

class Refusals {
 public:
  void add(std::string why) {
    if (std::ranges::find(all_, why) == all_.end()) all_.push_back(std::move(why));
  }
  bool empty() const { return all_.empty(); }
  std::string text() const { return all_.size() == 1 ? all_[0] : cat("[", join(all_, ", "), "]"); }

 private:
  std::vector<std::string> all_;
};

std::string ratio_text(double ratio) {
  char text[64];
  std::snprintf(text, sizeof text, "%f", ratio);
  return text;
}

void check_minimum(Refusals& out, std::string_view type, const std::string& name,
                   const Quantity& least, const Ask& ask) {
  std::string rule = cat("minimum ", name, " usage per ", type, " is ", least.print());
  const Quantity *request = find(ask.requests, name), *limit = find(ask.limits, name);
  if (!request)
    out.add(cat(rule, ".  No request is specified"));
  else if (*request < least)
    out.add(cat(rule, ", but request is ", request->print()));
  else if (limit && *limit < least)
    out.add(cat(rule, ", but limit is ", limit->print()));
}

void check_maximum(Refusals& out, std::string_view type, const std::string& name,
                   const Quantity& most, const Ask& ask) {
  std::string rule = cat("maximum ", name, " usage per ", type, " is ", most.print());
  const Quantity *request = find(ask.requests, name), *limit = find(ask.limits, name);
  if (!limit)
    out.add(cat(rule, ".  No limit is specified"));
  else if (*limit > most)
    out.add(cat(rule, ", but limit is ", limit->print()));
  else if (request && *request > most)
    out.add(cat(rule, ", but request is ", request->print()));
}

void check_maximum_request(Refusals& out, std::string_view type, const std::string& name,
                           const Quantity& most, const Ask& ask) {
  std::string rule = cat("maximum ", name, " usage per ", type, " is ", most.print());
  const Quantity* request = find(ask.requests, name);
  if (!request)
    out.add(cat(rule, ".  No request is specified"));
  else if (*request > most)
    out.add(cat(rule, ", but request is ", request->print()));
}

// Thousandths where all of them can be counted so, else whole units.
void check_ratio(Refusals& out, std::string_view type, const std::string& name,
                 const Quantity& most, const Ask& ask) {
  constexpr std::int64_t kMostMilli = std::numeric_limits<std::int64_t>::max() / 1000;
  std::string rule = cat(name, " max limit to request ratio per ", type, " is ", most.print());
  const Quantity *request = find(ask.requests, name), *limit = find(ask.limits, name);
  if (!request || request->sign() == 0)
    return out.add(cat(rule, ", but no request is specified or request is 0"));
  if (!limit || limit->sign() == 0)
    return out.add(cat(rule, ", but no limit is specified or limit is 0"));
  bool fine = request->value() <= kMostMilli && limit->value() <= kMostMilli &&
              most.value() <= kMostMilli;
  double ratio = fine ? static_cast<double>(limit->milli_value()) /
                            static_cast<double>(request->milli_value())
                      : static_cast<double>(limit->value()) / static_cast<double>(request->value());
  bool is_milli = most.value() <= kMostMilli;
  double allowed = is_milli ? static_cast<double>(most.milli_value())
                            : static_cast<double>(most.value());
  if (ratio * (is_milli ? 1000 : 1) > allowed)
    out.add(cat(rule, ", but provided ratio is ", ratio_text(ratio)));
}

void check(Refusals& out, const Value& limit, const Ask& ask) {
  std::string_view type = limit["type"].as_string();
  for (const auto& [name, amount] : read_amounts(limit["min"]))
    check_minimum(out, type, name, amount, ask);
  for (const auto& [name, amount] : read_amounts(limit["max"]))
    check_maximum(out, type, name, amount, ask);
  for (const auto& [name, amount] : read_amounts(limit["maxLimitRequestRatio"]))
    check_ratio(out, type, name, amount, ask);
}

void check_pod(Refusals& out, const Value& limit, const Value& pod) {
  std::string_view type = limit["type"].as_string();
  if (type == "Container")
    for (auto list : {"containers", "initContainers"})
      for (const Value& c : pod["spec"][list].items())
        check(out, limit,
              {read_amounts(c["resources"]["requests"]), read_amounts(c["resources"]["limits"])});
  if (type == "Pod")
    check(out, limit, {pod_amounts(pod, "requests", false), pod_amounts(pod, "limits", false)});
}

void check_claim(Refusals& out, const Value& limit, const Value& claim) {
  std::string_view type = limit["type"].as_string();
  if (type != "PersistentVolumeClaim") return;
  Ask ask{read_amounts(claim["spec"]["resources"]["requests"]), {}};
  for (const auto& [name, amount] : read_amounts(limit["min"]))
    check_minimum(out, type, name, amount, ask);
  for (const auto& [name, amount] : read_amounts(limit["max"]))
    check_maximum_request(out, type, name, amount, ask);
}

// Fills in the amounts that a container leaves open, and returns a text about them: `cpu, memory
// request for container c`.
void fill(Value& container, const Value& requests, const Value& limits, std::string_view sort,
          std::vector<std::string>& told) {
  struct Side {
    const char *field, *word;
    const Value& defaults;
  };
  for (const Side& side :
       {Side{"requests", "request", requests}, Side{"limits", "limit", limits}}) {
    std::vector<std::string> set;
    for (const json::Member& m : side.defaults.members())
      if (!container["resources"][side.field].has(m.key())) set.emplace_back(m.key());
    if (!set.empty())
      json::add_missing(container.member("resources").member(side.field), side.defaults);
    if (!set.empty())
      told.push_back(
          cat(join(set, ", "), " ", side.word, " for ", sort, " ", container["name"].as_string()));
  }
}

// Gives containers the defaults of their namespace and refuses what is beyond its limits.
class LimitRanger : public Plugin {
 public:
  explicit LimitRanger(Objects objects) : objects_(objects) {}
  std::string_view name() const override { return "LimitRanger"; }

  bool handles(const Review& r) const override {
    bool is_update = r.operation == Operation::kUpdate;
    if ((r.operation != Operation::kCreate && !is_update) || !r.resource.group.empty())
      return false;
    // What is going away is let go.
    if (r.old_object && (*r.old_object)["metadata"].has("deletionTimestamp")) return false;
    if (r.resource.name == "persistentvolumeclaims") return r.subresource.empty();
    // Containers of a pod change by a resize alone.
    return r.resource.name == "pods" &&
           (is_update ? r.subresource == "resize" : r.subresource.empty());
  }

  Task<Result<void>> mutate(Review& r) const override {
    if (r.resource.name != "pods") co_return Result<void>{};
    for (const Value& range : objects_.list(r.catalog, "", "limitranges", r.namespace_name))
      set_defaults(r.object, range);
    co_return Result<void>{};
  }

  Task<Result<void>> validate(const Review& r) const override {
    auto all = objects_.records(r.catalog, "", "limitranges", r.namespace_name);
    if (!all) co_return fail(all.error());
    for (const auto& [record, range] : *all) {
      Refusals refusals;
      for (const Value& limit : range["spec"]["limits"].items()) {
        if (r.resource.name == "pods")
          check_pod(refusals, limit, r.object);
        else
          check_claim(refusals, limit, r.object);
      }
      if (!refusals.empty()) co_return fail(forbidden(r, refusals.text()));
    }
    co_return Result<void>{};
  }

 private:
  static void set_defaults(Value& pod, const Value& range) {
    Value requests = Value::object(), limits = Value::object();
    for (const Value& limit : range["spec"]["limits"].items()) {
      if (limit["type"].as_string() != "Container") continue;
      auto own_requests = limit["defaultRequest"].members(),
           own_limits = limit["default"].members();
      json::set_all(requests, {own_requests.begin(), own_requests.end()});
      json::set_all(limits, {own_limits.begin(), own_limits.end()});
    }
    std::vector<std::string> told;
    for (auto [list, sort] :
         {std::pair{"containers", "container"}, std::pair{"initContainers", "init container"}})
      for (std::size_t i = 0; i < pod["spec"][list].size(); ++i)
        fill(pod.member("spec").member(list).item(i), requests, limits, sort, told);
    if (!told.empty())
      pod.member("metadata")
          .member("annotations")
          .set("kubernetes.io/limit-ranger", cat("LimitRanger plugin set: ", join(told, "; ")));
  }

  Objects objects_;
};

// A claim grows only when it is bound and its class says that it can.
class PersistentVolumeClaimResize : public Plugin {
 public:
  explicit PersistentVolumeClaimResize(Objects objects) : objects_(objects) {}
  std::string_view name() const override { return "PersistentVolumeClaimResize"; }
  bool handles(const Review& r) const override {
    return r.operation == Operation::kUpdate && r.resource.group.empty() &&
           r.resource.name == "persistentvolumeclaims" && r.subresource.empty();
  }

  Task<Result<void>> validate(const Review& r) const override {
    auto size = [](const Value& claim) {
      return read_amounts(claim["spec"]["resources"]["requests"])["storage"];
    };
    if (size(r.object) <= size(*r.old_object)) co_return Result<void>{};
    if ((*r.old_object)["status"]["phase"].as_string() != "Bound")
      co_return fail(forbidden(r, "Only bound persistent volume claims can be expanded"));
    std::string_view now = class_of(r.object), before = class_of(*r.old_object);
    bool same = !now.empty() && now == before;
    if (same &&
        objects_.get(r.catalog, "storage.k8s.io", "storageclasses", "", now)["allowVolumeExpansion"]
            .as_bool())
      co_return Result<void>{};
    co_return fail(forbidden(r,
                             "only dynamically provisioned pvc can be resized and the storageclass "
                             "that provisions the pvc must support resize"));
  }

 private:
  static std::string_view class_of(const Value& claim) {
    const Value& annotations = claim["metadata"]["annotations"];
    if (const Value* old_way = annotations.find("volume.beta.kubernetes.io/storage-class"))
      return old_way->as_string();
    return claim["spec"]["storageClassName"].as_string();
  }

  Objects objects_;
};

}  // namespace

std::unique_ptr<Plugin> limit_ranger(Objects objects) {
  return std::make_unique<LimitRanger>(objects);
}
std::unique_ptr<Plugin> persistent_volume_claim_resize(Objects objects) {
  return std::make_unique<PersistentVolumeClaimResize>(objects);
}

}  // namespace cardea::admission
