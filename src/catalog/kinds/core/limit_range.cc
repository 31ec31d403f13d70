#include <cstdio>
#include <set>

#include "catalog/kinds/check.h"
#include "catalog/kinds/core/core_strategies.h"
#include "catalog/kinds/core/resources.h"
#include "json/members.h"

namespace cardea::catalog {
namespace {

constexpr const char* kLists[] = {"max", "min", "default", "defaultRequest",
                                  "maxLimitRequestRatio"};

// A container limit without a default becomes the maximum. A request without a default becomes the
// limit, or else the minimum.
void default_item(Value& item) {
  for (const char* key : kLists) default_resource_list(item, key);
  if (text(item, "type") != "Container") return;
  Value limits = item["default"], requests = item["defaultRequest"];
  if (limits.is_null()) limits = Value::object();
  if (requests.is_null()) requests = Value::object();
  json::add_missing(limits, item["max"]);
  json::add_missing(requests, limits);
  json::add_missing(requests, item["min"]);
  item.set("default", std::move(limits));
  item.set("defaultRequest", std::move(requests));
}

void defaults(Value& object, const StrategyContext&) {
  edit_member(object, "spec", [](Value& spec) { edit_items(spec, "limits", default_item); });
}

void validate_type(std::string_view type, const Path& path, FieldErrors& out) {
  if (auto complaints = qualified_name(type); !complaints.empty())
    return complain(path, type, complaints, out);
  constexpr std::string_view kTypes[] = {"Pod", "Container", "PersistentVolumeClaim"};
  if (type.find('/') == std::string_view::npos && !contains(kTypes, type))
    out.push_back(json::invalid(path, type, "must be a standard limit type or fully qualified"));
}

// The five amounts that one resource may have in one item; null if it has none.
struct Amounts {
  const Value &min, &max, &limit, &request, &ratio;
};

// Reports at `path` that one amount exceeds another. The message does not always show the amount
// that it names.
void check_order(const Value& low, const Value& high, const Value& shown, const Path& path,
                 std::string_view low_name, std::string_view high_name, FieldErrors& out) {
  if (low.is_null() || high.is_null() || quantity_of(low) <= quantity_of(high)) return;
  out.push_back(json::invalid(path, show_quantity(shown),
                              cat(low_name, " value ", show_quantity(low), " is greater than ",
                                  high_name, " value ", show_quantity(high))));
}

void check_ratio(const Amounts& a, const Path& path, FieldErrors& out) {
  if (a.ratio.is_null()) return;
  std::string shown = show_quantity(a.ratio);
  if (quantity_of(a.ratio) < Quantity(1))
    out.push_back(json::invalid(path, shown, cat("ratio ", shown, " is less than 1")));
  if (a.min.is_null() || a.max.is_null()) return;
  double limit = quantity_of(a.max).as_double() / quantity_of(a.min).as_double();
  if (quantity_of(a.ratio).as_double() <= limit) return;
  char text[64];
  std::snprintf(text, sizeof text, "%f", limit);
  out.push_back(
      json::invalid(path, shown, cat("ratio ", shown, " is greater than max/min = ", text)));
}

void validate_amounts(std::string_view resource, const Amounts& a, const Path& path,
                      FieldErrors& out) {
  Path request_path = (path / "defaultRequest").key(resource),
       default_path = (path / "default").key(resource);
  check_order(a.min, a.max, a.min, (path / "min").key(resource), "min", "max", out);
  check_order(a.min, a.request, a.request, request_path, "min", "default request", out);
  check_order(a.request, a.max, a.request, request_path, "default request", "max", out);
  check_order(a.request, a.limit, a.request, request_path, "default request", "default limit", out);
  check_order(a.min, a.limit, a.min, default_path, "min", "default", out);
  check_order(a.limit, a.max, a.max, default_path, "default", "max", out);
  check_ratio(a, (path / "maxLimitRequestRatio").key(resource), out);
  if (!is_overcommit_allowed(resource) && !a.limit.is_null() && !a.request.is_null() &&
      quantity_of(a.limit) != quantity_of(a.request))
    out.push_back(json::invalid(
        request_path, show_quantity(a.request),
        cat("default value ", show_quantity(a.limit), " must equal to defaultRequest value ",
            show_quantity(a.request), " in ", resource)));
}

void validate_item(const Value& item, const Path& path, FieldErrors& out) {
  std::string_view type = text(item, "type");
  bool pod = type == "Pod";
  std::set<std::string_view> resources;
  auto names = [&](const char* key) {
    for (const json::Member& m : item[key].members()) {
      auto check = pod || type == "Container" ? validate_container_resource_name
                                              : validate_resource_name;
      check(m.key(), (path / key).key(m.key()), out);
      resources.insert(m.key());
    }
  };
  names("max");
  names("min");
  for (const char* key : {"default", "defaultRequest"}) {
    if (!pod)
      names(key);
    else if (!item[key].empty())
      out.push_back(json::forbidden(path / key, "may not be specified when `type` is 'Pod'"));
  }
  if (type == "PersistentVolumeClaim" && !item["min"].has("storage") && !item["max"].has("storage"))
    out.push_back(json::required(
        path / "limits",
        "either minimum or maximum storage value is required, but neither was provided"));
  names("maxLimitRequestRatio");
  static const Value kNone;
  for (std::string_view r : resources)
    validate_amounts(r,
                     {item["min"][r], item["max"][r], pod ? kNone : item["default"][r],
                      pod ? kNone : item["defaultRequest"][r], item["maxLimitRequestRatio"][r]},
                     path, out);
}

FieldErrors validate(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, true, name_is_dns_subdomain, out);
  std::set<std::string_view> types;
  each(object["spec"], "limits", "spec", [&](const Value& item, const Path& path) {
    validate_type(text(item, "type"), path / "type", out);
    if (!types.insert(text(item, "type")).second)
      out.push_back(json::duplicate(path / "type", text(item, "type")));
    validate_item(item, path, out);
  });
  return out;
}

FieldErrors validate_update(const Value& object, const Value&, const StrategyContext& context) {
  return validate(object, context);
}

}  // namespace

const Strategy& limit_range_strategy() {
  static const Strategy strategy{
      .defaults = defaults,
      .validate_create = validate,
      .validate_update = validate_update,
      .allow_create_on_update = true,
  };
  return strategy;
}

}  // namespace cardea::catalog
