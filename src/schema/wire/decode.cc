#include "schema/wire/decode.h"

#include <algorithm>
#include <unordered_set>

#include "base/quantity.h"
#include "base/strings.h"
#include "base/time_parse.h"
#include "json/noted_paths.h"
#include "json/print.h"
#include "schema/ownership/path_hash.h"
#include "schema/wire/go_base64.h"

namespace cardea::schema {
namespace {

using json::Member;
using json::Value;

constexpr std::size_t kMostStrictErrors = 100;

bool is_quantity(const Schema& s) {
  return s.type_name.ends_with(".api.resource.Quantity") || s.format == "quantity";
}
bool is_micro_time(const Schema& s) {
  return s.type_name.ends_with(".MicroTime");
}
bool is_time(const Schema& s) {
  return s.format == "date-time" && s.type == Schema::Type::kString;
}
bool is_duration(const Schema& s) {
  return s.type_name.ends_with(".meta.v1.Duration");
}
bool is_map(const Schema& s) {
  return s.additional && s.properties.empty();
}

// "io.k8s.api.core.v1.PodSpec" is PodSpec of package v1.
std::string_view last_part(std::string_view dotted) {
  return dotted.substr(dotted.rfind('.') + 1);
}

std::string go_type(const Schema& s) {
  switch (s.type) {
    case Schema::Type::kString:
      return s.format == "byte" ? "[]uint8" : "string";
    case Schema::Type::kInteger:
      return s.format.empty() ? "int64" : s.format;
    case Schema::Type::kNumber:
      return "float64";
    case Schema::Type::kBoolean:
      return "bool";
    case Schema::Type::kArray:
      return "[]" + (s.items ? go_type(*s.items) : "interface {}");
    case Schema::Type::kIntOrString:
      return is_quantity(s) ? "resource.Quantity" : "int32";
    case Schema::Type::kAny:
    case Schema::Type::kObject:
      if (is_map(s))
        return is_quantity(*s.additional) ? "v1.ResourceList"
                                          : "map[string]" + go_type(*s.additional);
      if (!s.type_name.empty()) {
        std::string_view type = last_part(s.type_name);
        std::string_view package = std::string_view(s.type_name)
                                       .substr(0, s.type_name.size() - type.size() - 1);
        return cat(last_part(package), ".", type);
      }
  }
  return "map[string]interface {}";
}

// One walk down value and schema. Errors are collected with their paths, for the caller to pick by
// position.
class Walker {
 public:
  struct Problem {
    std::string path;
    std::string message;
    bool aborts;  // Go's decoder stops here; other problems are kept and the first one reported at
                  // the end
  };

  explicit Walker(bool checking) : checking_(checking) {}

  Value run(const Schema& schema, const Value& in) {
    return in.is_null() ? zero(schema) : convert(schema, in);
  }

  std::vector<Problem> problems;  // up to an amount of text, as the paths
  json::NotedPaths unknown;
  json::NotedPaths opaque;  // what the decoder does not look into

 private:
  struct Step {
    std::string_view key;
    std::size_t index;
    enum : std::uint8_t { kField, kKey, kIndex } kind;
    const Schema* owner;  // of a field
  };

  void note(json::NotedPaths& paths) const {
    if (paths.has_room()) paths.add(path());
  }

  std::string path() const {
    std::string out;
    for (const Step& s : steps_) {
      if (s.kind == Step::kIndex) {
        out += cat("[", s.index, "]");
      } else {
        if (!out.empty()) out += '.';
        out += s.key;
      }
    }
    return out;
  }

  // " Go struct field PodSpec.spec.containers", or " Go value" outside of any struct.
  std::string go_place() const {
    std::string fields;
    const Schema* owner = nullptr;
    for (const Step& s : steps_) {
      if (s.kind != Step::kField) continue;
      fields += cat(".", s.key);
      owner = s.owner;
    }
    return owner ? cat("Go struct field ", last_part(owner->type_name), fields) : "Go value";
  }

  // A value that is not checked is ours already: it stays.
  Value bad(const Value& in, std::string message, bool aborts) {
    if (!checking_) return in;
    if (!has_room()) return {};
    problems.push_back({path(), std::move(message), aborts});
    problem_bytes_ += problems.back().path.size() + problems.back().message.size();
    return {};
  }
  bool has_room() const { return problem_bytes_ < json::NotedPaths::kMostBytes; }
  Value wrong_type(const Value& in, std::string_view found, std::string_view wanted,
                   bool aborts = false) {
    if (checking_ && !has_room()) return {};
    return bad(in, cat("json: cannot unmarshal ", found, " into ", go_place(), " of type ", wanted),
               aborts);
  }
  Value wrong_type(const Value& in, std::string_view wanted, bool aborts = false) {
    return wrong_type(in, json::go_kind(in), wanted, aborts);
  }

  Value zero(const Schema& s) {
    switch (s.type) {
      case Schema::Type::kString:
        if (is_time(s)) return {};
        if (is_duration(s)) return "0s";
        return s.format == "byte" ? Value() : Value("");
      case Schema::Type::kInteger:
      case Schema::Type::kNumber:
        return 0;
      case Schema::Type::kBoolean:
        return false;
      case Schema::Type::kIntOrString:
        return is_quantity(s) ? Value("0") : Value(0);
      case Schema::Type::kArray:
      case Schema::Type::kAny:
        return {};
      case Schema::Type::kObject:
        return is_map(s) || s.preserve_unknown_fields ? Value()
                                                      : convert_struct(s, Value::object());
    }
    return {};
  }

  Value convert(const Schema& s, const Value& in) {
    switch (s.type) {
      case Schema::Type::kAny:
        if (s.type_name.find(".JSONSchemaPropsOr") != s.type_name.npos)
          return convert_schema_or(s, in);
        return note_opaque(in);
      case Schema::Type::kBoolean:
        return in.is_bool() ? in : wrong_type(in, "bool");
      case Schema::Type::kInteger:
        return convert_integer(in, go_type(s), false);
      case Schema::Type::kNumber:
        return in.is_number() ? in : wrong_type(in, "float64");
      case Schema::Type::kString:
        return convert_string(s, in);
      case Schema::Type::kIntOrString:
        if (is_quantity(s)) return convert_quantity(in);
        return in.is_string() ? in : convert_integer(in, "int32", true);
      case Schema::Type::kArray:
        return in.is_array() ? convert_array(s, in) : wrong_type(in, go_type(s));
      case Schema::Type::kObject:
        if (is_map(s)) return in.is_object() ? convert_map(s, in) : wrong_type(in, go_type(s));
        if (s.preserve_unknown_fields && s.properties.empty()) return note_opaque(in);
        return in.is_object() ? convert_struct(s, in) : wrong_type(in, go_type(s));
    }
    return in;
  }

  // The types of a definition's schema that are a schema or something simpler. They have readers of
  // their own in Kubernetes, which drop unknown fields without a word.
  Value convert_schema_or(const Schema& s, const Value& in) {
    const Schema* schema = nullptr;
    for (const Step& step : steps_)
      if (step.owner && step.owner->type_name.ends_with(".JSONSchemaProps")) schema = step.owner;
    if (!schema) return note_opaque(in);
    note_opaque(in);
    std::size_t known = unknown.size();
    Value out = in;
    if (in.is_object()) {
      out = convert_struct(*schema, in);
    } else if (in.is_array()) {
      for (std::size_t i = 0; i < in.size(); ++i)
        if (in[i].is_object()) out.item(i) = convert_struct(*schema, in[i]);
    } else if (s.type_name.ends_with("OrBool")) {
      if (!in.is_bool()) return bad(in, "boolean or JSON schema expected", true);
    } else {
      out = Value();
    }
    unknown.shorten_to(known);
    return out;
  }

  Value note_opaque(const Value& in) {
    if (checking_ && (in.is_object() || in.is_array())) note(opaque);
    return in;
  }

  Value convert_integer(const Value& in, std::string_view type, bool aborts) {
    if (!in.is_number()) return wrong_type(in, type, aborts);
    std::int64_t low = INT64_MIN, high = INT64_MAX;
    if (type == "int32") low = INT32_MIN, high = INT32_MAX;
    if (type == "int16") low = INT16_MIN, high = INT16_MAX;
    if (type == "uint16") low = 0, high = UINT16_MAX;
    if (type == "uint8") low = 0, high = UINT8_MAX;
    if (in.is_double() || in.as_int() < low || in.as_int() > high)
      return wrong_type(in, cat("number ", json::print(in)), type, aborts);
    return in;
  }

  Value convert_string(const Schema& s, const Value& in) {
    if (!in.is_string()) {
      bool own_reader = is_time(s) || is_duration(s);
      return wrong_type(in, go_type(s), own_reader);
    }
    if (s.format.empty() && s.type_name.empty()) return in;
    if (s.format == "byte") return convert_bytes(in);
    if (is_time(s)) return convert_time(in, is_micro_time(s));
    if (is_duration(s)) {
      auto duration = parse_duration(in.as_string());
      if (!duration) return bad(in, duration.error().message, true);
      return keep_equal(in, print_duration(*duration));
    }
    return in;
  }

  static Value keep_equal(const Value& in, const std::string& text) {
    return in.is_string() && in.as_string() == text ? in : Value(text);
  }

  Value convert_bytes(const Value& in) {
    auto canonical = canonical_base64(in.as_string());
    if (!canonical) return bad(in, canonical.error().message, false);
    return *canonical ? Value(**canonical) : in;
  }

  Value convert_time(const Value& in, bool micro) {
    auto at = micro ? parse_rfc3339_micro(in.as_string()) : parse_rfc3339(in.as_string());
    if (!at) return bad(in, at.error().message, true);
    if (at->is_zero()) return {};
    return keep_equal(in, micro ? print_rfc3339_micro(*at) : print_rfc3339(*at));
  }

  Value convert_quantity(const Value& in) {
    std::string text(in.is_string() ? trim(in.as_string()) : std::string_view());
    if (in.is_number()) text = json::print(in);
    auto quantity = Quantity::parse(text);
    if (!quantity) return bad(in, quantity.error().message, true);
    return keep_equal(in, quantity->print());
  }

  Value convert_array(const Schema& s, const Value& in) {
    if (!s.items) return in;
    std::vector<Value> changed;
    auto items = in.items();
    steps_.push_back({{}, 0, Step::kIndex, nullptr});
    for (std::size_t i = 0; i < items.size(); ++i) {
      steps_.back().index = i;
      Value item = run(*s.items, items[i]);
      if (changed.empty() && item.same(items[i])) continue;
      if (changed.empty()) {
        changed.reserve(items.size());
        changed.assign(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(i));
      }
      changed.push_back(std::move(item));
    }
    steps_.pop_back();
    return changed.empty() ? in : Value::array(std::move(changed));
  }

  Value convert_map(const Schema& s, const Value& in) {
    Value out = in;
    steps_.push_back({{}, 0, Step::kKey, nullptr});
    for (const Member& m : in.members()) {
      steps_.back().key = m.key();
      Value value = run(*s.additional, m.value);
      if (!value.same(m.value)) out.set(m.key(), std::move(value));
    }
    steps_.pop_back();
    return out;
  }

  // Members and properties are both sorted, so one pass over both sees what is known, unknown and
  // missing.
  Value convert_struct(const Schema& s, const Value& in) {
    auto members = in.members();
    std::vector<Member> out;
    out.reserve(members.size());
    bool changed = false;
    std::size_t at = 0;
    steps_.push_back({{}, 0, Step::kField, &s});
    for (const Property& p : s.properties) {
      for (; at < members.size() && members[at].key() < p.name; ++at)
        changed |= pass_unknown(s, members[at], out);
      const Member* m = at < members.size() && members[at].key() == p.name ? &members[at++]
                                                                           : nullptr;
      steps_.back().key = p.name;
      Value value = m && !m->value.is_null() ? convert(*p.schema, m->value) : Value();
      bool present = settle(p, value);
      changed |= present != (m != nullptr) || (m && !value.same(m->value));
      if (present) out.push_back({m ? m->name : Value(p.name), std::move(value)});
    }
    for (; at < members.size(); ++at) changed |= pass_unknown(s, members[at], out);
    steps_.pop_back();
    return changed ? Value::object(std::move(out)) : in;
  }

  bool pass_unknown(const Schema& s, const Member& m, std::vector<Member>& out) {
    if (s.preserve_unknown_fields) {
      out.push_back(m);
      return false;
    }
    steps_.back().key = m.key();
    if (checking_) note(unknown);
    return true;
  }

  // Whether the field is printed; writes the printed form of a missing value.
  bool settle(const Property& p, Value& value) {
    switch (p.held) {
      case Held::kFreely:
        return !value.is_null();
      case Held::kPointer:
        return !value.is_null() || !p.omit_empty;
      case Held::kList:
      case Held::kMap:
        if (value.is_string()) return !p.omit_empty || !value.as_string().empty();  // bytes
        return !p.omit_empty || value.size() != 0;
      case Held::kScalar:
        if (value.is_null()) {
          if (p.omit_empty || p.omit_zero) return false;
          value = zero(*p.schema);
          return true;
        }
        return !(p.omit_empty || p.omit_zero) || !is_zero_scalar(value);
      case Held::kRaw:
        return !value.is_null() || !p.omit_zero;
      case Held::kStruct:
        if (value.is_null() && !p.omit_zero) value = zero(*p.schema);
        return !p.omit_zero || !is_zero(*p.schema, value);
    }
    return true;
  }

  static bool is_zero_scalar(const Value& v) {
    return v.is_null() || (v.is_string() && v.as_string().empty()) ||
           (v.is_bool() && !v.as_bool()) || (v.is_number() && v.as_double() == 0);
  }

  // Go's IsZero on a struct: an empty list in the body is not zero.
  static bool is_zero(const Schema& s, const Value& v) {
    if (v.is_null()) return true;
    if (is_quantity(s)) return v.as_string() == "0";
    if (is_duration(s)) return v.as_string() == "0s";
    if (s.type != Schema::Type::kObject || is_map(s)) return is_zero_scalar(v);
    for (const Member& m : v.members()) {
      const Property* p = s.property(m.key());
      if (!p) return false;
      bool zero = m.value.is_null() || (p->held == Held::kScalar && is_zero_scalar(m.value)) ||
                  (p->held == Held::kStruct && is_zero(*p->schema, m.value));
      if (!zero) return false;
    }
    return true;
  }

  bool checking_;
  std::vector<Step> steps_;
  std::size_t problem_bytes_ = 0;
};

// The problem that Go's decoder would report: the first that stops it, else the first it kept.
const Walker::Problem& first_problem(const std::vector<Walker::Problem>& problems,
                                     std::string_view text) {
  std::vector<TextPath> paths;
  for (const auto& p : problems) paths.push_back({p.path});
  auto order = order_in_text(text, paths);
  for (std::size_t i : order)
    if (problems[i].aborts) return problems[i];
  return problems[order.front()];
}

// Whether a path leads into what the decoder did not look into.
class Unseen {
 public:
  explicit Unseen(const Walker& walker) {
    for (const json::NotedPaths* paths : {&walker.opaque, &walker.unknown})
      for (const std::string& path : paths->all()) hashes_.insert(PathHash(path));
  }

  bool contains(std::string_view path) const {
    PathHash hash;
    if (hashes_.contains(hash)) return true;
    for (std::size_t begin = 0; begin < path.size();) {
      const std::size_t end = std::min(path.find_first_of(".[", begin + 1), path.size());
      hash.add(path.substr(begin, end - begin));
      if (hashes_.contains(hash)) return true;
      begin = end;
    }
    return false;
  }

 private:
  std::unordered_set<PathHash> hashes_;
};

std::vector<std::string> strict_errors(const Walker& walker, const json::Document& document,
                                       std::string_view text) {
  const Unseen unseen(walker);
  // When not every path was noted, it is not known what was not looked into.
  const bool knows_all = !walker.opaque.has_more();
  std::vector<TextPath> paths;
  std::unordered_set<std::string_view> seen;
  for (const std::string& d : document.duplicates)
    if (seen.insert(d).second && !(knows_all && unseen.contains(d))) paths.push_back({d, true});
  for (const std::string& u : walker.unknown.all()) paths.push_back({u});
  std::vector<std::string> out;
  for (std::size_t i : order_in_text(text, paths)) {
    if (out.size() == kMostStrictErrors) break;
    out.push_back(
        cat(paths[i].second ? "duplicate field " : "unknown field ", quoted(paths[i].path)));
  }
  return out;
}

}  // namespace

Result<Decoded> decode(const Schema& schema, const json::Document& document,
                       std::string_view text) {
  Walker walker(true);
  Decoded decoded;
  decoded.value = walker.run(schema, document.value);
  if (!walker.problems.empty())
    return fail(bad_request(first_problem(walker.problems, text).message));
  if (!walker.unknown.empty() || !document.duplicates.empty())
    decoded.strict = strict_errors(walker, document, text);
  return decoded;
}

json::Value normalize(const Schema& schema, const json::Value& value) {
  return Walker(false).run(schema, value);
}

std::string strict_error(const std::vector<std::string>& strict) {
  return cat("strict decoding error: ", join(strict, ", "));
}

}  // namespace cardea::schema
