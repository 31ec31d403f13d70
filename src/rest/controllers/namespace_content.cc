#include "rest/controllers/namespace_content.h"

#include "base/strings.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

constexpr std::string_view kNamespaces = "/registry/namespaces/";

// Nothing can be created in a namespace that is going or gone.
bool is_active(const store::Store& store, std::string_view name) {
  store::RecordPtr record = store.get(cat(kNamespaces, name));
  return record && parse_stored(*record)["status"]["phase"].as_string() != "Terminating";
}

}  // namespace

NamespaceContent::NamespaceContent(ControllerContext context, std::string name, std::string prefix,
                                   std::string object)
    : Controller(std::move(context), std::move(name),
                 {.prefixes = {std::string(kNamespaces), prefix}, .workers = 8}),
      prefix_(std::move(prefix)),
      object_(std::move(object)) {}

bool NamespaceContent::cares(const store::Event& event) const {
  std::string_view key = event.record->key();
  return key.starts_with(kNamespaces) ? event.type == store::EventType::kPut
                                      : name_in(key) == object_;
}

void NamespaceContent::observe(const store::Event& event) {
  std::string_view key = event.record->key();
  enqueue(std::string(key.starts_with(kNamespaces) ? name_in(key) : namespace_in(key)));
}

Task<Result<void>> NamespaceContent::reconcile(std::string key) {
  if (!is_active(store(), key)) co_return Result<void>();
  Result<void> result = co_await restore(key, store().get(cat(prefix_, key, "/", object_)));
  // The namespace may have ended meanwhile.
  if (!result && !is_active(store(), key)) co_return Result<void>();
  co_return result;
}

}  // namespace cardea::rest
