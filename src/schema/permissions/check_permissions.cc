#include "schema/permissions/check_permissions.h"

#include <algorithm>

#include "base/strings.h"
#include "schema/permissions/permissions.h"

namespace cardea::schema {
namespace {

using json::FieldErrors;
using json::Member;
using json::Value;

constexpr std::string_view kVerb = "x-kubernetes-permission-verb";
constexpr std::string_view kParameter = "x-kubernetes-permission-parameter";
constexpr std::string_view kTreatment = "x-kubernetes-permission-parameter-treatment";
constexpr std::string_view kExpression = "x-kubernetes-permission-parameter-cel";
constexpr std::string_view kExcluded = "x-kubernetes-permission-excluded";
constexpr std::string_view kAll[] = {kVerb, kParameter, kTreatment, kExpression, kExcluded};
constexpr std::string_view kScalars[] = {"string", "integer", "number", "boolean"};

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return is_lower(c) || (c >= 'A' && c <= 'Z');
}

// What holds this node, and so what its parameter can come from.
enum class Held { kProperty, kMap, kSet, kListMap, kAtomicByKey };

struct Place {
  Held held = Held::kProperty;
  const Value* list = nullptr;  // of kListMap and kAtomicByKey
  std::string banned = {};      // why no tag may stand here; empty where it may
};

class Checker {
 public:
  void check(const Value& s, const std::string& path, const Place& place) {
    check_tags(s, path, place);
    for (const char* junctor : {"allOf", "oneOf", "anyOf"})
      for (std::size_t i = 0; i < s[junctor].size(); ++i)
        check(s[junctor][i], cat(path, ".", junctor, "[", i, "]"),
              {.banned = "must be undefined to be structural"});
    if (s["not"].is_object())
      check(s["not"], path + ".not", {.banned = "must be undefined to be structural"});
    if (s["items"].is_object()) go_on(s["items"], path + ".items", kEach, place_of_items(s, place));
    bool is_atomic = s["x-kubernetes-map-type"].as_string() == "atomic";
    std::string
        banned = place.banned.empty() && is_atomic
                     ? "must not be used inside a map of type atomic, whose fields change as one"
                     : place.banned;
    for (const Member& m : s["properties"].members()) {
      Place below{.banned = banned};
      bool is_resource = is_root_ || s["x-kubernetes-embedded-resource"].as_bool();
      if (is_resource && (m.key() == "metadata" || m.key() == "apiVersion" || m.key() == "kind"))
        below.banned = cat("must not be used in the ", m.key(),
                           " of an object, because it has its own permissions");
      bool was_root = std::exchange(is_root_, false);
      go_on(m.value, cat(path, ".properties[", m.key(), "]"), m.key(), below);
      is_root_ = was_root;
    }
    if (s["additionalProperties"].is_object()) {
      bool was_root = std::exchange(is_root_, false);
      go_on(s["additionalProperties"], path + ".additionalProperties", kEach,
            {.held = Held::kMap, .banned = banned});
      is_root_ = was_root;
    }
  }

  FieldErrors errors;
  int tagged = 0;

 private:
  static Place place_of_items(const Value& list, const Place& above) {
    if (!above.banned.empty()) return {.banned = above.banned};
    std::string_view type = list["x-kubernetes-list-type"].as_string();
    if (type == "set") return {.held = Held::kSet};
    if (type == "map") return {.held = Held::kListMap, .list = &list};
    // Permissions may use a key for a list that all other parts treat as one value.
    if (std::string_view source = list["items"][kParameter].as_string();
        source.starts_with("listKey:") && !source.contains('@'))
      return {.held = Held::kAtomicByKey, .list = &list};
    return {.banned =
                "must not be used inside a list of type atomic, whose items change as one: give it "
                "x-kubernetes-list-type set or map, or its items a listKey"};
  }

  void check_tags(const Value& s, const std::string& path, const Place& place) {
    if (std::ranges::none_of(kAll, [&](std::string_view key) { return s.has(key); })) return;
    if (++tagged > static_cast<int>(kMostTaggedNodes)) return;
    auto at = [&](std::string_view key) { return cat(path, ".", key); };
    if (!place.banned.empty() || is_root_) {
      for (std::string_view key : kAll)
        if (s.has(key))
          errors.push_back(json::forbidden(
              at(key),
              is_root_ && place.banned.empty()
                  ? "must not be used at the root: that is what the verb of the request is for"
                  : place.banned));
      return;
    }
    std::string_view name = s[kVerb].as_string();
    if (name.empty()) {
      errors.push_back(
          json::required(at(kVerb), "must name the permission that the other tags are about"));
      return;
    }
    if (std::string problem = permission_name_problem(name); !problem.empty())
      errors.push_back(json::invalid(at(kVerb), name.substr(0, 512), std::move(problem)));
    if (s.has(kParameter)) check_parameter(s, at(kParameter), place);
    if (!s.has(kParameter))
      for (std::string_view key : {kTreatment, kExpression})
        if (s.has(key))
          errors.push_back(json::required(
              at(kParameter),
              cat("must say where the parameter comes from if ", key, " is specified")));
    if (const Value* treatment = s.find(kTreatment);
        treatment && treatment->as_string() != "slash-delimited-prefix")
      errors.push_back(json::not_supported(at(kTreatment), *treatment, {"slash-delimited-prefix"}));
    if (!s.has(kExpression)) return;
    if (s.has(kTreatment))
      errors.push_back(json::forbidden(at(kExpression),
                                       cat("must not be specified together with ", kTreatment)));
    std::string_view text = s[kExpression].as_string();
    if (text.size() > 4096) return errors.push_back(json::too_long(at(kExpression), 4096));
    if (auto program = compile_parameter(text, source_of(s)); !program)
      errors.push_back(json::invalid(at(kExpression), text, program.error().message));
  }

  // Below the node, which `step` leads to.
  void go_on(const Value& s, const std::string& path, std::string_view step, const Place& place) {
    steps_.emplace_back(step);
    places_.push_back({place, &s});
    check(s, path, place);
    places_.pop_back();
    steps_.pop_back();
  }

  void check_parameter(const Value& s, std::string at, const Place& place) {
    const Value& given = s[kParameter];
    std::string_view source = given.as_string();
    auto refuse = [&](std::string why) {
      errors.push_back(json::invalid(at, given, std::move(why)));
    };
    if (!has_known_source(s))
      return errors.push_back(json::not_supported(at, given, permission_sources()));
    if (auto from = source.find('@'); from != source.npos) {
      const std::vector<std::string> above = field_steps(source.substr(from + 1));
      if (!is_above(above, steps_))
        return refuse("the path after @ must lead to something above this field");
      const auto& [held, schema] = places_[above.size() - 1];
      return check_source(*schema, given, source.substr(0, from), at, held);
    }
    check_source(s, given, source, at, place);
  }

  // `s` and `place` are what the parameter comes from.
  void check_source(const Value& s, const Value& given, std::string_view source,
                    const std::string& at, const Place& place) {
    auto refuse = [&](std::string why) {
      errors.push_back(json::invalid(at, given, std::move(why)));
    };
    if (source == "self") {
      if (std::ranges::find(kScalars, s["type"].as_string()) == std::end(kScalars) &&
          !s["x-kubernetes-int-or-string"].as_bool() && !s.has(kExpression))
        refuse(cat("self must be a string, number or boolean, or have ", kExpression));
    } else if (source == "mapKey") {
      if (place.held != Held::kMap)
        refuse("mapKey must be used in the additionalProperties of a map");
    } else if (source == "setValue") {
      if (place.held != Held::kSet)
        refuse("setValue must be used in the items of a list with x-kubernetes-list-type=set");
    } else if (source.starts_with("listKey:")) {
      std::string_view key = source.substr(8);
      if (place.held == Held::kAtomicByKey) {
        if (std::ranges::find(kScalars, s["properties"][key]["type"].as_string()) ==
            std::end(kScalars))
          refuse("must name a string, number or boolean of the item");
        return;
      }
      if (place.held != Held::kListMap)
        return refuse(
            "listKey must be used in the items of a list with x-kubernetes-list-type=map or "
            "atomic");
      auto keys = (*place.list)["x-kubernetes-list-map-keys"].items();
      if (std::ranges::none_of(keys, [&](const Value& k) { return k.as_string() == key; }))
        refuse("must name one of x-kubernetes-list-map-keys");
    } else {
      if (place.held != Held::kMap && place.held != Held::kListMap)
        return refuse(
            "value must be used in the additionalProperties of a map or the items of a list with "
            "x-kubernetes-list-type=map");
      const Value* found = &s;
      for (std::string_view name : split(source.substr(6), '.'))
        if (found) found = (*found)["properties"].find(name);
      if (!found || std::ranges::find(kScalars, (*found)["type"].as_string()) == std::end(kScalars))
        refuse("must lead to a string, number or boolean of this schema");
    }
  }

  bool is_root_ = true;
  std::vector<std::string> steps_;                      // to the node at hand
  std::vector<std::pair<Place, const Value*>> places_;  // the same, as what they lead to
};

}  // namespace

std::string permission_name_problem(std::string_view name) {
  auto slash = name.find('/');
  std::string_view prefix = slash == name.npos ? "" : name.substr(0, slash);
  std::string_view noun = slash == name.npos ? name : name.substr(slash + 1);
  auto in_prefix = [](char c) { return is_lower(c) || is_digit(c) || c == '.' || c == '-'; };
  bool is_noun = !noun.empty() && is_lower(noun[0]) &&
                 std::ranges::all_of(noun, [](char c) { return is_letter(c) || is_digit(c); });
  if (!is_noun ||
      (slash != name.npos && (prefix.empty() || !std::ranges::all_of(prefix, in_prefix))))
    return "must be a noun in lowerCamelCase, after a DNS name and a slash: "
           "example.com/selfDestruct";
  if (noun.size() > 63) return "must have at most 63 characters after the prefix";
  if (prefix.size() > 253) return "must have a prefix of at most 253 characters";
  if (prefix == "k8s.io" || prefix.ends_with(".k8s.io"))
    return "must not have a prefix of the reserved domain k8s.io";
  if (prefix.empty() && !is_wellknown_permission(noun))
    return "must have a prefix (example.com/...): only well-known permissions have no prefix";
  return "";
}

FieldErrors check_permissions(const Value& schema, const std::string& path) {
  Checker checker;
  checker.check(schema, path, {});
  if (checker.tagged > static_cast<int>(kMostTaggedNodes))
    return {json::too_many(path, checker.tagged, static_cast<int>(kMostTaggedNodes))};
  return std::move(checker.errors);
}

}  // namespace cardea::schema
