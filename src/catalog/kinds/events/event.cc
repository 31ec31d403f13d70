#include "catalog/kinds/check.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

constexpr std::size_t kLongestWord = 128;
constexpr std::size_t kLongestNote = 1024;

void validate_word(const Path& path, const Value& word, FieldErrors& out) {
  if (word.as_string().empty()) out.push_back(json::required(path));
  if (word.as_string().size() > kLongestWord)
    out.push_back(json::invalid(path, "", cat("can have at most ", kLongestWord, " characters")));
}

// Events about cluster-scoped objects are stored in one of the system namespaces.
void validate_namespace(const Value& object, FieldErrors& out) {
  std::string_view about = object["regarding"]["namespace"].as_string();
  std::string_view own = object["metadata"]["namespace"].as_string();
  bool fits = about.empty() ? own == "default" || own == "kube-system" : about == own;
  if (!fits)
    out.push_back(
        json::invalid("involvedObject.namespace", about, "does not match event.namespace"));
}

// Messages name the fields as the Event of the core group does.
void validate_timed(const Value& object, FieldErrors& out) {
  if (object["eventTime"].is_null()) return;
  const Value& controller = object["reportingController"];
  if (controller.as_string().empty()) out.push_back(json::required("reportingController"));
  complain("reportingController", controller.as_string(), qualified_name(controller.as_string()),
           out);
  validate_word("reportingInstance", object["reportingInstance"], out);
  validate_word("action", object["action"], out);
  validate_word("reason", object["reason"], out);
  if (object["note"].as_string().size() > kLongestNote)
    out.push_back(
        json::invalid("message", "", cat("can have at most ", kLongestNote, " characters")));
}

void validate_series(const Value& series, FieldErrors& out) {
  if (series.is_null()) return;
  if (series["count"].as_int() < 2)
    out.push_back(json::invalid("series.count", "", "should be at least 2"));
  if (series["lastObservedTime"].is_null())
    out.push_back(json::required("series.lastObservedTime"));
}

void validate_new_form(const Value& object, FieldErrors& out) {
  if (object["eventTime"].is_null()) out.push_back(json::required("eventTime"));
  std::string_view type = object["type"].as_string();
  if (type != "Normal" && type != "Warning")
    out.push_back(json::invalid("type", "", cat("has invalid value: ", type)));
  if (!object["deprecatedFirstTimestamp"].is_null())
    out.push_back(json::invalid("firstTimestamp", "", "needs to be unset"));
  if (!object["deprecatedLastTimestamp"].is_null())
    out.push_back(json::invalid("lastTimestamp", "", "needs to be unset"));
  if (object["deprecatedCount"].as_int() != 0)
    out.push_back(json::invalid("count", "", "needs to be unset"));
  if (!is_zero(object["deprecatedSource"]))
    out.push_back(json::invalid("source", "", "needs to be unset"));
}

FieldErrors validate(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, true, name_is_dns_subdomain, out);
  validate_namespace(object, out);
  validate_timed(object, out);
  validate_series(object["series"], out);
  validate_new_form(object, out);
  return out;
}

Shown shown_reference(const Value& r) {
  if (r.is_null()) return "null";
  return shown_struct({{"Kind", shown_or(r["kind"], "")},
                       {"Namespace", shown_or(r["namespace"], "")},
                       {"Name", shown_or(r["name"], "")},
                       {"UID", shown_or(r["uid"], "")},
                       {"APIVersion", shown_or(r["apiVersion"], "")},
                       {"ResourceVersion", shown_or(r["resourceVersion"], "")},
                       {"FieldPath", shown_or(r["fieldPath"], "")}});
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_namespace(object, out);
  validate_timed(object, out);
  constexpr std::pair<std::string_view, std::string_view> kFixed[] = {
      {"regarding", "involvedObject"},
      {"reason", "reason"},
      {"note", "message"},
      {"deprecatedSource", "source"},
      {"deprecatedFirstTimestamp", "firstTimestamp"},
      {"deprecatedLastTimestamp", "lastTimestamp"},
      {"deprecatedCount", "count"},
      {"type", "type"},
      {"eventTime", "eventTime"},
      {"action", "action"},
      {"related", "related"},
      {"reportingController", "reportingController"},
      {"reportingInstance", "reportingInstance"},
  };
  for (const auto& [name, shown_name] : kFixed) {
    if (semantically_equal(object[name], old[name])) continue;
    Shown text = name == "regarding" || name == "related" ? shown_reference(object[name])
                                                          : shown(object[name]);
    // Kubernetes compares the reason twice, and reports an error twice.
    for (int times = name == "reason" ? 2 : 1; times > 0; --times)
      out.push_back(invalid_shown(shown_name, text, kFieldIsImmutable));
  }
  validate_series(object["series"], out);
  return out;
}

std::string field(const Value& object, std::string_view name) {
  constexpr std::string_view kRegarding = "regarding.";
  const Value& value = name.starts_with(kRegarding)
                           ? object["regarding"][name.substr(kRegarding.size())]
                           : object[name];
  return std::string(value.as_string());
}

}  // namespace

const Strategy& events_event_strategy() {
  static const Strategy strategy{
      .validate_create = validate,
      .validate_update = validate_update,
      .selectable_fields = {"reason", "regarding.apiVersion", "regarding.fieldPath",
                            "regarding.kind", "regarding.name", "regarding.namespace",
                            "regarding.resourceVersion", "regarding.uid", "reportingController",
                            "type"},
      .selectable_field = field,
      .unknown_field = "field label not supported: {}",
      .allow_create_on_update = true,
  };
  return strategy;
}

}  // namespace cardea::catalog
