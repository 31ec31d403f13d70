// garbage-collector-controller: what is owned goes when its last owner has gone (background),
// before its owner goes (foreground), or is set free (orphan).
#include <algorithm>
#include <cstring>

#include "base/strings.h"
#include "rest/controllers/controllers.h"
#include "rest/controllers/owner_index.h"
#include "rest/controllers/stored_resources.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

using json::Value;

constexpr std::string_view kOrphan = "orphan";
constexpr std::string_view kForeground = "foregroundDeletion";
constexpr std::string_view kEvents = "/registry/events/";  // they end by themselves

// Not string_view::find, which stops at every quotation mark: this looks at every byte that is
// written.
bool mentions(std::string_view text, std::string_view what) {
  return ::memmem(text.data(), text.size(), what.data(), what.size()) != nullptr;
}

bool has_finalizer(const Value& object, std::string_view name) {
  for (const Value& f : object["metadata"]["finalizers"].items())
    if (f.as_string() == name) return true;
  return false;
}

bool waits_for_dependents(const Value& object) {
  return is_deleting(object) && has_finalizer(object, kForeground);
}

// A change of these metadata, if nothing has happened in between.
Value metadata_patch(const Value& object, std::string_view member, std::vector<Value> list) {
  const Value& meta = object["metadata"];
  Value change = Value::object(
      {{"uid", meta["uid"]}, {"resourceVersion", meta["resourceVersion"]}});
  change.set(member, list.empty() ? Value() : Value::array(std::move(list)));
  return Value::object({{"metadata", change}});
}

Value without_finalizer(const Value& object, std::string_view name) {
  std::vector<Value> kept;
  for (const Value& f : object["metadata"]["finalizers"].items())
    if (f.as_string() != name) kept.push_back(f);
  return metadata_patch(object, "finalizers", std::move(kept));
}

Value without_owners(const Value& object, const std::vector<std::string>& uids) {
  std::vector<Value> kept;
  for (const Value& r : object["metadata"]["ownerReferences"].items())
    if (std::ranges::find(uids, r["uid"].as_string()) == uids.end()) kept.push_back(r);
  return metadata_patch(object, "ownerReferences", std::move(kept));
}

class GarbageCollector : public Controller {
 public:
  explicit GarbageCollector(ControllerContext c)
      : Controller(std::move(c), "garbage-collector-controller",
                   {.prefixes = {"/registry/"}, .workers = 16}),
        resources_(context().catalog) {}

 private:
  // Most objects own nothing and have no owner: searching for the words costs less than parsing.
  bool cares(const store::Event& event) const override {
    if (event.record->key().starts_with(kEvents)) return false;
    if (event.type == store::EventType::kDelete) return true;
    std::string_view now = event.record->value();
    if (mentions(now, "\"ownerReferences\":")) return true;
    if (event.previous && mentions(event.previous->value(), "\"ownerReferences\":")) return true;
    return mentions(now, "\"deletionTimestamp\":") &&
           (mentions(now, "\"orphan\"") || mentions(now, "\"foregroundDeletion\""));
  }

  void observe(const store::Event& event) override {
    std::string key(event.record->key());
    if (event.type == store::EventType::kDelete) {
      recheck_waiting(index_.set(key, {}));
      if (!event.previous || (index_.empty() && waiting_.empty())) return;
      std::string uid(parse_stored(*event.previous)["metadata"]["uid"].as_string());
      waiting_.erase(uid);
      for (const std::string& dependent : index_.dependents(uid)) enqueue(dependent);
      return;
    }
    Value object = parse_stored(*event.record);
    std::vector<Owner> owners = owners_of(object);
    std::vector<Owner> before = index_.set(key, owners);
    if (owners != before) {
      recheck_waiting(before);
      enqueue(key);
    }
    if (!is_deleting(object)) return;
    if (has_finalizer(object, kForeground)) {
      std::string uid(object["metadata"]["uid"].as_string());
      waiting_[uid] = key;
      for (const std::string& dependent : index_.dependents(uid)) enqueue(dependent);
      enqueue(key);
    } else if (has_finalizer(object, kOrphan)) {
      enqueue(key);
    }
  }

  void forget() override {
    index_ = {};
    waiting_.clear();
  }

  // Owners in foreground deletion may be done when a dependent has gone or changed.
  void recheck_waiting(const std::vector<Owner>& owners) {
    for (const Owner& o : owners)
      if (auto found = waiting_.find(o.uid); found != waiting_.end()) enqueue(found->second);
  }

  Task<Result<void>> reconcile(std::string key) override {
    // Catalogue and objects are looked at anew for each step.
    store::RecordPtr record = store().get(key);
    if (!record) co_return Result<void>();
    resources_.refresh();
    std::shared_ptr<const catalog::Catalog> keep = resources_.catalog();
    StoredResources::Place place = resources_.find(key);
    if (!place.resource) co_return Result<void>();
    Value object = parse_stored(*record);
    std::string path = path_of(*place.resource, place.namespace_name, place.name);
    if (is_deleting(object) && has_finalizer(object, kOrphan)) {
      Result<void> freed = co_await free_dependents(key, std::move(object), path);
      co_return freed;
    }
    if (waits_for_dependents(object) && !has_blocking_dependents(key, object)) {
      Result<void> released = co_await change(path, without_finalizer(object, kForeground));
      co_return released;
    }
    if (is_deleting(object) || index_.owners(key).empty()) co_return Result<void>();
    Result<void> judged = co_await judge(key, std::move(object), path);
    co_return judged;
  }

  // Dependents in the reach of an owner: of the same namespace when it has one.
  std::vector<std::string> dependents_of(const std::string& key, const Value& object) const {
    std::string_view namespace_name = object["metadata"]["namespace"].as_string();
    std::vector<std::string> out;
    for (const std::string& d : index_.dependents(object["metadata"]["uid"].as_string()))
      if (d != key &&
          (namespace_name.empty() || resources_.find(d).namespace_name == namespace_name))
        out.push_back(d);
    return out;
  }

  bool has_blocking_dependents(const std::string& key, const Value& object) const {
    std::string_view uid = object["metadata"]["uid"].as_string();
    for (const std::string& d : dependents_of(key, object))
      for (const Owner& o : index_.owners(d))
        if (o.uid == uid && o.blocks) return true;
    return false;
  }

  Task<Result<void>> free_dependents(std::string key, Value object, std::string path) {
    std::string uid(object["metadata"]["uid"].as_string());
    std::vector<std::string> all = dependents_of(key, object);
    for (const std::string& d : all) {
      store::RecordPtr record = store().get(d);
      if (!record || stopping()) continue;
      resources_.refresh();
      StoredResources::Place place = resources_.find(d);
      if (!place.resource) continue;
      std::string dependent_path = path_of(*place.resource, place.namespace_name, place.name);
      Result<void> done = co_await change(std::move(dependent_path),
                                          without_owners(parse_stored(*record), {uid}));
      if (!done) co_return done;
    }
    if (stopping()) co_return Result<void>();
    Result<void> released = co_await change(path, without_finalizer(object, kOrphan));
    co_return released;
  }

  enum class Standing { kThere, kGone, kWaiting, kUnreachable };

  // What has become of an owner, as seen from an object in `namespace_name`.
  Result<Standing> standing(const Owner& owner, std::string_view namespace_name) const {
    auto slash = owner.api_version.find('/');
    std::string group = slash == std::string::npos ? "" : owner.api_version.substr(0, slash);
    std::string version = slash == std::string::npos ? owner.api_version
                                                     : owner.api_version.substr(slash + 1);
    const catalog::Resource* r = resources_.catalog()->find_kind(group, version, owner.kind);
    // An unknown kind does not prove that the owner is gone.
    if (!r || r->storage_prefix.empty())
      return fail(internal_error(
          cat("owner of unknown kind `", owner.kind, "` in `", owner.api_version, "`")));
    if (r->namespaced && namespace_name.empty()) return Standing::kUnreachable;
    store::RecordPtr record = store().get(object_key(*r, namespace_name, owner.name));
    if (!record) return Standing::kGone;
    Value object = parse_stored(*record);
    // One that cannot be read has none, and is not gone.
    if (object["metadata"]["uid"].as_string().empty())
      return fail(internal_error(cat("owner `", record->key(), "` cannot be read")));
    if (object["metadata"]["uid"].as_string() != owner.uid) return Standing::kGone;
    return waits_for_dependents(object) ? Standing::kWaiting : Standing::kThere;
  }

  // Decides what to do with an object that has owners.
  Task<Result<void>> judge(std::string key, Value object, std::string path) {
    std::vector<std::string> lost;  // owners that hold it no longer
    bool is_held = false, owner_waits = false;
    for (const Owner& o : owners_of(object)) {
      Result<Standing> s = standing(o, object["metadata"]["namespace"].as_string());
      if (!s) co_return fail(s.error());
      // A cluster-scoped object cannot be owned by a namespaced one; nothing can be concluded from
      // it.
      if (*s == Standing::kUnreachable) co_return Result<void>();
      is_held |= *s == Standing::kThere;
      owner_waits |= *s == Standing::kWaiting;
      if (*s != Standing::kThere) lost.push_back(o.uid);
    }
    if (is_held) {
      if (lost.empty()) co_return Result<void>();
      Result<void> changed = co_await change(path, without_owners(object, lost));
      co_return changed;
    }
    std::vector<std::string> dependents = dependents_of(key, object);
    std::string_view policy = "Background";
    if (has_finalizer(object, kOrphan))
      policy = "Orphan";
    else if (has_finalizer(object, kForeground))
      policy = "Foreground";
    if (owner_waits && !dependents.empty()) {
      policy = "Foreground";
      Result<void> unblocked = co_await break_circle(key, object, dependents);
      if (!unblocked) co_return unblocked;
    }
    Result<void> removed = co_await remove(path, object, policy);
    co_return removed;
  }

  // A dependent that itself waits for its dependents would wait for us, and we for it: it stops
  // blocking us.
  Task<Result<void>> break_circle(std::string key, Value& object,
                                  std::vector<std::string> dependents) {
    bool is_circle = false;
    for (const std::string& d : dependents)
      if (store::RecordPtr record = store().get(d))
        is_circle |= waits_for_dependents(parse_stored(*record));
    if (!is_circle) co_return Result<void>();
    std::vector<Value> references;
    bool blocks = false;
    for (Value r : object["metadata"]["ownerReferences"].items()) {
      blocks |= r["blockOwnerDeletion"].as_bool();
      r.set("blockOwnerDeletion", false);
      references.push_back(std::move(r));
    }
    if (!blocks) co_return Result<void>();
    resources_.refresh();
    StoredResources::Place place = resources_.find(key);
    if (!place.resource) co_return Result<void>();
    Loopback::Reply reply = co_await api().send(
        "PATCH", path_of(*place.resource, place.namespace_name, place.name),
        metadata_patch(object, "ownerReferences", std::move(references)),
        "application/merge-patch+json");
    if (reply.ok()) object = std::move(reply.body);
    co_return outcome(reply);
  }

  Task<Result<void>> change(std::string path, Value patch) {
    Loopback::Reply reply = co_await api().send("PATCH", std::move(path), std::move(patch),
                                                "application/merge-patch+json");
    bool turned = co_await next_turn(context().loop);
    (void)turned;
    if (reply.status == 404) co_return Result<void>();
    co_return outcome(reply);
  }

  // Only the object that was judged, as it was judged.
  Task<Result<void>> remove(std::string path, Value object, std::string_view policy) {
    const Value& meta = object["metadata"];
    Value options = Value::object(
        {{"apiVersion", "v1"},
         {"kind", "DeleteOptions"},
         {"propagationPolicy", policy},
         {"preconditions",
          Value::object({{"uid", meta["uid"]}, {"resourceVersion", meta["resourceVersion"]}})}});
    Loopback::Reply reply = co_await api().send("DELETE", std::move(path), std::move(options));
    if (reply.status == 404) co_return Result<void>();
    co_return outcome(reply);
  }

  StoredResources resources_;
  OwnerIndex index_;
  std::unordered_map<std::string, std::string> waiting_;  // uid -> key of owners in foreground
                                                          // deletion
};

}  // namespace

std::unique_ptr<Controller> garbage_collector(ControllerContext context) {
  return std::make_unique<GarbageCollector>(std::move(context));
}

}  // namespace cardea::rest
