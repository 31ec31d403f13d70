#include "catalog/kinds/authorization/group_resource.h"

#include "base/names.h"
#include "catalog/kinds/check.h"

namespace cardea::catalog {

void check_group_resource(const Path& at, const Value& named, FieldErrors& out) {
  if (const Value& group = named["group"]; !group.as_string().empty())
    complain(at / "group", group, name_is_dns_subdomain(group.as_string(), false), out);
  if (check_required(at / "resource", named["resource"], out))
    for (const std::string& problem : dns_label_problems(named["resource"].as_string()))
      out.push_back(json::invalid(at / "resource", named["resource"], problem));
}

}  // namespace cardea::catalog
