#include "authz/effects.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::authz {
namespace {

using Kind = EffectRow::Kind;

constexpr std::string_view kPolicyGroup = "authorization.openshift.io",
                           kReviewGroup = "authorization.k8s.io", kOwnGroup = "access.cardea.dev",
                           kPeopleGroup = "authentication.k8s.io";

// Connections to a running part of an object, which is not part of the object itself.
constexpr std::string_view kStreams = "exec attach portforward proxy log";

constexpr EffectRow kRows[] = {
    // Verbs.
    {"patch", "*", "*", "/", "update", "", "", ""},
    {"deletecollection", "*", "*", "/", "delete", "", "", ""},
    {"list watch", "*", "*", "/", "get", "", "", ""},
    {"watch", "*", "*", "/", "list", "", "", ""},
    // Parts of an object: status, scale, resize, ephemeralcontainers, approval, finalize, and what
    // may come.
    {"update patch", "*", "*", "*", "update", "", "", "-", true},
    {"get", "*", "*", "*", "get", "", "", "-", true},
    // Writes of an object that have the form of separate objects.
    {"create", "", "pods", "eviction", "delete", "", "", "-", true},
    {"create", "", "pods", "binding", "update", "", "", "-", true},
    {"create", "", "bindings", "", "update", "", "pods", "-", true},
    {"create", "", "bindings", "", "create", "", "pods", "binding"},
    {"create", "", "pods", "binding", "create", "", "bindings", "-"},
    // Streams: a WebSocket begins with a GET. Who says `exec` of `pods` means `pods/exec`.
    {"get", "", "pods", "exec attach portforward", "create", "", "", ""},
    {"get create", "", "pods", "exec", "exec", "", "", "-", false, Kind::kWord},
    {"get create", "", "pods", "attach", "attach", "", "", "-", false, Kind::kWord},
    {"get create", "", "pods", "portforward", "portforward", "", "", "-", false, Kind::kWord},
    {"get", "", "pods", "log", "log", "", "", "-", false, Kind::kWord},
    {"*", "*", "*", "proxy", "proxy", "", "", "-", false, Kind::kWord},
    // One object under two names.
    {"*", "", "events", "/", "", "events.k8s.io", "", ""},
    {"*", "events.k8s.io", "events", "/", "", "core", "", ""},
    // One question in several forms. Questions of users about themselves are different.
    {"create", "*", "localsubjectaccessreviews", "", "create", "", "subjectaccessreviews", ""},
    {"create", "*", "localresourceaccessreviews", "", "create", "", "resourceaccessreviews", ""},
    {"create", kPolicyGroup, "subjectrulesreviews", "", "create", "", "subjectaccessreviews", ""},
    {"create", kOwnGroup, "batchsubjectaccessreviews", "", "create", kReviewGroup,
     "subjectaccessreviews", ""},
    {"create", kOwnGroup, "accessexplanationreviews", "", "create", kReviewGroup,
     "subjectaccessreviews", ""},
    {"create", kOwnGroup, "impersonationreviews", "", "create", kReviewGroup,
     "subjectaccessreviews", ""},
    {"create", kPolicyGroup, "subjectaccessreviews", "", "create", kReviewGroup, "", ""},
    {"create", kReviewGroup, "subjectaccessreviews", "", "create", kPolicyGroup, "", ""},
    {"create", kPolicyGroup, "resourceaccessreviews", "", "create", kOwnGroup, "", ""},
    {"create", kOwnGroup, "resourceaccessreviews", "", "create", kPolicyGroup, "", ""},
    // Impersonation in a mode is impersonation. The legacy verb is asked of users, groups and
    // service
    // accounts in
    // the core group, and a node is a user to it.
    {"impersonate:*", kPeopleGroup, "*", "/", "impersonate", "", "", ""},
    {"impersonate:*", kPeopleGroup, "nodes", "/", "impersonate", "core", "users", ""},
    {"impersonate", kPeopleGroup, "users", "/", "", "core", "", ""},
    {"impersonate", kPeopleGroup, "groups", "/", "", "core", "", ""},
    {"impersonate", kPeopleGroup, "serviceaccounts", "/", "", "core", "", ""},
    // Containers show what is in them.
    {"get list watch", kPolicyGroup, "policies", "/", "get", "", "roles", "-"},
    {"get list watch", kPolicyGroup, "policybindings", "/", "get", "", "rolebindings", "-"},
};

bool is_word(std::string_view pattern, std::string_view word) {
  if (!pattern.ends_with('*')) return pattern == word;
  return word.starts_with(pattern.substr(0, pattern.size() - 1));
}

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    std::size_t end = std::min(words.find(' '), words.size());
    if (is_word(words.substr(0, end), word)) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

bool is_of(const EffectRow& row, const Attributes& a) {
  if (row.subresource == "*"    ? a.subresource.empty() || has_word(kStreams, a.subresource)
      : row.subresource == "/"  ? false
      : row.subresource.empty() ? !a.subresource.empty()
                                : !has_word(row.subresource, a.subresource))
    return false;
  if (!has_word(row.verbs, a.verb)) return false;
  return (row.resource == "*" || row.resource == a.resource) &&
         (row.api_group == "*" || row.api_group == a.api_group);
}

IndirectEffect through(const EffectRow& row, const Attributes& a, bool on_parent) {
  IndirectEffect out{a, on_parent || row.on_parent, row.kind == Kind::kWord};
  if (!row.to_verb.empty()) out.attributes.verb = row.to_verb;
  if (!row.to_group.empty())
    out.attributes.api_group = row.to_group == "core" ? std::string_view() : row.to_group;
  if (!row.to_resource.empty()) out.attributes.resource = row.to_resource;
  if (!row.to_subresource.empty())
    out.attributes.subresource = row.to_subresource == "-" ? std::string_view()
                                                           : row.to_subresource;
  return out;
}

bool same_question(const Attributes& a, const Attributes& b) {
  return a.verb == b.verb && a.subresource == b.subresource && a.resource == b.resource &&
         a.api_group == b.api_group;
}

// Reads or writes of one object by its own name: there is no shorter form.
bool is_plain(const Attributes& a) {
  constexpr std::string_view kPlain[] = {"get", "create", "update", "delete"},
                             kOther[] = {"bindings", "events", "policies", "policybindings"};
  auto is_any_of = [](std::span<const std::string_view> words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
  };
  return a.subresource.empty() && is_any_of(kPlain, a.verb) && !is_any_of(kOther, a.resource) &&
         !a.resource.ends_with("reviews");
}

// For every method the answer shows the content of the path; a slash at the end is not part of
// it. Verbs with a colon are not methods: they ask whether another user may be impersonated
// there.
IndirectEffects effects_of_path(const Attributes& a) {
  IndirectEffects out;
  std::string_view path = a.path;
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  auto add = [&](std::string_view verb, std::string_view at) {
    bool is_known = (verb == a.verb && at == a.path) ||
                    std::ranges::any_of(out, [&](const IndirectEffect& e) {
                      return e.attributes.verb == verb && e.attributes.path == at;
                    });
    if (is_known) return;
    out.push_back({a});
    out.back().attributes.verb = verb;
    out.back().attributes.path = at;
  };
  add(a.verb, path);
  if (a.verb.find(':') != a.verb.npos) return out;
  add("get", a.path);
  add("get", path);
  return out;
}

}  // namespace

std::span<const EffectRow> effect_rows() {
  return kRows;
}

IndirectEffects effects_of(const Attributes& a) {
  if (!a.is_resource_request) return effects_of_path(a);
  IndirectEffects out;
  if (is_plain(a)) return out;
  auto add = [&](const Attributes& from, bool on_parent) {
    for (const EffectRow& row : kRows) {
      if (!is_of(row, from)) continue;
      IndirectEffect effect = through(row, from, on_parent);
      bool is_known = same_question(effect.attributes, a) ||
                      std::ranges::any_of(out, [&](const IndirectEffect& e) {
                        return same_question(e.attributes, effect.attributes);
                      });
      if (!is_known) out.push_back(effect);
    }
  };
  add(a, false);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (!out[i].is_word) add(out[i].attributes, out[i].on_parent);
  return out;
}

std::string as_text(const IndirectEffect& effect) {
  const Attributes& a = effect.attributes;
  if (!a.is_resource_request) return cat("the effect of this request is ", a.verb, " ", a.path);
  return cat("the effect of this request is ", a.verb, " ", a.resource,
             a.subresource.empty() ? "" : "/", a.subresource);
}

bool selectors_exclude(const Attributes& a, std::string_view name) {
  if (!a.selectors) return false;
  return std::ranges::any_of(a.selectors->fields.terms(), [&](const json::FieldSelector::Term& t) {
    return t.field == "metadata.name" && t.equal != (t.value == name);
  });
}

bool reaches_all(const Attributes& a) {
  return a.is_resource_request && a.name.empty() &&
         (a.verb == "list" || a.verb == "watch" || a.verb == "deletecollection");
}

}  // namespace cardea::authz
