#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "admission/plugins/pod_standards.h"
#include "json/value.h"

namespace cardea::admission {

// What the plugin PodSecurity does where a namespace says nothing, and whom it leaves alone.
struct PodSecuritySettings {
  SecurityPolicy enforce, audit, warn;
  std::set<std::string, std::less<>> users, runtime_classes, namespaces;  // that are exempt
};

// Something that may be used only where a ResourceQuota covers it.
struct LimitedResource {
  std::string group, resource;
  std::vector<std::string> contains;  // of names that quotas count: these are limited
  json::Value scopes;                 // requirements, as in the scopeSelector of a ResourceQuota
};

// How plugins differ between servers. By default as in a kube-apiserver without such flags.
struct Settings {
  PodSecuritySettings pod_security;
  std::vector<LimitedResource> limited_resources;
  std::int64_t not_ready_toleration_seconds = 300, unreachable_toleration_seconds = 300;
};

}  // namespace cardea::admission
