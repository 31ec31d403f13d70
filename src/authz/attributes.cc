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
      selectors(what.selectors.get()),
      via(what.via) {}

std::string_view OwnedAttributes::keep(std::string_view text) {
  std::size_t at = text_.size();
  text_ += text;  // room was reserved: what was kept before does not move
  return std::string_view(text_).substr(at);
}

OwnedAttributes::OwnedAttributes(const Attributes& from) : user_(from.user), attributes_(user_) {
  text_.reserve(from.verb.size() + from.api_group.size() + from.api_version.size() +
                from.namespace_name.size() + from.resource.size() + from.subresource.size() +
                from.name.size() + from.path.size() + from.via.size());
  attributes_.is_resource_request = from.is_resource_request;
  attributes_.above_namespaces = from.above_namespaces;
  attributes_.takes_conditions = from.takes_conditions;
  attributes_.verb = keep(from.verb);
  attributes_.api_group = keep(from.api_group);
  attributes_.api_version = keep(from.api_version);
  attributes_.namespace_name = keep(from.namespace_name);
  attributes_.resource = keep(from.resource);
  attributes_.subresource = keep(from.subresource);
  attributes_.name = keep(from.name);
  attributes_.path = keep(from.path);
  attributes_.via = keep(from.via);
  if (from.selectors) attributes_.selectors = &selectors_.emplace(*from.selectors);
}

}  // namespace cardea::authz
