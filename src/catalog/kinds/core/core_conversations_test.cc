#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "base/strings.h"
#include "catalog/kinds/core/service_allocator.h"
#include "catalog/strategy.h"
#include "catalog/validate.h"
#include "json/parse.h"
#include "json/patch.h"
#include "json/print.h"
#include "json/testing/recordings.h"

// Sends recorded conversations with a real API server through the hooks of the kinds of the core
// group, without storage and HTTP. Each created object gets defaults and addresses, is prepared and
// checked; each updated object too, against the last recorded object. The causes must be the same,
// and accepted objects must be equal. Parts that belong to other layers (generic metadata,
// admission, zeros that types print) are not compared.

namespace cardea::catalog {
namespace {

using json::Value;

constexpr std::string_view kTopics[] = {"crud",         "defaults",   "delete",       "errors",
                                        "generatename", "namespaces", "subresources", "validation"};

struct Kind {
  std::string_view resource, kind;
  bool namespaced = true;
};
constexpr Kind kKinds[] = {{"configmaps", "ConfigMap"},
                           {"endpoints", "Endpoints"},
                           {"events", "Event"},
                           {"limitranges", "LimitRange"},
                           {"namespaces", "Namespace", false},
                           {"nodes", "Node", false},
                           {"persistentvolumeclaims", "PersistentVolumeClaim"},
                           {"persistentvolumes", "PersistentVolume", false},
                           {"pods", "Pod"},
                           {"podtemplates", "PodTemplate"},
                           {"replicationcontrollers", "ReplicationController"},
                           {"resourcequotas", "ResourceQuota"},
                           {"secrets", "Secret"},
                           {"serviceaccounts", "ServiceAccount"},
                           {"services", "Service"}};

// Fields that admission plugins set, and metadata that the layer above sets.
constexpr std::string_view kAdmission[] = {"spec.tolerations", "spec.priority",
                                           "spec.preemptionPolicy", "spec.taints"};
constexpr std::string_view kGenericMeta[] = {"name",
                                             "namespace",
                                             "uid",
                                             "creationTimestamp",
                                             "resourceVersion",
                                             "managedFields",
                                             "generation",
                                             "generateName",
                                             "selfLink",
                                             "deletionTimestamp",
                                             "deletionGracePeriodSeconds"};

struct Target {
  const Kind* kind = nullptr;
  std::string namespace_name, name, subresource, key;
  bool dry_run = false;
};

Target parse_target(std::string_view url) {
  Target t;
  std::size_t query = url.find('?');
  t.dry_run = query != std::string_view::npos &&
              url.substr(query).find("dryRun") != std::string_view::npos;
  auto parts = split(url.substr(0, query), '/');
  if (parts.size() < 4 || parts[1] != "api" || parts[2] != "v1") return t;
  std::size_t i = 3;
  if (parts[3] == "namespaces" && parts.size() > 5 && parts[5] != "status" &&
      parts[5] != "finalize") {
    t.namespace_name = parts[4];
    i = 5;
  }
  auto at = std::ranges::find(kKinds, parts[i], &Kind::resource);
  if (at == std::end(kKinds)) return t;
  t.kind = &*at;
  if (parts.size() > i + 1) t.name = parts[i + 1];
  if (parts.size() > i + 2) t.subresource = parts[i + 2];
  t.key = cat(t.namespace_name, "/", parts[i], "/");
  return t;
}

bool is_empty(const Value& v) {
  return v.is_null() || ((v.is_array() || v.is_object()) && v.empty()) ||
         (v.is_string() && v.as_string().empty()) || v == Value(0) || v == Value(false);
}

// Removes zeros and values that differ from run to run.
Value tidy(const Value& v) {
  if (v.is_string()) {
    std::string text(v.as_string());
    for (std::string_view mark : {"<ip>", "<time>", "<microtime>"})
      if (text == mark) return "<any>";
    return text;
  }
  if (v.is_array()) {
    Value out = Value::array();
    for (const Value& item : v.items()) out.push_back(tidy(item));
    return out;
  }
  if (!v.is_object()) return v;
  Value out = Value::object();
  for (const json::Member& m : v.members())
    if (Value kept = tidy(m.value); !is_empty(kept)) out.set(m.key(), std::move(kept));
  return out;
}

Value comparable(const Value& object) {
  Value out = tidy(object);
  for (std::string_view key : kGenericMeta)
    if (out["metadata"].is_object()) out.member("metadata").erase(key);
  if (out["metadata"].empty()) out.erase("metadata");
  out.erase("kind");
  out.erase("apiVersion");
  for (std::string_view path : kAdmission)
    if (out["spec"].is_object()) out.member("spec").erase(path.substr(5));
  if (out["spec"].empty()) out.erase("spec");
  return out;
}

void differences(const Value& wanted, const Value& found, const std::string& path,
                 std::vector<std::string>& out) {
  if (wanted == found || wanted == Value("<any>") || wanted == Value("<port>") ||
      wanted == Value("<ignored>"))
    return;
  if (wanted.is_object() && found.is_object()) {
    for (const json::Member& m : wanted.members())
      differences(m.value, found[m.key()], cat(path, ".", m.key()), out);
    for (const json::Member& m : found.members())
      if (!wanted.has(m.key()))
        out.push_back(cat(path, ".", m.key(), ": unexpected ", json::print(m.value)));
  } else if (wanted.is_array() && found.is_array() && wanted.size() == found.size()) {
    for (std::size_t i = 0; i < wanted.size(); ++i)
      differences(wanted[i], found[i], cat(path, "[", i, "]"), out);
  } else {
    out.push_back(cat(path, ": wanted ", json::print(wanted), " found ", json::print(found)));
  }
}

std::vector<std::string> causes_of(const Value& body) {
  std::vector<std::string> out;
  const Value& picked = body["$.details.causes"][0];  // where only some paths are compared
  for (const Value& cause : (picked.is_array() ? picked : body["details"]["causes"]).items()) {
    std::string_view message = cause["message"].as_string();
    out.push_back(cat(cause["field"].as_string(), ": ", message == "<ignored>" ? "" : message));
  }
  return out;
}

class Walk {
 public:
  int checked = 0, differed = 0;

  void file(const std::filesystem::path& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    auto document = json::parse(text.str());
    ASSERT_TRUE(document) << path;
    objects_.clear();
    name_ = path.filename().string();
    for (const char* part : {"setup", "steps"})
      for (const Value& s : (*document)[part].items()) step(s);
  }

 private:
  struct Outcome {
    Value object;
    std::vector<std::string> causes;  // "field: message"
    std::vector<std::string> warnings;
  };

  void step(const Value& s) {
    Target t = parse_target(s["path"].as_string());
    if (!t.kind || s["as"].as_string() == "anonymous") return;
    if (json::print(s["body"]).find("${") != std::string::npos) {  // speaks of answers that were
                                                                   // not captured here
      objects_.erase(t.key + t.name);
      return;
    }
    const Strategy* strategy = builtin_strategy("", t.kind->kind);
    ASSERT_TRUE(strategy) << t.kind->kind;
    std::string_view method = s["method"].as_string();
    if (method == "POST" && t.name.empty()) create(t, *strategy, s);
    if (method == "PUT" || method == "PATCH") update(t, *strategy, s);
    if (method == "DELETE") objects_.erase(t.key + t.name);
    std::int64_t status = s["expect"]["status"].as_int();
    const Value& body = s["expect"]["body"];
    // Later steps start from the objects of the recorded server.
    if ((status == 200 || status == 201) && !t.dry_run && !s.has("only") &&
        body["kind"].as_string() == t.kind->kind)
      objects_[t.key + std::string(body["metadata"]["name"].as_string())] = body;
  }

  static std::optional<Value> body_of(const Value& s) {
    std::string text = json::print(s["body"]);
    if (s.has("fill"))
      for (std::size_t at; (at = text.find("<fill>")) != text.npos;)
        text.replace(at, 6, std::string(static_cast<std::size_t>(s["fill"].as_int()), 'x'));
    auto parsed = json::parse(text);
    if (!parsed || !parsed->is_object()) return std::nullopt;
    return *parsed;
  }

  StrategyContext context(const Target& t) const {
    StrategyContext c;
    c.version = "v1";
    c.resource = t.kind->resource;
    c.subresource = t.subresource;
    c.namespace_name = t.namespace_name;
    c.user = "admin";
    c.now = "<time>";
    return c;
  }

  static std::vector<std::string> lines(const json::FieldErrors& errors) {
    std::vector<std::string> out;
    for (const auto& e : errors)
      out.push_back(cat(e.field.empty() ? "<nil>" : e.field, ": ", e.body()));
    return out;
  }

  void create(const Target& t, const Strategy& strategy, const Value& s) {
    auto body = body_of(s);
    if (!body || (body->has("kind") && (*body)["kind"].as_string() != t.kind->kind)) return;
    Outcome o{.object = std::move(*body), .causes = {}, .warnings = {}};
    if (!o.object["metadata"].is_object()) o.object.set("metadata", Value::object());
    Value& meta = o.object.member("metadata");
    if (meta["name"].as_string().empty() && !meta["generateName"].as_string().empty())
      meta.set("name", cat(meta["generateName"].as_string(), "<suffix>"));
    if (t.kind->namespaced && !meta.has("namespace")) meta.set("namespace", t.namespace_name);
    StrategyContext c = context(t);
    if (strategy.defaults) strategy.defaults(o.object, c);
    if (t.kind->kind == "Service")
      if (auto error = allocator_.create(o.object, in_use_, 7)) {
        for (const Cause& cause : error->details->causes)
          o.causes.push_back(cat(cause.field, ": ", cause.message));
        return compare(t, s, o);
      }
    if (strategy.prepare_for_create) strategy.prepare_for_create(o.object, c);
    bool generated = o.object["metadata"]["name"].as_string().ends_with("<suffix>");
    Value checked_object = o.object;
    if (generated)
      checked_object.member("metadata")
          .set("name",
               cat(checked_object["metadata"]["generateName"].as_string().substr(0, 58), "abcde"));
    o.causes = lines(validate_create(strategy, checked_object, t.kind->namespaced, c));
    for (std::string& line : o.causes)
      for (std::size_t at; generated && (at = line.find("abcde")) != line.npos;)
        line.replace(at, 5, "<suffix>");
    if (strategy.warnings) o.warnings = strategy.warnings(checked_object, nullptr, c);
    if (o.causes.empty() && t.kind->kind == "Service" && !t.dry_run) in_use_.add(o.object);
    bool unrecorded = s["expect"]["status"].is_null();  // the answers to the setup
    if (o.causes.empty() && unrecorded)
      objects_[t.key + std::string(o.object["metadata"]["name"].as_string())] = o.object;
    compare(t, s, o);
  }

  // The object that a PUT or a merge patch makes from the old object; null for patches that need a
  // schema.
  static std::optional<Value> changed(const Value& s, const Value& old) {
    std::string_view type = s["headers"]["Content-Type"].as_string();
    auto body = body_of(s);
    if (s["method"].as_string() == "PUT") {
      if (!body || !(*body)["metadata"].is_object()) return std::nullopt;
      for (std::string_view key : kGenericMeta)
        if (old["metadata"].has(key) && !(*body)["metadata"].has(key))
          body->member("metadata").set(key, old["metadata"][key]);
      body->member("metadata").set("resourceVersion", old["metadata"]["resourceVersion"]);
      return body;
    }
    if (type.starts_with("application/json-patch")) {
      auto patched = json::apply_json_patch(old, s["body"]);
      if (!patched) return std::nullopt;
      return *patched;
    }
    bool strategic = type.starts_with("application/strategic");
    if (!body || (!strategic && type.find("merge-patch") == std::string_view::npos))
      return std::nullopt;
    if (strategic && json::print(*body).find_first_of("[$") != std::string::npos)
      return std::nullopt;
    auto merged = json::apply_merge_patch(old, *body);
    if (!merged) return std::nullopt;
    return *merged;
  }

  void update(const Target& t, const Strategy& strategy, const Value& s) {
    auto at = objects_.find(t.key + t.name);
    if (at == objects_.end()) return;
    const Value old = at->second;
    auto object = changed(s, old);
    if (!object) {
      objects_.erase(at);  // changed in a way that this test does not follow
      return;
    }
    Outcome o{.object = std::move(*object), .causes = {}, .warnings = {}};
    StrategyContext c = context(t);
    if (strategy.defaults) strategy.defaults(o.object, c);
    bool status = t.subresource == "status";
    if (t.kind->kind == "Service" && !status) {
      ServicesInUse none;
      if (auto error = allocator_.update(o.object, old, none, 9)) {
        for (const Cause& cause : error->details->causes)
          o.causes.push_back(cat(cause.field, ": ", cause.message));
        return compare(t, s, o);
      }
    }
    auto prepare = status ? strategy.prepare_for_status_update : strategy.prepare_for_update;
    if (prepare) prepare(o.object, old, c);
    o.causes = lines(validate_update(strategy, o.object, old, t.kind->namespaced, c));
    if (strategy.warnings) o.warnings = strategy.warnings(o.object, &old, c);
    if (o.causes.empty() && !t.dry_run) at->second = o.object;
    compare(t, s, o);
  }

  // Steps whose answer does not come from the kind: options of the request, other admission, races.
  static bool is_ours(const Value& body) {
    return std::ranges::all_of(body["details"]["causes"].items(), [](const Value& c) {
      std::string_view field = c["field"].as_string();
      return field != "dryRun" && field != "fieldManager" && field != "patch" &&
             !field.starts_with("metadata.labels[pod-security") && field != "propagationPolicy" &&
             field != "fieldValidation" && field != "force" && field != "metadata.resourceVersion";
    });
  }

  void compare(const Target&, const Value& s, const Outcome& o) {
    std::int64_t status = s["expect"]["status"].as_int();
    const Value& body = s["expect"]["body"];
    std::vector<std::string> notes;
    if (status == 200 || status == 201) {
      for (const std::string& cause : o.causes) notes.push_back("refused: " + cause);
      if (o.causes.empty() && !s.has("only") && !s.has("ignore"))
        differences(comparable(body), comparable(o.object), "", notes);
      std::vector<std::string> wanted, given;
      for (const Value& w : s["expect"]["headers"]["Warning"].items())
        if (std::string_view text = w.as_string();
            text.find("unknown field") == text.npos && text.find("duplicate field") == text.npos &&
            text.find("v1 Endpoints is deprecated") == text.npos)
          wanted.emplace_back(text);
      for (const std::string& w : o.warnings)
        given.push_back(cat("299 - ", cardea::quoted(std::string_view(w))));
      if (o.causes.empty() && wanted != given)
        notes.push_back(
            cat("warnings: wanted ", join(wanted, " | "), " found ", join(given, " | ")));
    } else if (status == 422 && is_ours(body)) {
      std::vector<std::string> wanted = causes_of(body), given = o.causes;
      for (std::size_t i = 0; i < wanted.size() && i < given.size(); ++i)
        if (wanted[i].ends_with(": "))
          given[i] = given[i].substr(0, given[i].find(": ") + 2);  // text not compared
      bool unordered = json::print(s["unordered"]).find("causes") != std::string::npos;
      if (unordered) std::ranges::sort(wanted), std::ranges::sort(given);
      if (wanted != given)
        notes = {"wanted " + join(wanted, "\n            "),
                 "found  " + join(given, "\n            ")};
    } else {
      return;
    }
    ++checked;
    if (notes.empty()) return;
    ++differed;
    std::cout << name_ << " " << s["method"].as_string() << " " << s["path"].as_string() << "\n   "
              << json::print(s["body"]).substr(0, 500) << "\n";
    for (const std::string& n : notes) std::cout << "     " << n.substr(0, 2000) << "\n";
  }

  std::map<std::string, Value> objects_;
  std::string name_;
  ServiceAllocator allocator_{*ServiceRanges::parse("10.0.0.0/24"), 30000, 32767};
  ServicesInUse in_use_;
};

TEST(CoreConversations, TheHooksOfCoreKindsAnswerAsTheRecordedServerDid) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(json::recordings())) {
    std::string name = entry.path().filename().string();
    if (entry.path().extension() == ".json" &&
        std::ranges::find(kTopics, name.substr(0, name.find("--"))) != std::end(kTopics))
      files.push_back(entry.path());
  }
  std::ranges::sort(files);
  Walk walk;
  for (const auto& file : files) walk.file(file);
  std::cout << walk.checked << " steps checked, " << walk.differed << " differ\n";
  EXPECT_EQ(walk.differed, 0);
}

}  // namespace
}  // namespace cardea::catalog
