#include "authz/namespace_policy/migrate.h"

#include <algorithm>
#include <map>
#include <set>

#include "authz/access/policy.h"
#include "authz/effects.h"
#include "authz/namespace_policy/default_roles.h"
#include "authz/namespace_policy/parts.h"
#include "authz/rbac/hash.h"
#include "authz/rbac/rule.h"
#include "base/names.h"
#include "base/strings.h"
#include "json/print.h"

namespace cardea::authz::namespace_policy {
namespace {

using json::Value;
using Texts = std::vector<std::string>;
using Kind = Restriction::Kind;

std::string text_of(std::string_view text) {
  std::string out;
  json::print_string_to(out, text);
  return out;
}
Value list_of(const Texts& texts) {
  Value out = Value::array();
  for (const std::string& t : texts) out.push_back(t);
  return out;
}
std::string either(const Texts& parts) {
  return parts.empty()       ? "false"
         : parts.size() == 1 ? parts[0]
                             : cat("(", join(parts, " || "), ")");
}
std::string all_of(const Texts& parts) {
  return parts.empty() ? "true" : join(parts, " && ");
}

bool is_plain(const Texts& words) {
  return std::ranges::none_of(words, [](const std::string& w) { return w.starts_with('-'); });
}
Texts positive(const Texts& words) {
  Texts out;
  for (const std::string& w : words)
    if (!w.starts_with('-')) out.push_back(w);
  return out;
}
Texts negated(const Texts& words) {
  Texts out;
  for (const std::string& w : words)
    if (w.starts_with('-')) out.push_back(w.substr(1));
  return out;
}
bool has(const Texts& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}
void add_once(Texts& list, std::string word) {
  if (!has(list, word)) list.push_back(std::move(word));
}

// Whether a verb of a rule is the verb of the request, or counts as it; requests for paths have no
// other verb than their own.
std::string verbs_expression(const Texts& verbs, bool for_paths) {
  Texts plain, parts;
  for (const std::string& v : verbs) {
    add_once(plain, v);
    if (for_paths) continue;
    if (v == "update") add_once(plain, "patch");
    if (v == "delete") add_once(plain, "deletecollection");
    if (v == "exec")
      parts.push_back(R"((request.resource == "pods" && request.subresource == "exec" && )"
                      R"(request.verb in ["create", "get"]))");
    if (v == "proxy") parts.push_back(R"(request.subresource == "proxy")");
    if (v == "permission-request")
      parts.push_back(
          R"((request.verb == "create" && request.resource.endsWith("accessreviews")))");
  }
  if (!plain.empty())
    parts.insert(parts.begin(), cat("request.verb in ", json::print(list_of(plain))));
  return either(parts);
}

// Whether the request is for a resource of this name, or for one of a kind of this name. `reaches`:
// or for what is below.
std::string kind_expression(std::string_view word, bool reaches, const KindNames* names) {
  auto slash = word.find('/');
  std::string_view resource = word.substr(0, slash), sub = slash == std::string_view::npos
                                                               ? std::string_view()
                                                               : word.substr(slash + 1);
  Texts ways{cat("request.resource == ", text_of(resource))};
  if (names)
    for (const auto& [group, plural] : names->resources_of(resource))
      if (plural != resource)
        ways.push_back(cat("(request.resource == ", text_of(plural),
                           " && request.apiGroup == ", text_of(group), ")"));
  std::string out = either(ways);
  bool is_whole = reaches && sub.empty();
  return is_whole ? out : cat("(", out, " && request.subresource == ", text_of(sub), ")");
}
std::string kinds_expression(const Texts& words, bool reaches, const KindNames* names) {
  Texts parts;
  for (const std::string& w : words) parts.push_back(kind_expression(w, reaches, names));
  return either(parts);
}

std::string labels_expression(std::string_view of, const Texts& items) {
  Texts parts{cat("has(", of, ".metadata.labels)")};
  for (const std::string& item : items) {
    auto equals = item.find('=');
    std::string key = text_of(std::string_view(item).substr(0, equals));
    parts.push_back(cat(key, " in ", of, ".metadata.labels"));
    if (equals != std::string::npos)
      parts.push_back(cat(of, ".metadata.labels[", key,
                          "] == ", text_of(std::string_view(item).substr(equals + 1))));
  }
  return all_of(parts);
}

constexpr std::string_view kPersonal =
    R"(!request.resource.endsWith("resourceaccessreviews") && )"
    R"(["user", "userName"].all(k, )"
    R"((k in object ? object[k] : "") in ["", request.userInfo.username]) && )"
    R"((!has(object.spec) || ["user", "userName"].all(k, )"
    R"((k in object.spec ? object.spec[k] : "") in ["", request.userInfo.username])))"
    R"( && !has(object.groups) && !has(object.groupName))"
    R"( && (!has(object.spec) || (!has(object.spec.groups) && !has(object.spec.groupName) && )"
    R"(!has(object.spec.uid) && !has(object.spec.extra))))"
    R"( && (!has(object.spec) || !has(object.spec.items) || object.spec.items.all(i, )"
    R"((has(i.user) ? i.user : "") in ["", request.userInfo.username] && )"
    R"(!has(i.groups) && !has(i.uid) && !has(i.extra))))";

class Migrating {
 public:
  Migrating(std::string_view master, const KindNames* names) : master_(master), names_(names) {}

  void read(const Value& document, json::FieldErrors& errors) {
    std::string kind = lower(document["kind"].as_string());
    if (kind == "list" || kind.ends_with("list") || document["items"].is_array()) {
      for (const Value& item : document["items"].items()) read(item, errors);
      return;
    }
    std::string_view space = document["metadata"]["namespace"].as_string();
    if (space.empty()) space = document["namespace"].as_string();
    Place place{space, master_};
    if (space.empty())
      errors.push_back(json::required("metadata.namespace", "policies belong to a namespace"));
    auto keep_role = [&](const Role& r) { roles_[{r.namespace_name, r.name}] = r; };
    auto keep_binding = [&](const RoleBinding& b) { bindings_.push_back(b); };
    auto take = [&](json::FieldErrors more) {
      errors.insert(errors.end(), more.begin(), more.end());
    };
    std::size_t before = errors.size();
    if (kind == "policy") {
      PolicyDocument p = read_policy(document, place, errors);
      if (errors.size() == before) take(validate(p, place, ResourceGroups::built_in()));
      for (const auto& [key, role] : p.roles) keep_role(role);
    } else if (kind == "policybinding") {
      PolicyBindingDocument p = read_policy_binding(document, place, errors);
      if (errors.size() == before) take(validate(p, place));
      for (const auto& [key, binding] : p.role_bindings) keep_binding(binding);
    } else if (kind == "role") {
      Role r = read_role(document, place, "", errors);
      if (errors.size() == before) take(validate(r, place, "", ResourceGroups::built_in()));
      keep_role(r);
    } else if (kind == "rolebinding") {
      RoleBinding b = read_role_binding(document, place, "", errors);
      if (errors.size() == before) take(validate(b, place, ""));
      keep_binding(b);
    } else {
      errors.push_back(json::not_supported(
          "kind", document["kind"], {"Policy", "PolicyBinding", "Role", "RoleBinding", "List"}));
    }
  }

  Migration run(json::FieldErrors& errors) {
    for (const Role& r : default_roles(master_)) roles_.try_emplace({r.namespace_name, r.name}, r);
    for (const RoleBinding& b : bindings_)
      if (!roles_.contains({b.role.namespace_name, b.role.name}))
        errors.push_back(dangling(b.role, cat("roleBindings[", b.name, "]")));
    if (!errors.empty()) return {};
    // What a namespace denies must not reach what the master namespace allows: RBAC comes after
    // both.
    for (const RoleBinding& b : bindings_)
      if (b.namespace_name != master_)
        has_local_denials_ |= std::ranges::any_of(role_of(b).rules,
                                                  [](const Rule& r) { return r.deny; });
    for (const RoleBinding& b : bindings_) migrate(b);
    return std::move(out_);
  }

 private:
  const Role& role_of(const RoleBinding& b) const {
    return roles_.find({b.role.namespace_name, b.role.name})->second;
  }

  static Value subjects(const RoleBinding& b, bool for_rbac) {
    Value out = Value::array();
    auto add = [&](std::string_view kind, const std::string& name) {
      Value s = Value::object({{"kind", kind}, {"name", name}});
      if (for_rbac) s.set("apiGroup", rbac::kGroup);
      out.push_back(std::move(s));
    };
    for (const std::string& u : b.user_names) add("User", u);
    for (const std::string& g : b.group_names) add("Group", g);
    return out;
  }

  // The rule in RBAC's words; false: it cannot say that.
  bool as_rbac(const Rule& rule, const Texts& kinds, bool is_master,
               std::vector<rbac::PolicyRule>& out) const {
    if (rule.deny || rule.restriction.kind != Kind::kNone || !is_plain(rule.verbs) ||
        !is_plain(kinds))
      return false;
    if (!has(rule.verbs, "*") &&
        (has(rule.verbs, "permission-request") || std::ranges::any_of(rule.verbs, is_stream_word)))
      return false;
    Texts verbs;
    for (const std::string& v : rule.verbs) {
      add_once(verbs, v);
      if (v == "update") add_once(verbs, "patch");
      if (v == "delete") add_once(verbs, "deletecollection");
    }
    if (has(verbs, "*")) verbs = {"*"};
    Texts groups = rule.api_groups.empty() || has(rule.api_groups, "*") ? Texts{"*"}
                                                                        : rule.api_groups;
    Texts resources;
    for (const std::string& k : kinds) {
      std::string_view resource = std::string_view(k).substr(0, k.find('/'));
      // One that is named by its kind belongs to one group, the others of the rule to all.
      if (names_ && !names_->resources_of(resource).empty() &&
          std::ranges::any_of(names_->resources_of(resource),
                              [&](const auto& r) { return r.second != resource; }))
        return false;
      add_once(resources, k);
    }
    if (has(resources, "*")) resources = {"*"};
    auto listed = with_parts(verbs, resources, names_);
    if (!listed) return false;
    if (!resources.empty())
      for (Listed& one : *listed)
        out.push_back(
            {std::move(one.verbs), groups, std::move(one.resources), rule.resource_names, {}});
    if (is_master && !rule.non_resource_urls.empty())
      out.push_back({rule.verbs, {}, {}, {}, rule.non_resource_urls});
    return true;
  }

  void migrate(const RoleBinding& b) {
    const Role& role = role_of(b);
    bool is_master = b.namespace_name == master_;
    std::string where = cat("binding ", b.namespace_name, "/", b.name, " of role ",
                            role.namespace_name, "/", role.name);
    if (b.user_names.empty() && b.group_names.empty()) {
      out_.notes.push_back(cat(where, ": names no users or groups, left out"));
      return;
    }
    std::vector<rbac::PolicyRule> plain;
    for (std::size_t i = 0; i < role.rules.size(); ++i) {
      const Rule& rule = role.rules[i];
      Texts kinds;
      ResourceGroups::built_in().expand(rule.resource_kinds, kinds);
      // Kinds of definitions are not known here, and names of resources are plural.
      for (const std::string& k : kinds) {
        std::string_view word = std::string_view(k).substr(k.starts_with('-') ? 1 : 0);
        word = word.substr(0, word.find('/'));
        if (names_ && word != "*" && !word.ends_with('s') && names_->resources_of(word).empty())
          out_.changes.push_back(
              cat(where, ", rule ", i, ": `", word,
                  "` is taken for the name of a resource; where it is a kind, write the plural"));
      }
      bool is_overridden = is_master && has_local_denials_;
      if (!is_overridden && as_rbac(rule, kinds, is_master, plain)) continue;
      add_access_policy(b, role, i, kinds, is_master, where);
    }
    if (!plain.empty()) add_rbac(b, role, plain, is_master, where);
  }

  void add_rbac(const RoleBinding& b, const Role& role, const std::vector<rbac::PolicyRule>& rules,
                bool is_master, const std::string& where) {
    bool is_cluster = role.namespace_name == master_;
    std::string name = cat("policy:", role.name);
    if (made_.insert(cat(role.namespace_name, "/", role.name, is_master ? "/all" : "")).second) {
      // A role that is bound in the master namespace may name paths; elsewhere they would mean
      // nothing.
      Value list = Value::array();
      for (const rbac::PolicyRule& r : rules) list.push_back(rbac::as_json(r));
      Value meta = Value::object({{"name", is_master ? cat(name, ":everywhere") : name}});
      if (!is_cluster) meta.set("namespace", role.namespace_name);
      out_.objects.push_back(Value::object({{"apiVersion", cat(rbac::kGroup, "/v1")},
                                            {"kind", is_cluster ? "ClusterRole" : "Role"},
                                            {"metadata", meta},
                                            {"rules", list}}));
    }
    Value meta = Value::object({{"name", cat("policy:", b.name)}});
    if (!is_master) meta.set("namespace", b.namespace_name);
    Value ref = Value::object({{"apiGroup", rbac::kGroup},
                               {"kind", is_cluster ? "ClusterRole" : "Role"},
                               {"name", is_master ? cat(name, ":everywhere") : name}});
    out_.objects.push_back(
        Value::object({{"apiVersion", cat(rbac::kGroup, "/v1")},
                       {"kind", is_master ? "ClusterRoleBinding" : "RoleBinding"},
                       {"metadata", meta},
                       {"roleRef", ref},
                       {"subjects", subjects(b, true)}}));
    out_.notes.push_back(cat(where, ": ", rules.size(), " rules as ",
                             is_master ? "ClusterRoleBinding " : "RoleBinding ",
                             quoted(cat("policy:", b.name))));
  }

  // The condition beyond the match; empty: none. False: it cannot be expressed, so an allow must be
  // dropped.
  bool restriction(const Rule& rule, const std::string& where, std::string& out) {
    auto lost = [&](std::string_view what) {
      out_.changes.push_back(
          cat(where, ": ", what,
              rule.deny ? "; denied whatever the object is" : "; not allowed any more"));
      return rule.deny;
    };
    switch (rule.restriction.kind) {
      case Kind::kNone:
        return true;
      case Kind::kLabelsContain: {
        std::string old = labels_expression("oldObject", rule.restriction.items),
                    now = labels_expression("object", rule.restriction.items);
        out = rule.deny ? cat("((oldObject != null && ", old, ") || (object != null && ", now, "))")
                        : cat("(oldObject != null ? (", old, ") : (object != null && ", now, "))");
        if (rule.deny)
          out_.changes.push_back(
              cat(where,
                  ": removing the label first is no longer refused; deny updates of labelled "
                  "objects, or bind only users that may not change labels"));
        return true;
      }
      case Kind::kCel:
        out = cat("(", rule.restriction.expression, ")");
        return true;
      case Kind::kPersonalReview:
        out = cat("(", kPersonal, ")");
        return true;
      case Kind::kSameMinion:
        out = R"((oldObject != null ? oldObject : object).?spec.?nodeName.orValue("") == )"
              R"(request.userInfo.username.replace("system:node:", "", 1))";
        out_.changes.push_back(cat(where,
                                   ": pods of the user's own node can be written, but no longer "
                                   "read; the Node authorizer lets kubelets read their pods"));
        return true;
      case Kind::kFieldsMutatable:
        return lost("access policies cannot tell which fields change");
      case Kind::kUnknown:
        break;
    }
    return lost("the restriction is not known");
  }

  void add_access_policy(const RoleBinding& b, const Role& role, std::size_t i, const Texts& kinds,
                         bool is_master, const std::string& where) {
    const Rule& rule = role.rules[i];
    std::string which = cat(where, ", rule ", i), extra;
    if (!restriction(rule, which, extra)) return;
    if (rule.deny && !(is_plain(rule.verbs) && is_plain(kinds)))
      out_.changes.push_back(
          cat(which,
              ": what its negations leave out is denied all the same where it comes to "
              "something that the rule denies"));
    std::string expression = match_expression(rule, kinds, names_);
    if (!is_master) expression = cat("request.resource != \"\" && ", expression);
    if (!extra.empty()) expression += cat(" && ", extra);
    std::string name = lower(
        cat("policy-", role.namespace_name, "-", role.name, "-", b.name, "-", i));
    if (!dns_subdomain_problems(name).empty())
      name = cat("policy-", i, "-", rbac::hash_name(cat(b.namespace_name, "/", name)));
    Value meta = Value::object({{"name", name}});
    if (!is_master) meta.set("namespace", b.namespace_name);
    Value spec = Value::object({{"effect", rule.deny ? "Deny" : "Allow"},
                                {"description", which},
                                {"subjects", subjects(b, false)},
                                {"expression", expression}});
    out_.objects.push_back(
        Value::object({{"apiVersion", cat(access::kGroup, "/v1alpha1")},
                       {"kind", is_master ? "ClusterAccessPolicy" : "AccessPolicy"},
                       {"metadata", meta},
                       {"spec", spec}}));
    out_.notes.push_back(
        cat(which, ": as ", is_master ? "ClusterAccessPolicy " : "AccessPolicy ", quoted(name)));
  }

  std::string_view master_;
  const KindNames* names_;
  std::map<std::pair<std::string, std::string>, Role> roles_;
  std::vector<RoleBinding> bindings_;
  bool has_local_denials_ = false;
  std::set<std::string> made_;
  Migration out_;
};

}  // namespace

namespace {

// The parts of the kinds that a rule names, as its verbs reach them.
Texts parts_expressions(const Texts& verbs, const Texts& kinds, const KindNames* names) {
  Texts whole, verbs_of_parts;
  for (const std::string& kind : positive(kinds))
    if (kind != "*" && kind.find('/') == std::string::npos) whole.push_back(kind);
  if (whole.empty()) return {};
  Texts parts{R"(request.subresource != "")", kinds_expression(whole, true, names)};
  Texts no = negated(verbs);
  std::erase_if(no, [](const std::string& word) { return verb_number(word) >= 0; });
  if (!no.empty())  // `-attach` leaves pods/attach out
    parts.push_back(cat("!(request.subresource in ", json::print(list_of(no)), ")"));
  if (!has(verbs, "*")) {
    for (const std::string& v : positive(verbs))
      if (v != "create" && v != "permission-request" && !is_stream_word(v))
        verbs_of_parts.push_back(v);
    if (verbs_of_parts.empty()) return {};
    parts.push_back(verbs_expression(verbs_of_parts, false));
    parts.emplace_back(R"(request.subresource != "proxy" && !(request.resource == "pods" && )"
                       R"(request.subresource in ["exec", "attach", "portforward", "log", )"
                       R"("ephemeralcontainers"]))");
  }
  return {cat("(", all_of(parts), ")")};
}

// What `exec` of `pods` means: a request for `pods/exec`.
Texts streams_expressions(const Texts& verbs, const Texts& kinds, const KindNames* names) {
  Texts out;
  for (const EffectRow& row : effect_rows()) {
    if (row.kind != EffectRow::Kind::kWord || !has(verbs, row.to_verb)) continue;
    for (const std::string& kind : positive(kinds)) {
      if (kind == "*" || kind.find('/') != std::string::npos) continue;
      Texts parts{kind_expression(kind, true, names),
                  cat("request.subresource == ", text_of(row.subresource))};
      if (row.resource != "*")
        parts.push_back(cat("request.resource == ", text_of(row.resource),
                            " && request.apiGroup == ", text_of(row.api_group)));
      Texts said;
      for (std::string_view v : split(row.verbs, ' ')) said.emplace_back(v);
      if (row.verbs != "*") parts.push_back(cat("request.verb in ", json::print(list_of(said))));
      out.push_back(cat("(", all_of(parts), ")"));
    }
  }
  return out;
}

}  // namespace

std::string match_expression(const Rule& rule, const Texts& kinds, const KindNames* names) {
  auto add_verbs = [&](Texts& parts) {
    if (!has(rule.verbs, "*")) parts.push_back(verbs_expression(positive(rule.verbs), false));
  };
  auto add_no_verbs = [&](Texts& parts, bool for_paths) {
    Texts no = negated(rule.verbs);
    if (no.empty()) return;
    parts.push_back(has(no, "*") ? "false" : cat("!(", verbs_expression(no, for_paths), ")"));
    // A user that may not write may not write field by field either.
    bool takes_a_write = has(no, "create") || has(no, "update") || has(no, "patch");
    if (takes_a_write)
      parts.push_back(R"(request.verb != "granular" && !request.verb.startsWith("granular:"))");
  };
  Texts ways;
  if (!rule.resource_kinds.empty()) {
    Texts parts{R"(request.resource != "")"}, meant;
    add_verbs(meant);
    if (!has(kinds, "*")) meant.push_back(kinds_expression(positive(kinds), false, names));
    Texts more = parts_expressions(rule.verbs, kinds, names);
    for (std::string& s : streams_expressions(rule.verbs, kinds, names))
      more.push_back(std::move(s));
    if (!more.empty()) {
      more.insert(more.begin(), cat("(", all_of(meant), ")"));
      meant = {either(more)};
    }
    for (std::string& m : meant) parts.push_back(std::move(m));
    add_no_verbs(parts, false);
    if (Texts no = negated(kinds); !no.empty())
      parts.push_back(has(no, "*") ? "false" : cat("!(", kinds_expression(no, true, names), ")"));
    if (!rule.api_groups.empty() && !has(rule.api_groups, "*"))
      parts.push_back(cat("request.apiGroup in ", json::print(list_of(rule.api_groups))));
    if (!rule.resource_names.empty())
      parts.push_back(cat("request.name in ", json::print(list_of(rule.resource_names))));
    ways.push_back(cat("(", all_of(parts), ")"));
  }
  Texts urls;
  for (const std::string& u : rule.non_resource_urls) {
    std::string plain = u.substr(0, u.find('*'));
    urls.push_back(plain.size() == u.size() ? cat("request.path == ", text_of(u))
                                            : cat("request.path.startsWith(", text_of(plain), ")"));
  }
  if (!urls.empty()) {
    Texts parts{R"(request.resource == "")"};
    if (!has(rule.verbs, "*")) parts.push_back(verbs_expression(positive(rule.verbs), true));
    add_no_verbs(parts, true);
    parts.push_back(either(urls));
    ways.push_back(cat("(", all_of(parts), ")"));
  }
  return either(ways);
}

Migration migrate(const std::vector<Value>& documents, std::string_view master,
                  const KindNames* kinds, json::FieldErrors& errors) {
  Migrating migrating(master, kinds);
  for (const Value& d : documents) migrating.read(d, errors);
  return migrating.run(errors);
}

}  // namespace cardea::authz::namespace_policy
