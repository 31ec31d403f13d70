#include "authz/namespace_policy/parts.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::authz::namespace_policy {

bool is_stream_word(std::string_view verb) {
  constexpr std::string_view kWords[] = {"exec", "attach", "portforward", "proxy", "log"};
  return std::ranges::find(kWords, verb) != std::end(kWords);
}

std::optional<std::vector<Listed>> with_parts(const std::vector<std::string>& verbs,
                                              const std::vector<std::string>& resources,
                                              const KindNames* kinds) {
  const bool is_every_verb = std::ranges::find(verbs, "*") != verbs.end();
  std::vector<std::string> whole, parts, part_verbs;
  for (const std::string& r : resources) {
    whole.push_back(r);
    if (r == "*" || r.find('/') != std::string::npos) continue;
    auto known = kinds ? kinds->parts_of(r) : std::nullopt;
    if (!known) return std::nullopt;
    for (const std::string& part : *known) {
      User nobody;
      Attributes a(nobody);
      a.is_resource_request = true;
      a.verb = "get";
      a.resource = r;
      a.subresource = part;
      if (is_every_verb || !RequestWords(a, nullptr).is_act()) parts.push_back(cat(r, "/", part));
    }
  }
  for (const std::string& v : verbs)
    if (v != "create") part_verbs.push_back(v);
  std::vector<Listed> out{{verbs, whole}};
  if (parts.empty() || part_verbs.empty()) return out;
  if (part_verbs == verbs)
    out[0].resources.insert(out[0].resources.end(), parts.begin(), parts.end());
  else
    out.push_back({part_verbs, parts});
  return out;
}

}  // namespace cardea::authz::namespace_policy
