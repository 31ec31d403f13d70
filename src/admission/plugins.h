#pragma once
#include <memory>
#include <string>
#include <vector>

#include "admission/objects.h"
#include "admission/plugin.h"

namespace cardea::admission {

// Kubernetes' own plugins, by their names there.
std::unique_ptr<Plugin> namespace_lifecycle(Objects objects);
std::unique_ptr<Plugin> service_account(Objects objects);
std::unique_ptr<Plugin> priority(Objects objects);
std::unique_ptr<Plugin> default_toleration_seconds();
std::unique_ptr<Plugin> taint_nodes_by_condition();
std::unique_ptr<Plugin> default_storage_class(Objects objects);
std::unique_ptr<Plugin> default_ingress_class(Objects objects);
std::unique_ptr<Plugin> runtime_class(Objects objects);
std::unique_ptr<Plugin> storage_object_in_use_protection();

struct Selected {
  std::vector<std::unique_ptr<Plugin>> plugins;
  std::vector<std::string> warnings;  // known names that this version does not have
};

// The plugins that are on by default, with the given ones added and left out. An unknown name is an error.
Result<Selected> select_plugins(Objects objects, const std::vector<std::string>& enable,
                                const std::vector<std::string>& disable);

}  // namespace cardea::admission
