#pragma once
#include <string>
#include <string_view>

namespace cardea::catalog {

// The tag an image reference names: "latest" when it has neither tag nor digest, "" when it has a
// digest only or cannot be read.
std::string image_tag(std::string_view reference);

// "Always" for images whose tag is latest, else "IfNotPresent".
std::string_view default_pull_policy(std::string_view image);

}  // namespace cardea::catalog
