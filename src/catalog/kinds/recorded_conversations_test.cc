#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "base/strings.h"
#include "catalog/strategy.h"
#include "catalog/validate.h"
#include "json/parse.h"
#include "json/print.h"
#include "json/testing/recordings.h"

// Sends recorded conversations with a real API server through the hooks alone, without storage and
// HTTP. Created objects get defaults, are prepared and validated as on the recorded server. The
// causes must be the same and in the same order, and accepted objects must be equal. Parts that
// only the layers above know (generic metadata, admission, empty fields that are printed) are not
// compared.

namespace cardea::catalog {
namespace {

using json::Value;

constexpr std::string_view kUid = "some-uid";

struct Request {
  std::string method, group, version, namespace_name, resource, name, subresource;
  bool dry_run = false;
  std::string object_path;  // without subresource
};

Request parse_path(std::string_view method, std::string_view full) {
  Request r{.method = std::string(method)};
  auto query = full.find('?');
  std::string_view path = full.substr(0, query);
  if (query != full.npos) r.dry_run = full.substr(query).find("dryRun=All") != full.npos;
  auto parts = split(path, '/');
  std::size_t i = 1;
  if (parts.size() > i && parts[i] == "apis") {
    if (parts.size() < 5) return r;
    r.group = parts[2];
    r.version = parts[3];
    i = 4;
  } else if (parts.size() > 3 && parts[i] == "api") {
    r.version = parts[2];
    i = 3;
  } else {
    return r;
  }
  if (parts.size() > i + 2 && parts[i] == "namespaces") {
    r.namespace_name = parts[i + 1];
    i += 2;
  }
  r.resource = parts[i];
  if (parts.size() > i + 1) r.name = parts[i + 1];
  if (parts.size() > i + 2) r.subresource = parts[i + 2];
  r.object_path = cat("/", r.group, "/", r.namespace_name, "/", r.resource, "/", r.name);
  return r;
}

void merge_patch(Value& target, const Value& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object()) target = Value::object();
  for (const json::Member& m : patch.members()) {
    if (m.value.is_null())
      target.erase(m.key());
    else
      merge_patch(target.member(m.key()), m.value);
  }
}

// Removes empty members: the layer above decides whether they are printed.
Value tidy(const Value& v, bool drop_zeros = false) {
  if (v.is_string()) {
    std::string text(v.as_string());
    for (std::size_t at; (at = text.find("<uid")) != text.npos;)
      text.replace(at, text.find('>', at) - at + 1, kUid);
    return Value(text);
  }
  if (v.is_array()) {
    Value out = Value::array();
    for (const Value& item : v.items()) out.push_back(tidy(item, drop_zeros));
    return out;
  }
  if (!v.is_object()) return v;
  Value out = Value::object();
  for (const json::Member& m : v.members()) {
    Value kept = tidy(m.value, drop_zeros || m.key() == "status");
    if (kept.is_null() || ((kept.is_array() || kept.is_object()) && kept.empty())) continue;
    if (kept.is_string() && kept.as_string().empty()) continue;
    if (drop_zeros &&
        ((kept.is_int() && kept.as_int() == 0) || (kept.is_bool() && !kept.as_bool())))
      continue;
    out.set(m.key(), kept);
  }
  return out;
}

Value comparable(const Value& object) {
  Value out = tidy(object);
  if (out["metadata"].is_object())
    for (std::string_view key :
         {"name", "namespace", "uid", "creationTimestamp", "resourceVersion", "managedFields",
          "finalizers", "generation", "generateName", "selfLink", "deletionTimestamp"})
      out.member("metadata").erase(key);
  if (out["metadata"].empty()) out.erase("metadata");
  out.erase("kind");
  out.erase("apiVersion");
  return out;
}

// Paths of the form $.a.b that a step leaves out. Other forms do not occur in the parts that are
// compared here.
Value without_ignored(Value object, const Value& step) {
  for (const Value& path : step["ignore"].items()) {
    auto parts = split(path.as_string(), '.');
    Value* at = &object;
    for (std::size_t i = 1; i + 1 < parts.size() && at->is_object() && at->has(parts[i]); ++i)
      at = &at->member(parts[i]);
    if (parts.size() > 1 && at->is_object()) at->erase(parts.back());
  }
  return object;
}

void differences(const Value& expected, const Value& found, const std::string& path,
                 std::vector<std::string>& out) {
  if (expected == found) return;
  // An absent number or boolean prints as zero if the type says so.
  if (found.is_null() && (expected == Value(0) || expected == Value(false))) return;
  if (expected.is_object() && found.is_object()) {
    for (const json::Member& m : expected.members())
      differences(m.value, found[m.key()], cat(path, ".", m.key()), out);
    for (const json::Member& m : found.members())
      if (!expected.has(m.key()) && m.value != Value(false))
        out.push_back(cat(path, ".", m.key(), ": unexpected ", json::print(m.value)));
    return;
  }
  if (expected.is_array() && found.is_array() && expected.size() == found.size()) {
    for (std::size_t i = 0; i < expected.size(); ++i)
      differences(expected[i], found[i], cat(path, "[", i, "]"), out);
    return;
  }
  out.push_back(cat(path, ": expected ", json::print(expected), " found ", json::print(found)));
}

class Walk {
 public:
  int checked = 0;
  int differed = 0;

  void file(const std::filesystem::path& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    auto document = json::parse(text.str());
    ASSERT_TRUE(document) << path;
    objects_.clear();
    name_ = path.filename().string();
    for (const Value& s : (*document)["setup"].items()) step(s);
    number_ = 0;
    for (const Value& s : (*document)["steps"].items()) {
      step(s);
      ++number_;
    }
  }

 private:
  void step(const Value& s) {
    Request r = parse_path(s["method"].as_string(), s["path"].as_string());
    // The core group depends on allocators and admission plugins throughout; tests with a whole
    // server cover it.
    if (r.group.empty() || r.group == "apiextensions.k8s.io") return;
    if (r.method == "POST" && r.name.empty()) create(r, s);
    if (r.method == "PUT" || r.method == "PATCH") update(r, s);
    if (r.method == "DELETE" && !r.dry_run) objects_.erase(r.object_path);
  }

  StrategyContext context(const Request& r) {
    user_ = Value::object({{"username", "admin"},
                           {"groups", Value::array({"system:masters", "system:authenticated"})},
                           {"extra", Value::object({{"authentication.kubernetes.io/credential-id",
                                                     Value::array({"X509SHA256=<sha256>"})}})}});
    return {.group = r.group,
            .version = r.version,
            .resource = r.resource,
            .subresource = r.subresource,
            .namespace_name = r.namespace_name,
            .user = "admin",
            .user_info = &user_,
            .now = "<time>"};
  }

  void create(const Request& r, const Value& s) {
    if (!s["body"].is_object() || s["body"]["metadata"].has("generateName")) return;
    const Strategy* strategy = builtin_strategy(r.group, s["body"]["kind"].as_string());
    if (strategy == nullptr) return;
    Value object = s["body"];
    if (!object["metadata"].is_object()) object.set("metadata", Value::object());
    object.member("metadata").set("uid", kUid);
    if (!r.namespace_name.empty())
      object.member("metadata").set("namespace", r.namespace_name);
    else
      object.member("metadata").erase("namespace");
    StrategyContext c = context(r);
    if (strategy->defaults) strategy->defaults(object, c);
    if (strategy->prepare_for_create) strategy->prepare_for_create(object, c);
    auto errors = validate_create(*strategy, object, !r.namespace_name.empty(), c);
    if (errors.empty() && !r.dry_run)
      objects_[cat(r.object_path, object["metadata"]["name"].as_string())] = object;
    compare(r, s, object, errors, strategy, nullptr);
  }

  void update(const Request& r, const Value& s) {
    auto at = objects_.find(r.object_path);
    if (at == objects_.end()) return;
    const Value old = at->second;
    const Strategy* strategy = builtin_strategy(r.group, old["kind"].as_string());
    if (strategy == nullptr ||
        (r.subresource != "" && r.subresource != "status" && r.subresource != "approval"))
      return;
    Value object;
    if (r.method == "PUT") {
      object = s["body"];
      if (!object.is_object()) return;
      Value meta = old["metadata"];
      for (std::string_view key : {"labels", "annotations", "finalizers", "ownerReferences"}) {
        meta.erase(key);
        if (object["metadata"].has(key)) meta.set(key, object["metadata"][key]);
      }
      object.set("metadata", meta);
    } else {
      if (s["headers"]["Content-Type"].as_string().find("merge-patch") == std::string_view::npos)
        return;
      if (!s["body"].is_object() || json::print(s["body"]).find("$patch") != std::string::npos)
        return;
      if (s["headers"]["Content-Type"].as_string().starts_with("application/strategic") &&
          json::print(s["body"]).find('[') != std::string::npos)
        return;
      object = old;
      merge_patch(object, s["body"]);
    }
    StrategyContext c = context(r);
    if (strategy->defaults) strategy->defaults(object, c);
    bool main = r.subresource.empty();
    auto prepare = main ? strategy->prepare_for_update : strategy->prepare_for_status_update;
    if (prepare) prepare(object, old, c);
    auto errors = validate_update(*strategy, object, old, !r.namespace_name.empty(), c);
    if (errors.empty() && !r.dry_run) at->second = object;
    compare(r, s, object, errors, strategy, &old);
  }

  void compare(const Request& r, const Value& s, const Value& object,
               const json::FieldErrors& errors, const Strategy* strategy, const Value* old) {
    std::int64_t status = s["expect"]["status"].as_int();
    const Value& body = s["expect"]["body"];
    std::vector<std::string> notes;
    if (status == 200 || status == 201) {
      for (const auto& e : errors) notes.push_back("refused: " + e.message());
      if (errors.empty() && !s.has("only") && body.is_object())
        differences(without_ignored(comparable(body), s), without_ignored(comparable(object), s),
                    "", notes);
    } else if (status == 422 && body["details"]["causes"].size() > 0) {
      std::vector<std::string> wanted, given;
      for (const Value& c : body["details"]["causes"].items()) {
        if (!c.has("field")) continue;
        std::string message(tidy(c["message"]).as_string());
        wanted.push_back(cat(c["field"].as_string(), ": ", message));
      }
      for (const auto& e : errors) given.push_back(cat(e.field, ": ", e.body()));
      if (wanted != given) {
        for (const auto& w : wanted)
          if (std::ranges::count(wanted, w) > std::ranges::count(given, w))
            notes.push_back("missing " + w);
        for (const auto& g : given)
          if (std::ranges::count(given, g) > std::ranges::count(wanted, g))
            notes.push_back("extra   " + g);
        if (notes.empty()) {
          notes.push_back("order differs; wanted:");
          for (const auto& w : wanted) notes.push_back("    " + w);
          for (const auto& g : given) notes.push_back("  ! " + g);
        }
      }
    } else {
      return;
    }
    if (status == 200 || status == 201) {
      std::vector<std::string> given, wanted;
      if (strategy->warnings) given = strategy->warnings(object, old, context(r));
      for (const Value& w : s["expect"]["headers"]["Warning"].items()) {
        if (w.as_string().find("unknown field") != std::string_view::npos) continue;
        wanted.emplace_back(w.as_string());
      }
      for (auto& g : given) g = cat("299 - ", cardea::quoted(std::string_view(g)));
      if (given != wanted)
        notes.push_back(
            cat("warnings: wanted ", join(wanted, " | "), " found ", join(given, " | ")));
    }
    ++checked;
    if (notes.empty()) return;
    ++differed;
    std::cout << name_ << " #" << number_ << " " << r.method << " " << s["path"].as_string()
              << "\n   " << json::print(s["body"]).substr(0, 700) << "\n";
    for (const auto& n : notes) std::cout << "     " << n.substr(0, 900) << "\n";
  }

  std::map<std::string, Value> objects_;
  std::string name_;
  Value user_;
  int number_ = 0;
};

std::vector<std::filesystem::path> json_files(const std::filesystem::path& folder) {
  const char* only = std::getenv("CARDEA_CONVERSATIONS");
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".json" &&
        (!only || entry.path().string().find(only) != std::string::npos))
      files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

TEST(RecordedConversations, TheHooksOfBuiltinKindsAnswerAsTheRecordedServerDid) {
  // The subject of these conversations is decided above the hooks.
  auto is_about_hooks = [](const std::string& name) {
    return !name.starts_with("admission") && !name.starts_with("noderestriction") &&
           !name.starts_with("apply--") && !name.starts_with("crd--") &&
           !name.starts_with("watch--");
  };
  Walk walk;
  for (const auto& file : json_files(json::recordings()))
    if (is_about_hooks(file.filename().string())) walk.file(file);
  std::cout << walk.checked << " steps checked, " << walk.differed << " differ\n";
  EXPECT_EQ(walk.differed, 0);
}

TEST(RecordedConversations, TheHooksOfBuiltinKindsAnswerAsTheServerThatWasAsked) {
  Walk walk;
  for (const auto& file : json_files(std::filesystem::path(__FILE__).parent_path() / "answers"))
    walk.file(file);
  std::cout << walk.checked << " steps checked, " << walk.differed << " differ\n";
  EXPECT_GT(walk.checked, 0);
  EXPECT_EQ(walk.differed, 0);
}

}  // namespace
}  // namespace cardea::catalog
