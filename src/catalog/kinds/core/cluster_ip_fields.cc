#include "catalog/kinds/core/cluster_ip_fields.h"

#include <set>

#include "catalog/kinds/check.h"
#include "catalog/kinds/core/service_allocator.h"
#include "catalog/kinds/ip.h"

namespace cardea::catalog {

using json::Value;
using std::string_view;

void validate_cluster_ip_fields(const Value& service, const Value* old, json::FieldErrors& out) {
  const Value& spec = service["spec"];
  if (text(spec, "type") == "ExternalName") return;
  const Value &ips = spec["clusterIPs"], &families = spec["ipFamilies"];
  string_view ip = text(spec, "clusterIP");
  Path path = "spec.clusterIPs";
  if (ip.empty() && !ips.empty())
    out.push_back(json::invalid(path, ips, "must be empty when `clusterIP` is not specified"));
  if (!ip.empty() && ips.empty()) out.push_back(json::required(path));
  if (!ip.empty() && !ips.empty() && ips[0].as_string() != ip)
    out.push_back(json::invalid(path, ips, "first value must match `clusterIP`"));

  std::set<string_view> seen;
  each(spec, "ipFamilies", "spec", [&](const Value& family, const Path& at) {
    check_one_of(at, family.as_string(), {"IPv4", "IPv6"}, out);
    if (!seen.insert(family.as_string()).second) out.push_back(json::duplicate(at, family));
  });
  if (present(spec, "ipFamilyPolicy"))
    check_one_of("spec.ipFamilyPolicy", text(spec, "ipFamilyPolicy"),
                 {"PreferDualStack", "RequireDualStack", "SingleStack"}, out);

  bool unreadable = false;
  for (std::size_t i = 0; i < ips.size(); ++i) {
    string_view text = ips[i].as_string();
    if (i == 0 && text == "None") {
      if (ips.size() > 1) {
        unreadable = true;
        out.push_back(json::invalid(path, ips, "'None' must be the first and only value"));
      }
      continue;
    }
    bool known = old && std::ranges::find((*old)["spec"]["clusterIPs"].items(), ips[i]) !=
                            (*old)["spec"]["clusterIPs"].items().end();
    std::size_t before = out.size();
    if (!known) validate_ip(path.index(i), text, true, out);
    unreadable |= out.size() != before;
  }
  if (ips.size() > 2) out.push_back(json::invalid(path, ips, "may only hold up to 2 values"));
  if (unreadable) return;
  auto family_of = [&](std::size_t i) {
    return parse_ip(ips[i].as_string())->v4 ? "IPv4" : "IPv6";
  };
  if (ips.size() > 1 && family_of(0) == string_view(family_of(1)))
    out.push_back(json::invalid(path, ips, "may specify no more than one IP for each IP family"));
  if (is_headless(service)) return;
  for (std::size_t i = 0; i < ips.size() && i < families.size(); ++i) {
    string_view wanted = families[i].as_string();
    if ((wanted == "IPv4" || wanted == "IPv6") && wanted != family_of(i))
      out.push_back(json::invalid(
          path.index(i), ips[i],
          cat("expected an ", wanted, " value as indicated by `ipFamilies[", i, "]`")));
  }
}

}  // namespace cardea::catalog
