#include "authz/rbac/near_miss.h"

#include <algorithm>

#include "base/strings.h"
#include "base/utf8.h"

namespace cardea::authz::rbac {
namespace {

constexpr std::size_t kMostHints = 8;
constexpr std::size_t kMostRules = 2'000;  // looked at for one refusal: it must stay cheap
constexpr std::size_t kMostText = 400;

struct Candidate {
  int distance;
  const Subject* grant;
  const Role* role;
  const PolicyRule* rule;
  Mismatch mismatch;
};

// Whether the rule knows the resource by another part: `pods` where `pods/log` is asked for.
bool knows_resource(const PolicyRule& rule, const Attributes& a) {
  return std::ranges::any_of(
      rule.resources, [&](std::string_view r) { return r.substr(0, r.find('/')) == a.resource; });
}

// How many parts are wrong; 0: the rule has nothing to do with the request.
int distance(const PolicyRule& rule, const Mismatch& m, const Attributes& a) {
  if (m.kind) return 0;
  if (!a.is_resource_request) return !m.url && m.verb ? 1 : 0;
  if (m.resource && !knows_resource(rule, a)) return 0;
  int wrong = m.verb + m.api_group + m.resource + m.name;
  return wrong <= 2 ? wrong : 0;
}

std::string clipped(std::string text) {
  if (text.size() <= kMostText) return text;
  return cat(utf8_prefix(text, kMostText), "...");
}

std::string missing_parts(const Candidate& c, const Attributes& a) {
  std::vector<std::string> parts;
  if (c.mismatch.verb) parts.push_back(cat("verb ", quoted(a.verb)));
  if (c.mismatch.api_group) parts.push_back(cat("API group ", quoted(a.api_group)));
  if (c.mismatch.resource)
    parts.push_back(
        cat("resource ", quoted(a.subresource.empty() ? std::string(a.resource)
                                                      : cat(a.resource, "/", a.subresource))));
  if (c.mismatch.name)
    parts.push_back(a.name.empty() ? std::string("requests that name no object")
                                   : cat("resource name ", quoted(a.name)));
  return join(parts, " and ");
}

std::string_view first_field(const Mismatch& m) {
  return m.verb ? "verbs" : m.api_group ? "apiGroups" : m.resource ? "resources" : "resourceNames";
}

Hint hint_of(const Candidate& c, const Attributes& a) {
  const Binding& b = c.grant->binding();
  std::string binding = b.is_cluster_binding()
                            ? cat("ClusterRoleBinding ", quoted(b.name()))
                            : cat("RoleBinding ", quoted(cat(b.name(), "/", b.namespace_name())));
  std::size_t index = static_cast<std::size_t>(c.rule - c.role->rules().data());
  return {.text = cat(b.role_kind_name(), " ", quoted(b.role_name()), ", bound to ",
                      c.grant->kind_name(), " ", quoted(c.grant->name()), " by ", binding, ", has ",
                      clipped(compact_text(*c.rule)), ": it lacks ", clipped(missing_parts(c, a))),
          .field = cat("rules[", index, "].", first_field(c.mismatch)),
          .role_namespace = c.role->namespace_name(),
          .role = c.role->name()};
}

}  // namespace

std::vector<Hint> near_misses(const RoleTable& policy, const Attributes& a) {
  std::vector<Candidate> found;
  std::size_t seen = 0;
  for (const Subject* grant : policy.grants_of(a.user, a.namespace_name)) {
    const Role* role = policy.role_of(grant->binding());
    if (!role) continue;
    for (const PolicyRule& rule : role->rules()) {
      if (++seen > kMostRules) break;
      Mismatch m = mismatch(rule, a);
      if (int d = distance(rule, m, a); d > 0) found.push_back({d, grant, role, &rule, m});
    }
  }
  std::ranges::stable_sort(found, {}, &Candidate::distance);
  if (found.size() > kMostHints) found.resize(kMostHints);
  std::vector<Hint> out;
  for (const Candidate& c : found) out.push_back(hint_of(c, a));
  return out;
}

}  // namespace cardea::authz::rbac
