// namespace-controller: empties a namespace that is terminating, then lets it go.
#include <map>

#include "base/strings.h"
#include "rest/controllers/controllers.h"
#include "rest/controllers/stored_resources.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

using json::Value;

constexpr std::string_view kNamespacePrefix = "/registry/namespaces/";
constexpr std::string_view kPods = "/registry/pods/";
constexpr std::string_view kFinalizer = "kubernetes";
constexpr std::size_t kPage = 512;  // records looked at in one turn of the loop

// What is still there, for the conditions.
struct Remaining {
  std::map<std::string, std::int64_t> resources;   // "pods." -> how many
  std::map<std::string, std::int64_t> finalizers;  // name -> on how many objects
  std::string failure;
};

Value condition(std::string_view type, bool is_true, std::string_view reason, std::string message,
                const std::string& now) {
  return Value::object({{"type", type},
                        {"status", is_true ? "True" : "False"},
                        {"lastTransitionTime", now},
                        {"reason", reason},
                        {"message", std::move(message)}});
}

std::string counts(const std::map<std::string, std::int64_t>& what, std::string_view verb) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : what)
    parts.push_back(cat(name, " ", verb, " ", count, " resource instances"));
  return join(parts, ", ");
}

std::vector<Value> conditions(const Remaining& left, const std::string& now) {
  bool some = !left.resources.empty(), held = !left.finalizers.empty(),
       failed = !left.failure.empty();
  return {
      condition("NamespaceDeletionDiscoveryFailure", false, "ResourcesDiscovered",
                "All resources successfully discovered", now),
      condition("NamespaceDeletionGroupVersionParsingFailure", false, "ParsedGroupVersions",
                "All legacy kube types successfully parsed", now),
      condition("NamespaceDeletionContentFailure", failed,
                failed ? "ContentDeletionFailed" : "ContentDeleted",
                failed ? cat("Failed to delete all resource types, 1 remaining: ", left.failure)
                       : "All content successfully deleted, may be waiting on finalization",
                now),
      condition("NamespaceContentRemaining", some, some ? "SomeResourcesRemain" : "ContentRemoved",
                some ? cat("Some resources are remaining: ", counts(left.resources, "has"))
                     : "All content successfully removed",
                now),
      condition("NamespaceFinalizersRemaining", held,
                held ? "SomeFinalizersRemain" : "ContentHasNoFinalizers",
                held ? cat("Some content in the namespace has finalizers remaining: ",
                           counts(left.finalizers, "in"))
                     : "All content-preserving finalizers finished",
                now)};
}

// Puts the conditions in, keeping the time of those whose status did not change. False: nothing is
// new.
bool set_conditions(Value& object, std::vector<Value> wanted) {
  std::vector<Value> list(object["status"]["conditions"].items().begin(),
                          object["status"]["conditions"].items().end());
  bool changed = false;
  for (Value& w : wanted) {
    Value* old = nullptr;
    for (Value& have : list)
      if (have["type"] == w["type"]) old = &have;
    if (!old)
      list.push_back(std::move(w)), changed = true;
    else {
      if ((*old)["status"] == w["status"])
        w.set("lastTransitionTime", (*old)["lastTransitionTime"]);
      if (!(*old == w)) *old = std::move(w), changed = true;
    }
  }
  if (changed) object.member("status").set("conditions", Value::array(std::move(list)));
  return changed;
}

class NamespaceController : public Controller {
 public:
  explicit NamespaceController(ControllerContext c)
      : Controller(std::move(c), "namespace-controller",
                   {.prefixes = {std::string(kNamespacePrefix)},
                    .workers = 4,
                    .longest_delay = std::chrono::milliseconds(1000)}),
        resources_(context().catalog) {}

 private:
  bool cares(const store::Event& event) const override {
    return event.type == store::EventType::kPut &&
           event.record->value().find("\"deletionTimestamp\"") != std::string_view::npos;
  }
  void observe(const store::Event& event) override {
    enqueue(std::string(name_in(event.record->key())));
  }

  Task<Result<void>> reconcile(std::string key) override {
    store::RecordPtr record = store().get(cat(kNamespacePrefix, key));
    if (!record) co_return Result<void>();
    Value object = parse_stored(*record);
    bool ours = false;
    for (const Value& f : object["spec"]["finalizers"].items()) ours |= f.as_string() == kFinalizer;
    if (!is_deleting(object) || !ours) co_return Result<void>();

    Remaining left = co_await empty(key);
    if (stopping()) co_return Result<void>();
    if (left.resources.empty() && left.failure.empty()) {
      Result<void> released = co_await release(std::move(object));
      co_return released;
    }
    if (set_conditions(object, conditions(left, rfc3339(context().clock.now())))) {
      Loopback::Reply reply = co_await api().send("PUT", cat("/api/v1/namespaces/", key, "/status"),
                                                  std::move(object));
      if (Result<void> ok = outcome(reply); !ok) co_return ok;
    }
    co_return fail(internal_error(
        left.failure.empty() ? cat("waiting for ", counts(left.resources, "with")) : left.failure));
  }

  // Pods go first: what guards them (network policies, say) stays until they are gone.
  Task<Remaining> empty(std::string name) {
    Remaining left;
    resources_.refresh();
    std::shared_ptr<const catalog::Catalog> keep = resources_.catalog();
    std::vector<const catalog::Resource*> list;
    for (const catalog::Resource* r : resources_.all())
      if (r->namespaced &&
          store().count(store::keys_with_prefix(collection_prefix(*r, name))) > 0) {
        if (r->storage_prefix == kPods)
          list.insert(list.begin(), r);
        else
          list.push_back(r);
      }
    for (const catalog::Resource* r : list) {
      Result<void> done = co_await remove_all(*r, name);
      if (!done && left.failure.empty()) left.failure = done.error().message;
      if (stopping()) co_return left;
      count_remaining(*r, name, left);
      if (r->storage_prefix == kPods && !left.resources.empty()) break;
    }
    co_return left;
  }

  Task<Result<void>> remove_all(const catalog::Resource& r, std::string name) {
    store::KeyRange keys = store::keys_with_prefix(collection_prefix(r, name));
    Result<void> result;
    while (!stopping()) {
      auto page = store().range({.keys = keys, .limit = kPage});
      if (!page) co_return fail(page.error());
      std::vector<Order> orders;
      for (const store::RecordPtr& record : page->records) add_order(r, name, *record, orders);
      Result<void> sent = co_await send_all(std::move(orders));
      if (!sent && result) result = std::move(sent);
      if (!page->more) break;
      keys.start = std::string(page->records.back()->key()) + '\0';
    }
    co_return result;
  }

  void add_order(const catalog::Resource& r, const std::string& name, const store::Record& record,
                 std::vector<Order>& orders) {
    Value object = parse_stored(record);
    Value options = Value::object(
        {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"propagationPolicy", "Background"}});
    bool now = r.storage_prefix == kPods && !has_node(object);
    if (is_deleting(object)) {
      // Its deletion has been requested; only a pod that no kubelet will finish is deleted again.
      if (!now || object["metadata"]["deletionGracePeriodSeconds"].as_int() == 0) return;
    }
    if (now) options.set("gracePeriodSeconds", 0);
    orders.push_back({"DELETE", path_of(r, name, name_in(record.key())), std::move(options)});
  }

  // Whether a kubelet may still be there to end this pod.
  bool has_node(const Value& pod) const {
    std::string_view node = pod["spec"]["nodeName"].as_string();
    return !node.empty() && store().get(cat("/registry/minions/", node)) != nullptr;
  }

  void count_remaining(const catalog::Resource& r, const std::string& name, Remaining& left) const {
    auto range = store().range(
        {.keys = store::keys_with_prefix(collection_prefix(r, name)), .limit = kPage});
    if (!range || range->records.empty()) return;
    left.resources[cat(r.name, ".", r.group)] = static_cast<std::int64_t>(range->records.size()) +
                                                range->remaining;
    for (const store::RecordPtr& record : range->records)
      for (const Value& f : parse_stored(*record)["metadata"]["finalizers"].items())
        ++left.finalizers[std::string(f.as_string())];
  }

  Task<Result<void>> release(Value object) {
    std::vector<Value> kept;
    for (const Value& f : object["spec"]["finalizers"].items())
      if (f.as_string() != kFinalizer) kept.push_back(f);
    object.member("spec").set("finalizers", Value::array(std::move(kept)));
    std::string target = cat("/api/v1/namespaces/", object["metadata"]["name"].as_string(),
                             "/finalize");
    Loopback::Reply reply = co_await api().send("PUT", std::move(target), std::move(object));
    if (reply.status == 404) co_return Result<void>();
    co_return outcome(reply);
  }

  StoredResources resources_;
};

}  // namespace

std::unique_ptr<Controller> namespace_controller(ControllerContext context) {
  return std::make_unique<NamespaceController>(std::move(context));
}

}  // namespace cardea::rest
