#include "authz/attributes.h"

namespace cardea::authz {

Attributes::Attributes(const User& who, const RequestInfo& what)
    : user(who),
      is_resource_request(what.is_resource_request),
      verb(what.verb),
      api_group(what.api_group),
      api_version(what.api_version),
      namespace_name(what.namespace_name),
      resource(what.resource),
      subresource(what.subresource),
      name(what.name),
      path(what.path),
      selectors(what.selectors.get()) {}

}  // namespace cardea::authz
