#include "cel/lib/libraries.h"

#include "cel/environment.h"

namespace cardea::cel {

std::span<const OverloadRow> overloads_of(Library library) {
  switch (library) {
    case Library::kStandard:
      return standard_overloads();
    case Library::kOptional:
      return optional_overloads();
    case Library::kStrings:
      return strings_overloads();
    case Library::kLists:
      return lists_overloads();
    case Library::kSets:
      return sets_overloads();
    case Library::kMath:
      return math_overloads();
    case Library::kEncoders:
      return encoders_overloads();
    case Library::kNetwork:
      return network_overloads();
    case Library::kK8sLists:
      return k8s_lists_overloads();
    case Library::kK8sRegex:
      return k8s_regex_overloads();
    case Library::kK8sUrls:
      return urls_overloads();
    case Library::kK8sQuantity:
      return quantity_overloads();
    case Library::kK8sIp:
      return ip_overloads();
    case Library::kK8sCidr:
      return cidr_overloads();
    case Library::kK8sFormat:
      return format_overloads();
    case Library::kK8sSemver:
      return semver_overloads();
    case Library::kK8sAuthorizer:
      return authorizer_overloads();
    case Library::kK8sSelectors:
      return selector_overloads();
    case Library::kK8sJsonPatch:
      return jsonpatch_overloads();
    case Library::kBindings:
    case Library::kTwoVariables:
    case Library::kBlock:
    case Library::kRegexExt:
      return {};
  }
  return {};
}

}  // namespace cardea::cel
