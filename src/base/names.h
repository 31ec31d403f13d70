#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace cardea {

// What is wrong with a name, in Kubernetes' words; empty when nothing is.
using Problems = std::vector<std::string>;

Problems label_key_problems(std::string_view key);  // `app`, `example.com/app`
Problems label_value_problems(std::string_view value);
Problems dns_subdomain_problems(std::string_view name);
Problems dns_label_problems(std::string_view name);       // RFC 1123
Problems dns_1035_label_problems(std::string_view name);  // begins with a letter
// What may stand in a URL's path. A prefix is a name that something will be appended to.
Problems path_segment_problems(std::string_view name, bool prefix = false);

}  // namespace cardea
