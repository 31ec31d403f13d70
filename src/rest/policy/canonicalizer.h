#pragma once
#include <string>

#include "rest/write/canonicalizer.h"

namespace cardea::rest::policy {

// How the documents of namespace policy may be written: keys in any case, older names of fields,
// `v1beta3` alone as their version (authz/namespace_policy/documents.h says what is understood).
// What comes back is canonical.
class PolicyCanonicalizer : public Canonicalizer {
 public:
  explicit PolicyCanonicalizer(std::string master) : master_(std::move(master)) {}
  bool applies(const catalog::Resource& resource) const override;
  Result<json::Value> canonical(const catalog::Resource& resource, std::string_view namespace_name,
                                const json::Value& sent) const override;

 private:
  const std::string master_;
};

}  // namespace cardea::rest::policy
