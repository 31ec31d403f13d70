#include "rest/policy/dry_deletion.h"

#include "authz/namespace_policy/documents.h"
#include "rest/write/stored_object.h"

namespace cardea::rest::policy {
namespace {

class DryDeletion : public admission::Plugin {
 public:
  explicit DryDeletion(const PolicyStore& store) : store_(store) {}
  std::string_view name() const override { return "PolicyReferences"; }

  bool handles(const admission::Review& r) const override {
    return r.dry_run && r.operation == admission::Operation::kDelete &&
           r.resource.group == authz::namespace_policy::kGroup && r.subresource.empty();
  }

  Task<Result<void>> validate(const admission::Review& r) const override {
    if (!r.old_object) co_return Result<void>();
    std::string key = object_key(r.resource, r.namespace_name,
                                 (*r.old_object)["metadata"]["name"].as_string());
    if (auto error = store_.keeps(key)) co_return fail(std::move(*error));
    co_return Result<void>();
  }

 private:
  const PolicyStore& store_;
};

}  // namespace

std::unique_ptr<admission::Plugin> check_dry_deletion(const PolicyStore& store) {
  return std::make_unique<DryDeletion>(store);
}

}  // namespace cardea::rest::policy
