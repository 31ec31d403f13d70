#include "rest/verbs/options.h"

#include <charconv>

#include "base/names.h"
#include "base/strings.h"
#include "json/field_error.h"

namespace cardea::rest {

using json::Value;

namespace {

Result<std::int64_t> integer(std::string_view text) {
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range)
    return fail(
        bad_request(cat("strconv.ParseInt: parsing ", quoted(text), ": value out of range")));
  if (error != std::errc{} || end != text.data() + text.size())
    return fail(bad_request(cat("strconv.ParseInt: parsing ", quoted(text), ": invalid syntax")));
  return value;
}

Error invalid_options(std::string_view kind, const json::FieldErrors& errors) {
  return json::invalid_object("meta.k8s.io", kind, "", errors);
}

Value strings(const std::vector<std::string_view>& list) {
  Value out = Value::array();
  for (std::string_view s : list) out.push_back(s);
  return out;
}

json::FieldError unsupported_dry_run(const Value& found) {
  return json::not_supported("dryRun", found, {"All"});
}

bool is_dry_run_valid(const Value& list) {
  for (const Value& v : list.items())
    if (v.as_string() != "All") return false;
  return true;
}

}  // namespace

Result<store::Revision> parse_revision(std::string_view text) {
  if (text.empty()) return 0;
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range || value > static_cast<std::uint64_t>(INT64_MAX))
    return fail(
        bad_request(cat("strconv.ParseUint: parsing ", quoted(text), ": value out of range")));
  if (error != std::errc{} || end != text.data() + text.size())
    return fail(bad_request(cat("strconv.ParseUint: parsing ", quoted(text), ": invalid syntax")));
  return static_cast<store::Revision>(value);
}

Result<WriteOptions> write_options(const authz::Query& query, std::string_view kind,
                                   bool is_apply) {
  WriteOptions options;
  options.is_apply = is_apply;
  options.document = Value::object({{"kind", kind}, {"apiVersion", "meta.k8s.io/v1"}});
  json::FieldErrors errors;
  if (auto values = query.all("dryRun"); !values.empty()) {
    Value list = strings(values);
    if (!is_dry_run_valid(list)) errors.push_back(unsupported_dry_run(list));
    options.dry_run = true;
    options.document.set("dryRun", list);
  }
  if (auto manager = query.first("fieldManager"); manager && !manager->empty()) {
    options.field_manager = *manager;
    options.document.set("fieldManager", *manager);
    if (manager->size() > 128) errors.push_back(json::too_long("fieldManager", 128));
    for (std::size_t at = 0; at < manager->size(); ++at)
      if (unsigned char c = (*manager)[at]; c < 0x20 || c == 0x7f) {
        constexpr std::string_view kDigits = "0123456789ABCDEF";
        errors.push_back(json::invalid(
            "fieldManager", *manager,
            cat("invalid character U+00", kDigits.substr(c >> 4, 1), kDigits.substr(c & 15, 1),
                " (at position ", std::to_string(at), ")")));
        break;
      }
  }
  if (is_apply && options.field_manager.empty())
    errors.push_back(json::required("fieldManager", "is required for apply patch"));
  if (auto force = query.first("force")) {
    options.force = authz::is_true_parameter(*force);
    options.document.set("force", options.force);
    if (!is_apply)
      errors.push_back(json::forbidden("force", "may not be specified for non-apply patch"));
  }
  if (auto mode = query.first("fieldValidation"); mode && !mode->empty()) {
    options.document.set("fieldValidation", *mode);
    if (*mode == "Ignore")
      options.field_validation = FieldValidation::kIgnore;
    else if (*mode == "Strict")
      options.field_validation = FieldValidation::kStrict;
    else if (*mode != "Warn")
      errors.push_back(
          json::not_supported("fieldValidation", *mode, {"", "Ignore", "Strict", "Warn"}));
  }
  if (!errors.empty()) return fail(invalid_options(kind, errors));
  return options;
}

namespace {

// INVARIANT: what a named list or watch selects is the name of the request, which is the name that
// was authorized.
Result<void> select_name(ListOptions& options, const std::string& name) {
  if (name.empty()) return {};
  if (options.fields.empty()) {
    options.fields.add({"metadata.name", true, name});
    return {};
  }
  auto selected = options.fields.exact("metadata.name");
  if (!selected || *selected != name)
    return fail(bad_request("fieldSelector metadata.name doesn't match requested name"));
  return {};
}

}  // namespace

Result<ListOptions> list_options(const authz::RequestInfo& info) {
  const authz::Query& query = info.query;
  const bool is_watch = info.verb == "watch";
  ListOptions options;
  for (std::string_view key : {"limit", "timeoutSeconds"}) {
    auto text = query.first(key);
    if (!text || text->empty()) continue;
    auto value = integer(*text);
    if (!value) return fail(value.error());
    if (key == "limit")
      options.limit = *value;
    else
      options.timeout_seconds = *value;
  }
  auto selectors = info.selectors;
  if (!selectors)
    selectors = authz::read_selectors(query.first("fieldSelector").value_or(""),
                                      query.first("labelSelector").value_or(""));
  if (selectors) {
    for (const std::string& error : {selectors->label_error, selectors->field_error})
      if (!error.empty()) return fail(bad_request(error));
    options.labels = selectors->labels;
    options.fields = selectors->fields;
  }
  options.resource_version = query.first("resourceVersion").value_or("");
  options.continue_token = query.first("continue").value_or("");
  options.watch = is_watch;
  if (auto v = query.first("allowWatchBookmarks"))
    options.allow_bookmarks = authz::is_true_parameter(*v);
  if (auto v = query.first("sendInitialEvents"))
    options.send_initial_events = authz::is_true_parameter(*v);

  std::string match(query.first("resourceVersionMatch").value_or(""));
  json::FieldErrors errors;
  auto forbid = [&](std::string why) {
    errors.push_back(json::forbidden("resourceVersionMatch", std::move(why)));
  };
  if (is_watch) {
    if (!options.continue_token.empty())
      forbid("resourceVersionMatch is forbidden when continue is provided");
    if (options.send_initial_events) {
      if (match != "NotOlderThan")
        forbid("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
      if (!match.empty() && match != "NotOlderThan")
        errors.push_back(json::not_supported("resourceVersionMatch", match, {"NotOlderThan"}));
    } else if (!match.empty()) {
      forbid("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
      if (match != "NotOlderThan")
        errors.push_back(json::not_supported("resourceVersionMatch", match, {"NotOlderThan"}));
    }
  } else {
    if (!match.empty()) {
      if (options.resource_version.empty())
        forbid("resourceVersionMatch is forbidden unless resourceVersion is provided");
      if (!options.continue_token.empty())
        forbid("resourceVersionMatch is forbidden when continue is provided");
      if (match != "Exact" && match != "NotOlderThan")
        errors.push_back(
            json::not_supported("resourceVersionMatch", match, {"Exact", "NotOlderThan", ""}));
      if (match == "Exact" && options.resource_version == "0")
        forbid("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
    }
    if (options.send_initial_events)
      errors.push_back(
          json::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
  }
  if (!errors.empty()) return fail(invalid_options("ListOptions", errors));
  if (match == "Exact") options.match = ListOptions::Match::kExact;
  if (match == "NotOlderThan") options.match = ListOptions::Match::kNotOlderThan;
  if (auto ok = select_name(options, info.name); !ok) return fail(ok.error());
  return options;
}

namespace {

Result<DeleteOptions> options_from_query(const authz::Query& query) {
  DeleteOptions o;
  if (auto text = query.first("gracePeriodSeconds"); text && !text->empty()) {
    auto value = integer(*text);
    if (!value) return fail(value.error());
    o.grace_period_seconds = *value;
  }
  if (auto text = query.first("propagationPolicy"); text && !text->empty())
    o.propagation_policy = *text;
  if (auto text = query.first("orphanDependents"))
    o.orphan_dependents = authz::is_true_parameter(*text);
  if (auto text = query.first("dryRun")) {
    o.document.set("dryRun", strings(query.all("dryRun")));
    o.dry_run = true;
  }
  return o;
}

Result<DeleteOptions> options_from_body(const Value& body) {
  DeleteOptions o;
  auto wrong = [](std::string_view field) {
    return fail(bad_request(cat("invalid DeleteOptions: ", field, " has the wrong type")));
  };
  if (const Value* v = body.find("gracePeriodSeconds"); v && !v->is_null()) {
    if (!v->is_int()) return wrong("gracePeriodSeconds");
    o.grace_period_seconds = v->as_int();
  }
  if (const Value* v = body.find("propagationPolicy"); v && !v->is_null()) {
    if (!v->is_string()) return wrong("propagationPolicy");
    o.propagation_policy = std::string(v->as_string());
  }
  if (const Value* v = body.find("orphanDependents"); v && !v->is_null()) {
    if (!v->is_bool()) return wrong("orphanDependents");
    o.orphan_dependents = v->as_bool();
  }
  const Value& preconditions = body["preconditions"];
  if (const Value* v = preconditions.find("uid"); v && !v->is_null()) {
    if (!v->is_string()) return wrong("preconditions.uid");
    o.uid = std::string(v->as_string());
  }
  if (const Value* v = preconditions.find("resourceVersion"); v && !v->is_null()) {
    if (!v->is_string()) return wrong("preconditions.resourceVersion");
    o.resource_version = std::string(v->as_string());
  }
  if (const Value* v = body.find("dryRun"); v && !v->is_null()) {
    if (!v->is_array()) return wrong("dryRun");
    o.dry_run = !v->empty();
    if (o.dry_run) o.document.set("dryRun", *v);
  }
  return o;
}

}  // namespace

Result<DeleteOptions> delete_options(const Value& body, const authz::Query& query) {
  auto parsed = body.is_null() ? options_from_query(query) : options_from_body(body);
  if (!parsed) return parsed;
  DeleteOptions& o = *parsed;
  json::FieldErrors errors;
  if (o.orphan_dependents && o.propagation_policy)
    errors.push_back(json::invalid("propagationPolicy", *o.propagation_policy,
                                   "orphanDependents and deletionPropagation cannot be both set"));
  if (o.propagation_policy && *o.propagation_policy != "Foreground" &&
      *o.propagation_policy != "Background" && *o.propagation_policy != "Orphan")
    errors.push_back(json::not_supported("propagationPolicy", *o.propagation_policy,
                                         {"Foreground", "Background", "Orphan", "nil"}));
  if (!is_dry_run_valid(o.document["dryRun"]))
    errors.push_back(unsupported_dry_run(o.document["dryRun"]));
  if (!errors.empty()) return fail(invalid_options("DeleteOptions", errors));
  o.document.set("kind", "DeleteOptions");
  o.document.set("apiVersion", "meta.k8s.io/v1");
  if (o.grace_period_seconds) o.document.set("gracePeriodSeconds", *o.grace_period_seconds);
  if (o.propagation_policy) o.document.set("propagationPolicy", *o.propagation_policy);
  if (o.orphan_dependents) o.document.set("orphanDependents", *o.orphan_dependents);
  return parsed;
}

}  // namespace cardea::rest
