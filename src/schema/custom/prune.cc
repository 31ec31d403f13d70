#include "schema/custom/prune.h"

#include <algorithm>

#include "base/strings.h"
#include "json/field_error.h"
#include "json/members.h"
#include "json/noted_paths.h"
#include "schema/custom/rules.h"

namespace cardea::schema {
namespace {

using json::Member;
using json::Value;

bool is_meta_field(std::string_view key) {
  return key == "apiVersion" || key == "kind" || key == "metadata";
}

const Schema* schema_of(const Schema* s, std::string_view key) {
  if (!s) return nullptr;
  if (const Property* p = s->property(key)) return p->schema;
  return s->rules && s->rules->any_additional ? nullptr : s->additional;
}

// Appends a key or an index to a path for the time of one visit.
class PathStep {
 public:
  PathStep(std::string& path, std::string_view key) : path_(path), length_(path.size()) {
    if (!path.empty()) path += '.';
    path += key;
  }
  PathStep(std::string& path, std::size_t index) : path_(path), length_(path.size()) {
    path += cat("[", index, "]");
  }
  ~PathStep() { path_.resize(length_); }
  PathStep(const PathStep&) = delete;
  PathStep& operator=(const PathStep&) = delete;

 private:
  std::string& path_;
  std::size_t length_;
};

class Pruner {
 public:
  // `keep` is true below x-kubernetes-preserve-unknown-fields, up to the next field that the schema
  // names.
  Value run(const Schema* s, const Value& v, bool is_resource, bool keep) {
    keep |= s && s->preserve_unknown_fields;
    if (v.is_object()) return run_object(s, v, is_resource, keep);
    if (!v.is_array()) return v;
    Value out = v;
    const Schema* items = s ? s->items : nullptr;
    if (keep && !items) return v;
    for (std::size_t i = 0; i < v.size(); ++i) {
      PathStep step(path_, i);
      Value next = run(items, v[i], items && items->embedded_resource, keep);
      if (!next.same(v[i])) out.item(i) = std::move(next);
    }
    return out;
  }

  json::NotedPaths unknown;

 private:
  // Whether a member is the next of these, which are in order.
  static auto next_of(const std::vector<const Member*>& members) {
    return [&members, next = std::size_t{0}](const Member& m) mutable {
      const bool is_it = next < members.size() && members[next]->key() == m.key();
      next += is_it;
      return is_it;
    };
  }

  Value run_object(const Schema* s, const Value& v, bool is_resource, bool keep) {
    Value out = v;
    std::vector<const Member*> dropped;
    bool is_map = s && s->additional;
    for (const Member& m : v.members()) {
      if (is_resource && is_meta_field(m.key())) continue;
      const Property* p = s ? s->property(m.key()) : nullptr;
      PathStep step(path_, m.key());
      if (!p && !is_map) {
        if (keep) continue;
        if (unknown.has_room()) unknown.add(path_);
        dropped.push_back(&m);
        continue;
      }
      const Schema* child = p ? p->schema : s->additional;
      Value next = run(child, m.value, child->embedded_resource, false);
      if (!next.same(m.value)) out.set(m.key(), std::move(next));
    }
    if (!dropped.empty()) json::erase_members(out, next_of(dropped));
    return out;
  }

  std::string path_;
};

class Coercer {
 public:
  explicit Coercer(const Schema& object_meta) : object_meta_(object_meta) {}

  Value run(const Schema& s, const Value& v, bool is_resource) {
    Value out = v;
    if (v.is_object()) {
      for (const Member& m : v.members()) {
        PathStep step(path_, m.key());
        if (is_resource && is_meta_field(m.key())) {
          Value next = m.key() == "metadata" ? metadata(m.value) : text(m.value);
          if (!next.same(m.value)) out.set(m.key(), std::move(next));
          continue;
        }
        const Schema* child = schema_of(&s, m.key());
        if (!child || !child->rules) continue;
        Value next = run(*child, m.value, child->embedded_resource);
        if (!next.same(m.value)) out.set(m.key(), std::move(next));
      }
    } else if (v.is_array() && s.items) {
      for (std::size_t i = 0; i < v.size(); ++i) {
        PathStep step(path_, i);
        Value next = run(*s.items, v[i], s.items->embedded_resource);
        if (!next.same(v[i])) out.item(i) = std::move(next);
      }
    }
    return out;
  }

  json::NotedPaths unknown;
  std::string error;

 private:
  void fail_with(const Value& v, std::string detail) {
    if (error.empty()) error = json_invalid(v, detail);
  }
  std::string json_invalid(const Value& v, const std::string& detail) const;

  Value text(const Value& v) {
    if (!v.is_string()) fail_with(v, "must be a string");
    return v;
  }

  Value metadata(const Value& v) {
    auto decoded = decode(object_meta_, json::Document{v, {}}, "");
    if (!decoded) {
      fail_with(v, decoded.error().message);
      return v;
    }
    for (const std::string& problem : decoded->strict) {
      // `unknown field "x"` inside metadata is `x` below our path.
      auto open = problem.find('"');
      if (unknown.has_room())
        unknown.add(
            cat(path_, ".", std::string_view(problem).substr(open + 1, problem.size() - open - 2)));
    }
    return std::move(decoded->value);
  }

  const Schema& object_meta_;
  std::string path_;
};

std::string Coercer::json_invalid(const Value& v, const std::string& detail) const {
  return json::invalid(path_, v, detail).message();
}

}  // namespace

Pruned prune(const Schema& schema, const Value& value, bool root) {
  Pruner pruner;
  Value out = pruner.run(&schema, value, root || schema.embedded_resource, false);
  std::vector<std::string> unknown = pruner.unknown.take();
  std::ranges::sort(unknown);
  return {std::move(out), std::move(unknown)};
}

Value prune_nulls(const Schema& schema, const Value& value) {
  Value out = value;
  if (value.is_object()) {
    auto is_forbidden_null = [&](const Member& m) {
      if (!m.value.is_null()) return false;
      const Schema* child = schema_of(&schema, m.key());
      return child && !child->nullable && !child->default_value && child->rules;
    };
    json::erase_members(out, is_forbidden_null);
    for (const Member& m : value.members()) {
      const Schema* child = schema_of(&schema, m.key());
      if (!child || m.value.is_null()) continue;
      Value next = prune_nulls(*child, m.value);
      if (!next.same(m.value)) out.set(m.key(), std::move(next));
    }
  } else if (value.is_array() && schema.items) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      Value next = prune_nulls(*schema.items, value[i]);
      if (!next.same(value[i])) out.item(i) = std::move(next);
    }
  }
  return out;
}

Result<Pruned> coerce_embedded(const Schema& schema, const Schema& object_meta,
                               const Value& value) {
  Coercer coercer(object_meta);
  Value out = coercer.run(schema, value, false);
  if (!coercer.error.empty()) return fail(bad_request(std::move(coercer.error)));
  std::vector<std::string> unknown = coercer.unknown.take();
  std::ranges::sort(unknown);
  return Pruned{std::move(out), std::move(unknown)};
}

Result<Decoded> decode_custom(const Schema& schema, const Schema& object_meta,
                              const json::Document& document, std::string_view text) {
  Decoded out;
  std::vector<TextPath> duplicates;
  for (const std::string& path : document.duplicates) duplicates.push_back({path, true});
  for (std::size_t i : order_in_text(text, duplicates))
    out.strict.push_back(cat("duplicate field ", quoted(duplicates[i].path)));

  Value object = document.value;
  auto note = [&](std::string_view prefix, const std::vector<std::string>& paths) {
    for (const std::string& path : paths)
      out.strict.push_back(cat("unknown field ", quoted(cat(prefix, path))));
  };
  if (const Value* given = object.find("metadata")) {
    auto meta = decode(object_meta, json::Document{*given, {}}, "");
    if (!meta) return fail(std::move(meta.error()));
    for (const std::string& problem : meta->strict) {
      auto open = problem.find('"');
      out.strict.push_back(
          cat("unknown field \"metadata.", std::string_view(problem).substr(open + 1)));
    }
    if (!meta->value.same(*given)) object.set("metadata", std::move(meta->value));
  }
  Pruned pruned = prune(schema, object, true);
  note("", pruned.unknown);
  auto coerced = coerce_embedded(schema, object_meta, prune_nulls(schema, pruned.value));
  if (!coerced) return fail(std::move(coerced.error()));
  note("", coerced->unknown);
  out.value = std::move(coerced->value);
  return out;
}

}  // namespace cardea::schema
