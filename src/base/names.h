#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace cardea {

// What is wrong with a name, in Kubernetes' words; empty when nothing is.
using Problems = std::vector<std::string>;

Problems label_key_problems(std::string_view key);    // `app`, `example.com/app`
Problems label_value_problems(std::string_view value);
Problems dns_subdomain_problems(std::string_view name);

}  // namespace cardea
