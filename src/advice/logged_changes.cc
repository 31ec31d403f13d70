#include "advice/logged_changes.h"

#include <algorithm>

#include "advice/scale_demands.h"
#include "base/strings.h"
#include "catalog/ignored_fields.h"
#include "catalog/scale.h"
#include "schema/ownership/shape.h"

namespace cardea::advice {

using catalog::Resource;
using json::Value;
using schema::FieldPath;
using schema::FieldSet;
using schema::Schema;

namespace {

void add_named(const Value& value, const Schema& schema, FieldPath& path, FieldSet& out) {
  bool is_map = value.is_object() && schema.type != Schema::Type::kArray &&
                !schema::is_atomic_map(schema);
  bool has_orders = is_map && std::ranges::any_of(value.members(), [](const json::Member& m) {
                      return m.key() == "$patch" || m.key() == "$retainKeys";
                    });
  if (!is_map || value.empty() || has_orders) {
    if (!path.empty()) out.insert(path);
    return;
  }
  for (const json::Member& m : value.members()) {
    std::string_view key = m.key();
    if (key.starts_with("$setElementOrder/")) continue;
    if (constexpr std::string_view kDelete = "$deleteFromPrimitiveList/"; key.starts_with(kDelete))
      key.remove_prefix(kDelete.size());
    path.push_back(schema::field_element(key));
    add_named(m.value, schema::member_or_deduced(schema, key), path, out);
    path.pop_back();
  }
}

std::string unescaped(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    bool escape = token[i] == '~' && i + 1 < token.size();
    out += escape ? (token[i + 1] == '1' ? '/' : '~') : token[i];
    if (escape) ++i;
  }
  return out;
}

void add_pointer(std::string_view pointer, const Value& value, const Schema& root, FieldSet& out) {
  FieldPath path;
  const Schema* at = &root;
  auto tokens = split(pointer, '/');
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    if (at->type == Schema::Type::kArray || schema::is_atomic_map(*at)) break;
    std::string key = unescaped(tokens[i]);
    path.push_back(schema::field_element(key));
    at = &schema::member_or_deduced(*at, key);
  }
  add_named(value, *at, path, out);
}

// Whether a path is one of the set, or below or above one.
bool touches(const FieldSet& set, const FieldPath& path) {
  FieldSet at = set;
  FieldPath prefix;
  for (const std::string& element : path) {
    prefix.push_back(element);
    if (set.has(prefix)) return true;
    at = at.below(element);
    if (at.empty()) return false;
  }
  return true;
}

FieldSet only_touched(const FieldSet& leaves, const FieldSet& touched) {
  FieldSet out;
  leaves.for_each([&](const FieldPath& path) {
    if (touches(touched, path)) out.insert(path);
  });
  return out;
}

bool was_mutated(const Value& event) {
  return std::ranges::any_of(event["annotations"].members(), [](const json::Member& m) {
    return m.key().starts_with("mutation.webhook.admission.k8s.io/") &&
           m.value.as_string().find("\"mutated\":true") != std::string_view::npos;
  });
}

}  // namespace

FieldSet patched_fields(const Value& patch, const Schema& schema) {
  FieldSet out;
  FieldPath path;
  if (!patch.is_array()) {
    add_named(patch, schema, path, out);
    return out;
  }
  for (const Value& operation : patch.items()) {
    std::string_view op = operation["op"].as_string();
    if (op == "test") continue;
    add_pointer(operation["path"].as_string(), operation["value"], schema, out);
    if (op == "move") add_pointer(operation["from"].as_string(), Value(), schema, out);
  }
  return out;
}

// What one event says, taken apart.
struct LoggedChanges::Write {
  const Value& event;
  const Value& object = event["objectRef"];
  const Value& request = event["requestObject"];
  const Value& response = event["responseObject"];
  std::string_view verb = event["verb"].as_string();
  std::string_view group = object["apiGroup"].as_string(),
                   version = object["apiVersion"].as_string();
  std::string_view resource = object["resource"].as_string(),
                   subresource = object["subresource"].as_string();
  std::string_view space = object["namespace"].as_string();
  const Resource* known = nullptr;
  std::int64_t code = event["responseStatus"]["code"].as_int();

  std::string_view name() const {
    std::string_view said = object["name"].as_string();
    return said.empty() ? response["metadata"]["name"].as_string() : said;
  }
  bool is_dry() const {
    return event["requestURI"].as_string().find("dryRun=") != std::string_view::npos;
  }
  bool is_scale() const { return subresource == "scale"; }
  // Whether the subresource is the object itself, or a part of it.
  bool is_object() const {
    if (subresource.empty()) return true;
    const catalog::Subresource* s = known ? known->subresource(subresource) : nullptr;
    return s && (s->kind.empty() || s->kind == known->kind);
  }
  bool shows_object() const {
    return response.is_object() && known &&
           response["kind"].as_string() == (is_scale() ? "Scale" : known->kind);
  }
  std::string key_of(std::string_view object_name) const {
    return cat(group, "/", resource, "/", space, "/", object_name);
  }
  std::string scale_key_of(std::string_view object_name) const {
    return key_of(object_name) + "/scale";
  }
  std::string key() const { return is_scale() ? scale_key_of(name()) : key_of(name()); }
};

void LoggedChanges::note(const Write& w, std::string_view text) {
  notes_.push_back(cat(w.event["auditID"].as_string(), ": ", w.verb, " ", w.resource,
                       w.subresource.empty() ? "" : "/", w.subresource, " ", w.space,
                       w.space.empty() ? "" : "/", w.name(), ": ", text));
}

void LoggedChanges::take(const Value& event) {
  if (event["kind"].as_string() == "EventList") {
    for (const Value& item : event["items"].items()) take(item);
    return;
  }
  Write w{.event = event};
  if (event["stage"].as_string() != "ResponseComplete" || w.resource.empty() || w.code < 200 ||
      w.code > 299)
    return;
  w.known = find_(w.group, w.version, w.resource);
  if (w.known && !w.known->namespaced)
    w.space = "";  // the audit log says that a namespace is in itself
  // A request with impersonation counts for the impersonated user.
  const Value& acting = event.has("impersonatedUser") ? event["impersonatedUser"] : event["user"];
  if (acting["username"].as_string() == user_) {
    if (w.verb == "create" || w.verb == "update" || w.verb == "patch")
      judge(w);
    else
      ++others_;
  }
  if (w.verb == "list")
    remember_list(w);
  else
    remember(w);
}

void LoggedChanges::remember_list(const Write& w) {
  if (!w.subresource.empty() || !w.known || !w.object["name"].as_string().empty()) return;
  if (w.response["kind"].as_string() != w.known->list_kind) return;
  for (const Value& item : w.response["items"].items()) {
    Value object = item;
    object.set("apiVersion", w.known->api_version());
    object.set("kind", w.known->kind);
    Write one = w;
    one.space = item["metadata"]["namespace"].as_string();
    see(one, item["metadata"]["name"].as_string(), object);
  }
}

// An object shows its scale too; a scale does not show the rest of its object.
void LoggedChanges::see(const Write& w, std::string_view name, const Value& object) {
  if (w.is_scale()) {
    if (w.verb != "get") objects_.erase(w.key_of(name));
    objects_[w.scale_key_of(name)] = object;
    return;
  }
  if (w.known->subresource("scale")) {
    if (auto scale = catalog::scale_of(object, *w.known))
      objects_[w.scale_key_of(name)] = std::move(*scale);
    else
      objects_.erase(w.scale_key_of(name));
  }
  objects_[w.key_of(name)] = object;
}

// The object has changed, and the log does not show the new state.
void LoggedChanges::forget(const Write& w) {
  objects_.erase(w.key_of(w.name()));
  objects_.erase(w.scale_key_of(w.name()));
}

void LoggedChanges::remember(const Write& w) {
  if (w.is_dry() || w.verb == "watch") return;
  if (w.verb == "deletecollection") {
    std::string prefix = w.key_of("");
    std::erase_if(objects_, [&](const auto& entry) { return entry.first.starts_with(prefix); });
    return;
  }
  if ((w.is_object() || w.is_scale()) && w.shows_object())
    see(w, w.name(), w.response);
  else if (w.verb != "get")
    forget(w);
}

void LoggedChanges::judge_scale(const Write& w, LoggedChange& change) {
  auto before = objects_.find(w.key());
  if (before == objects_.end())
    note(w, "the scale before it is not in the log; it counts as changed");
  else if (before->second["spec"] == w.response["spec"])
    return;
  ScaleDemands scale = scale_demands(*w.known, excluded_);
  if (!scale.knows_object)
    note(w, "where the object holds its replicas is not known; nothing is taken as excluded there");
  change.demands = std::move(scale.demands);
}

void LoggedChanges::keep(const Write& w, LoggedChange change) {
  changes_.push_back(change);
  if (w.code != 201 || w.verb == "create") return;
  change.verb = "create";
  change.is_second = true;
  changes_.push_back(std::move(change));
}

void LoggedChanges::judge(const Write& w) {
  LoggedChange change{.group = std::string(w.group),
                      .resource = w.subresource.empty() ? std::string(w.resource)
                                                        : cat(w.resource, "/", w.subresource),
                      .namespace_name = !w.known || w.known->namespaced ? std::string(w.space) : "",
                      .verb = std::string(w.verb),
                      .needs_verb = true,
                      .demands = {}};
  auto whole = [&](std::string_view why) {
    note(w, cat(why, "; covered by the verb ", w.verb, " alone"));
    keep(w, std::move(change));
  };
  const catalog::Subresource* sub = w.known && !w.subresource.empty()
                                        ? w.known->subresource(w.subresource)
                                        : nullptr;
  if (!w.known) return whole("nothing is known about the resource");
  if (w.is_scale() && sub && sub->schema && w.verb != "create") {
    change.needs_verb = false;
    judge_scale(w, change);
    changes_.push_back(std::move(change));
    return;
  }
  if (!w.is_object() || (w.verb == "create" && !w.subresource.empty()))
    return whole("it has no permissions on fields");

  const Resource& r = *w.known;
  const Schema& shape = r.permissions->compared() ? *r.permissions->compared()
                                                  : *r.schema;  // as the server compares
  bool is_create = w.verb == "create" || w.code == 201;
  auto ignored = catalog::ignored_fields(r, w.subresource, is_create);
  if (is_create) {
    if (!w.request.is_object()) return whole("what was sent is not in the log");
    Value sent = w.request;
    Value& meta = sent.member("metadata");
    if (!meta.is_object()) meta = Value::object();
    if (!meta.has("generateName") && meta["name"].as_string().empty()) meta.set("name", w.name());
    schema::ChangedFields changed(Value(), std::move(sent), shape, std::move(ignored));
    change.demands = schema::demands_of(changed, *r.permissions, excluded_);
  } else {
    auto at = objects_.find(w.key());
    const Value* before = at == objects_.end() ? nullptr : &at->second;
    auto is_other = [&](const Value& object, std::string_view field) {
      const Value& said = object["metadata"][field];
      return !said.as_string().empty() && said != (*before)["metadata"][field];
    };
    if (before &&
        (is_other(w.response, "uid") || (*before)["apiVersion"] != w.response["apiVersion"] ||
         (w.verb == "update" && is_other(w.request, "resourceVersion"))))
      before = nullptr;
    if (before && w.shows_object()) {
      schema::ChangedFields changed(*before, w.response, shape, ignored);
      FieldSet leaves = changed.leaves();
      if (was_mutated(w.event)) {
        // What a webhook wrote is not what the user changed.
        FieldSet sent = w.verb == "patch"
                            ? patched_fields(w.request, shape)
                            : schema::ChangedFields(*before, w.request, shape, ignored).leaves();
        leaves = only_touched(leaves, sent);
        note(w, "admission changed it too; only the fields that were sent count");
      }
      change.demands = schema::demands_of(leaves, changed, *r.permissions, excluded_);
    } else if (w.verb == "patch" && !w.request.is_null()) {
      note(w, "the object before it is not in the log; judged by the fields that the patch names");
      schema::ChangedFields named(Value(), w.request.is_object() ? w.request : Value::object(),
                                  shape, ignored);
      FieldSet all = patched_fields(w.request, shape), leaves;
      all.for_each([&](const FieldPath& path) {
        for (std::size_t n = 1; n <= path.size(); ++n) {
          FieldPath prefix(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(n));
          if (ignored.reset.has(prefix) ||
              (prefix != FieldPath{"f:metadata"} && ignored.server.has(prefix)))
            return;
        }
        leaves.insert(path);
      });
      change.demands = schema::demands_of(leaves, named, *r.permissions, excluded_);
    } else {
      return whole(before ? "the object after it is not in the log"
                          : "the object before it is not in the log");
    }
  }
  if (std::ranges::any_of(change.demands.fields,
                          [](const schema::Demand& d) { return !d.unnamed.empty(); })) {
    change.demands = {};
    return whole("it changes a field whose permission has no verb");
  }
  change.needs_verb = false;
  keep(w, std::move(change));
}

}  // namespace cardea::advice
