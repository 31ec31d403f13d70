#include <algorithm>

#include "admission/plugins.h"
#include "base/strings.h"

namespace cardea::admission {
namespace {

// Nothing is created in a namespace that does not exist or is going away, and some never go.
class NamespaceLifecycle : public Plugin {
 public:
  explicit NamespaceLifecycle(Objects objects) : objects_(objects) {}
  std::string_view name() const override { return "NamespaceLifecycle"; }

  bool handles(const Review& r) const override {
    if (is_namespace(r)) return r.operation == Operation::kDelete && r.subresource.empty();
    // Reviews ask about namespaces, they do not live in them.
    bool is_review = r.resource.name == "localsubjectaccessreviews" ||
                     r.resource.storage_prefix.empty();
    return r.operation == Operation::kCreate && !r.namespace_name.empty() && !is_review;
  }

  Task<Result<void>> mutate(Review& r) const override { co_return check(r); }

 private:
  static bool is_namespace(const Review& r) {
    return r.resource.group.empty() && r.resource.name == "namespaces";
  }

  Result<void> check(const Review& r) const {
    if (is_namespace(r)) {
      constexpr std::string_view kImmortal[] = {"default", "kube-system", "kube-public"};
      if (std::ranges::find(kImmortal, r.name) == std::end(kImmortal)) return {};
      return fail(forbidden(r, "this namespace may not be deleted"));
    }
    store::RecordPtr record = objects_.find(r.catalog, "", "namespaces", "", r.namespace_name);
    std::string name(r.namespace_name);
    if (!record)
      return fail(Error::of(Reason::kNotFound, cat("namespaces ", quoted(name), " not found"))
                      .with({.name = name, .kind = "namespaces"}));
    json::Value ns = parsed(*record);
    if (ns["status"]["phase"].as_string() != "Terminating") {
      // Otherwise what is admitted now could be written after the namespace has been emptied, and
      // outlive it.
      r.relies_on.push_back({std::string(record->key()), record->mod_revision});
      return {};
    }
    Error error = forbidden(r, cat("unable to create new content in namespace ", name,
                                   " because it is being terminated"));
    ErrorDetails details = *error.details;
    details.causes = {{"NamespaceTerminating", cat("namespace ", name, " is being terminated"),
                       "metadata.namespace"}};
    return fail(std::move(error).with(std::move(details)));
  }

  Objects objects_;
};

}  // namespace

std::unique_ptr<Plugin> namespace_lifecycle(Objects objects) {
  return std::make_unique<NamespaceLifecycle>(objects);
}

}  // namespace cardea::admission
