#include <algorithm>

#include "base/names.h"
#include "base/strings.h"
#include "schema/custom/validate.h"
#include "schema/wire/decode.h"

namespace cardea::schema {
namespace {

using json::FieldErrors;
using json::Member;
using json::Value;

constexpr std::size_t kMostAnnotationBytes = 256 * 1024;

void complain(FieldErrors& errors, const std::string& field, const Value& value,
              const Problems& problems) {
  for (const std::string& p : problems) errors.push_back(json::invalid(field, value, p));
}

void check_owners(const Value& owners, const std::string& field, FieldErrors& errors) {
  std::string first_controller;
  for (const Value& owner : owners.items()) {
    std::string_view api_version = owner["apiVersion"].as_string();
    auto slashes = std::ranges::count(api_version, '/');
    if (api_version.empty() || api_version.ends_with('/') || slashes > 1)
      errors.push_back(
          json::invalid(field + ".apiVersion", owner["apiVersion"], "version must not be empty"));
    for (const char* name : {"kind", "name", "uid"})
      if (owner[name].as_string().empty())
        errors.push_back(json::invalid(cat(field, ".", name), Value(""), "must not be empty"));
    if (!owner["controller"].as_bool()) continue;
    std::string controller = cat(owner["kind"].as_string(), "/", owner["name"].as_string());
    if (first_controller.empty())
      first_controller = controller;
    else
      errors.push_back(json::invalid(field, owners,
                                     cat("Only one reference can have Controller set to true. "
                                         "Found \"true\" in references for ",
                                         first_controller, " and ", controller)));
  }
}

void check_metadata(const Value& meta, const std::string& field, FieldErrors& errors) {
  auto text = [&](const char* name) { return meta[name].as_string(); };
  if (!text("generateName").empty())
    complain(errors, field + ".generateName", meta["generateName"],
             path_segment_problems(text("generateName"), true));
  complain(errors, field + ".name", meta["name"], path_segment_problems(text("name")));
  if (!text("namespace").empty())
    complain(errors, field + ".namespace", meta["namespace"],
             dns_label_problems(text("namespace")));
  if (meta["generation"].as_int() < 0)
    errors.push_back(json::invalid(field + ".generation", meta["generation"],
                                   "must be greater than or equal to 0"));
  for (const Member& m : meta["labels"].members()) {
    complain(errors, field + ".labels", m.name, label_key_problems(m.key()));
    complain(errors, field + ".labels", m.value, label_value_problems(m.value.as_string()));
  }
  std::size_t bytes = 0;
  for (const Member& m : meta["annotations"].members()) {
    bytes += m.key().size() + m.value.as_string().size();
    complain(errors, field + ".annotations", m.name, label_key_problems(lower(m.key())));
  }
  if (bytes > kMostAnnotationBytes)
    errors.push_back(json::too_long(field + ".annotations", kMostAnnotationBytes));
  check_owners(meta["ownerReferences"], field + ".ownerReferences", errors);
  for (const Value& finalizer : meta["finalizers"].items())
    complain(errors, field + ".finalizers", finalizer, label_key_problems(finalizer.as_string()));
}

class EmbeddedChecker {
 public:
  EmbeddedChecker(const Schema& object_meta, std::string_view base)
      : object_meta_(object_meta), path_(base) {}

  void check(const Schema& s, const Value& v, bool is_resource) {
    if (!s.rules) return;
    if (v.is_object()) {
      if (is_resource) check_resource(v);
      std::size_t length = path_.size();
      for (const Member& m : v.members()) {
        if (is_resource && m.key() == "metadata") continue;
        if (const Property* p = s.property(m.key())) {
          path_ = child(m.key());
          check(*p->schema, m.value, p->schema->embedded_resource);
        } else if (s.additional) {
          path_ += cat("[", m.key(), "]");
          check(*s.additional, m.value, s.additional->embedded_resource);
        }
        path_.resize(length);
      }
    } else if (v.is_array() && s.items) {
      std::size_t length = path_.size();
      for (std::size_t i = 0; i < v.size(); ++i) {
        path_ += cat("[", i, "]");
        check(*s.items, v[i], s.items->embedded_resource);
        path_.resize(length);
      }
    }
  }

  FieldErrors errors;

 private:
  std::string child(std::string_view name) const {
    return path_.empty() ? std::string(name) : cat(path_, ".", name);
  }

  void check_resource(const Value& v) {
    for (const char* name : {"apiVersion", "kind"})
      if (!v.has(name)) errors.push_back(json::required(child(name)));
    if (const Value* version = v.find("apiVersion");
        version && check_text("apiVersion", *version)) {
      if (std::ranges::count(version->as_string(), '/') > 1)
        errors.push_back(
            json::invalid(child("apiVersion"), *version,
                          cat("unexpected GroupVersion string: ", version->as_string())));
    }
    if (const Value* kind = v.find("kind"); kind && check_text("kind", *kind)) {
      if (auto problems = dns_1035_label_problems(lower(kind->as_string())); !problems.empty())
        errors.push_back(json::invalid(
            child("kind"), *kind,
            cat("may have mixed case, but should otherwise match: ", join(problems, ","))));
    }
    if (const Value* meta = v.find("metadata")) {
      json::Document document{*meta, {}};
      if (auto decoded = decode(object_meta_, document, ""))
        check_metadata(decoded->value, child("metadata"), errors);
      else
        errors.push_back(json::invalid(child("metadata"), *meta, decoded.error().message));
    }
  }

  bool check_text(std::string_view name, const Value& v) {
    if (v.is_string() && !v.as_string().empty()) return true;
    errors.push_back(
        json::invalid(child(name), v, v.is_string() ? "must not be empty" : "must be a string"));
    return false;
  }

  const Schema& object_meta_;
  std::string path_;
};

}  // namespace

FieldErrors validate_embedded(const Schema& schema, const Schema& object_meta, const Value& value,
                              bool root, std::string_view base) {
  EmbeddedChecker checker(object_meta, base);
  checker.check(schema, value, root || schema.embedded_resource);
  return std::move(checker.errors);
}

}  // namespace cardea::schema
