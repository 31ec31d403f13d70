#include "catalog/kinds/resource/devices.h"

#include <algorithm>
#include <set>

#include "cel/cost/estimate.h"
#include "cel/environments.h"
#include "cel/policy.h"

namespace cardea::catalog {
namespace {

constexpr std::uint64_t kMostSelectorCost = 1'000'000;

constexpr int kMostSelectors = 32;
constexpr int kMostRequests = 32;
constexpr int kMostAlternatives = 8;
constexpr int kLongestExpression = 10 * 1024;

bool too_many(const Value& list, const Path& path, int most, FieldErrors& out) {
  if (list.size() <= static_cast<std::size_t>(most)) return false;
  out.push_back(json::too_many(path, static_cast<int>(list.size()), most));
  return true;
}

void default_count(Value& request) {
  default_to(request, "allocationMode", "ExactCount");
  if (request["allocationMode"].as_string() == "ExactCount" && request["count"].as_int() == 0)
    request.set("count", 1);
}

void default_tolerations(Value& request) {
  if (request["tolerations"].empty()) return;
  Value& tolerations = request.member("tolerations");
  for (std::size_t i = 0; i < tolerations.size(); ++i)
    default_to(tolerations.item(i), "operator", "Equal");
}

void validate_tolerations(const Value& tolerations, const Path& path, FieldErrors& out) {
  for (std::size_t i = 0; i < tolerations.size(); ++i) {
    const Value& t = tolerations[i];
    Path at = path.index(i);
    std::string_view key = t["key"].as_string(), op = t["operator"].as_string(),
                     effect = t["effect"].as_string();
    if (!key.empty()) complain(at / "key", key, qualified_name(key), out);
    if (op == "Exists") {
      if (!t["value"].as_string().empty())
        out.push_back(
            json::invalid(at / "value", t["value"], "must be empty for operator `Exists`"));
    } else if (op == "Equal") {
      complain(at / "value", t["value"].as_string(), label_value(t["value"].as_string()), out);
    } else if (op.empty()) {
      out.push_back(json::required(at / "operator"));
    } else {
      out.push_back(json::not_supported(at / "operator", op, {"Equal", "Exists"}));
    }
    if (!effect.empty())
      check_one_of(at / "effect", t["effect"], {"NoExecute", "NoSchedule", "None"}, out);
  }
}

// The common part of `exactly` and each item of `firstAvailable`.
void validate_wish(const Value& wish, const Path& path, FieldErrors& out) {
  std::string_view name = wish["deviceClassName"].as_string();
  if (name.empty())
    out.push_back(json::required(path / "deviceClassName"));
  else
    complain(path / "deviceClassName", name, name_is_dns_subdomain(name, false), out);
  validate_device_selectors(wish["selectors"], path / "selectors", out);
  std::string_view mode = wish["allocationMode"].as_string();
  const Value& count = wish["count"];
  if (mode == "All") {
    if (count.as_int() != 0)
      out.push_back(json::invalid(
          path / "count", count, cat("must not be specified when allocationMode is '", mode, "'")));
  } else if (mode == "ExactCount") {
    if (count.as_int() <= 0)
      out.push_back(json::invalid(path / "count", count, "must be greater than zero"));
  } else {
    out.push_back(json::not_supported(path / "allocationMode", mode, {"All", "ExactCount"}));
  }
  validate_tolerations(wish["tolerations"], path / "tolerations", out);
}

void validate_alternatives(const Value& list, const Path& path, FieldErrors& out) {
  if (too_many(list, path, kMostAlternatives, out)) return;
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::string_view name = list[i]["name"].as_string();
    complain(path.index(i) / "name", name, dns1123_label(name), out);
    validate_wish(list[i], path.index(i), out);
    if (!names.insert(name).second) out.push_back(json::duplicate(path.index(i), name));
  }
}

void validate_request(const Value& request, const Path& path, FieldErrors& out) {
  std::string_view name = request["name"].as_string();
  complain(path / "name", name, dns1123_label(name), out);
  bool exactly = !request["exactly"].is_null(), any = !request["firstAvailable"].empty();
  constexpr std::string_view kOne = "exactly one of `exactly` or `firstAvailable` is required";
  if (exactly && any)
    out.push_back(json::invalid(path, Value(), cat(kOne, ", but multiple fields are set")));
  else if (any)
    validate_alternatives(request["firstAvailable"], path / "firstAvailable", out);
  else if (exactly)
    validate_wish(request["exactly"], path / "exactly", out);
  else
    out.push_back(json::required(path, std::string(kOne)));
}

void validate_references(const Value& references, const Path& path,
                         const std::vector<std::string>& known, FieldErrors& out) {
  if (too_many(references, path, kMostRequests, out)) return;
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < references.size(); ++i) {
    std::string_view name = references[i].as_string();
    if (std::ranges::find(known, name) == known.end())
      out.push_back(
          json::invalid(path.index(i), name,
                        "must be the name of a request in the claim or the name of a request and a "
                        "subrequest separated by '/'"));
    if (!seen.insert(name).second) out.push_back(json::duplicate(path.index(i), name));
  }
}

void validate_constraint(const Value& constraint, const Path& path,
                         const std::vector<std::string>& known, FieldErrors& out) {
  validate_references(constraint["requests"], path / "requests", known, out);
  bool same = !constraint["matchAttribute"].is_null(),
       distinct = !constraint["distinctAttribute"].is_null();
  if (same == distinct) {
    out.push_back(
        json::required(path,
                       "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, "
                       "but multiple fields are set"));
    return;
  }
  std::string_view field = same ? "matchAttribute" : "distinctAttribute";
  validate_qualified_identifier(constraint[field].as_string(), path / field, true, out);
}

// Checks that the expression of a selector compiles and gives a bool, or an attribute of unknown
// type.
void validate_selector_expression(const Path& path, const Value& expression, FieldErrors& out) {
  static const std::shared_ptr<const cel::Environment> environment = cel::device_environment()
                                                                         .share();
  auto program = cel::compile(expression.as_string(), environment);
  if (!program) {
    out.push_back(
        json::invalid(path, expression, cat("compilation failed: ", program.error().text)));
  } else if (const cel::Type* type = (*program)->type();
             type->kind != cel::Type::kBool && type->kind != cel::Type::kDyn) {
    out.push_back(json::invalid(
        path, expression,
        cat("must evaluate to bool or the unknown type, not ", cel::go_type_name(type))));
  } else if (cel::estimate(expression.as_string(), *environment, &cel::device_size()).max_cost >
             kMostSelectorCost) {
    out.push_back(json::forbidden(path, "too complex, exceeds cost limit"));
  }
}

}  // namespace

void validate_device_selectors(const Value& selectors, const Path& path, FieldErrors& out) {
  if (too_many(selectors, path, kMostSelectors, out)) return;
  for (std::size_t i = 0; i < selectors.size(); ++i) {
    Path at = path.index(i) / "cel";
    const Value& cel = selectors[i]["cel"];
    if (cel.is_null())
      out.push_back(json::required(at));
    else if (cel["expression"].as_string().size() > static_cast<std::size_t>(kLongestExpression))
      out.push_back(json::too_long(at / "expression", kLongestExpression));
    else
      validate_selector_expression(at / "expression", cel["expression"], out);
  }
}

void validate_driver_name(const Value& name, const Path& path, FieldErrors& out) {
  std::string_view text = name.as_string();
  if (text.empty()) {
    out.push_back(json::required(path));
    return;
  }
  if (text.size() > 63) out.push_back(json::too_long(path, 63));
  complain(path, text, dns1123_subdomain(text), out);
}

void validate_pool_name(const Value& name, const Path& path, FieldErrors& out) {
  std::string_view text = name.as_string();
  if (text.empty()) {
    out.push_back(json::required(path));
    return;
  }
  if (text.size() > 253) {
    out.push_back(json::too_long(path, 253));
    return;
  }
  for (std::string_view part : split(text, '/')) complain(path, part, dns1123_subdomain(part), out);
}

void validate_opaque_config(const Value& opaque, const Path& path, FieldErrors& out) {
  if (opaque.is_null()) {
    out.push_back(json::required(path));
    return;
  }
  validate_driver_name(opaque["driver"], path / "driver", out);
  const Value& parameters = opaque["parameters"];
  if (parameters.is_null())
    out.push_back(json::required(path / "parameters"));
  else if (!parameters.is_object())
    out.push_back(
        json::invalid(path / "parameters", "<value omitted>", "must be a valid JSON object"));
}

void validate_qualified_identifier(std::string_view name, const Path& path, bool full,
                                   FieldErrors& out) {
  auto slash = name.find('/');
  if (slash == name.npos && full) {
    out.push_back(json::invalid(
        path, name, "a fully qualified name must be a domain and a name separated by a slash"));
    return;
  }
  std::string_view identifier = name;
  if (slash != name.npos) {
    std::string_view domain = name.substr(0, slash);
    identifier = name.substr(slash + 1);
    if (domain.empty())
      out.push_back(json::required(path, "the domain must not be empty"));
    else
      complain(path, domain, dns1123_subdomain(domain), out);
  }
  if (identifier.empty() && slash != name.npos) {
    out.push_back(json::required(path, "the name must not be empty"));
    return;
  }
  if (identifier.size() > 32) out.push_back(json::too_long(path, 32));
  complain(path, identifier, c_identifier(identifier), out);
}

void default_resource_claim_spec(Value& spec) {
  if (spec["devices"]["requests"].empty()) return;
  Value& requests = spec.member("devices").member("requests");
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Value& request = requests.item(i);
    if (request["exactly"].is_object()) {
      default_count(request.member("exactly"));
      default_tolerations(request.member("exactly"));
    }
    for (std::size_t j = 0; j < request["firstAvailable"].size(); ++j) {
      default_count(request.member("firstAvailable").item(j));
      default_tolerations(request.member("firstAvailable").item(j));
    }
  }
}

std::vector<std::string> claim_request_names(const Value& spec) {
  std::vector<std::string> out;
  for (const Value& request : spec["devices"]["requests"].items()) {
    out.emplace_back(request["name"].as_string());
    for (const Value& alternative : request["firstAvailable"].items())
      out.push_back(cat(request["name"].as_string(), "/", alternative["name"].as_string()));
  }
  return out;
}

void validate_resource_claim_spec(const Value& spec, const Path& path, FieldErrors& out) {
  const Value& devices = spec["devices"];
  Path at = path / "devices";
  if (!too_many(devices["requests"], at / "requests", kMostRequests, out)) {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < devices["requests"].size(); ++i) {
      Path request = (at / "requests").index(i);
      validate_request(devices["requests"][i], request, out);
      std::string_view name = devices["requests"][i]["name"].as_string();
      if (!names.insert(name).second) out.push_back(json::duplicate(request, name));
    }
  }
  auto known = claim_request_names(spec);
  if (!too_many(devices["constraints"], at / "constraints", kMostRequests, out))
    for (std::size_t i = 0; i < devices["constraints"].size(); ++i)
      validate_constraint(devices["constraints"][i], (at / "constraints").index(i), known, out);
  if (!too_many(devices["config"], at / "config", kMostRequests, out))
    for (std::size_t i = 0; i < devices["config"].size(); ++i) {
      Path config = (at / "config").index(i);
      validate_references(devices["config"][i]["requests"], config / "requests", known, out);
      validate_opaque_config(devices["config"][i]["opaque"], config / "opaque", out);
    }
}

}  // namespace cardea::catalog
