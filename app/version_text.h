#pragma once
#include <string>

namespace cardea::app {

// "cardea 0.1.0 (Kubernetes 1.36), commit 0123456789ab of 2026-01-31, built with clang 19.1"
std::string version_text();

}  // namespace cardea::app
