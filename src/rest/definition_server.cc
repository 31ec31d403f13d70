#include "rest/definition_server.h"

#include <algorithm>
#include <future>
#include <iterator>

#include "base/strings.h"
#include "catalog/definition.h"
#include "catalog/definitions.h"
#include "rest/unreadable_records.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {

using json::Value;

namespace {

constexpr std::string_view
    kDefinitions = "/registry/apiextensions.k8s.io/customresourcedefinitions/";

bool has_cleanup_finalizer(const Value& definition) {
  for (const Value& f : definition["metadata"]["finalizers"].items())
    if (f.as_string() == catalog::kCleanupFinalizer) return true;
  return false;
}

Value without_cleanup_finalizer(const Value& definition) {
  Value out = definition;
  std::vector<Value> kept;
  for (const Value& f : definition["metadata"]["finalizers"].items())
    if (f.as_string() != catalog::kCleanupFinalizer) kept.push_back(f);
  if (kept.empty())
    out.member("metadata").erase("finalizers");
  else
    out.member("metadata").set("finalizers", Value::array(std::move(kept)));
  return out;
}

// The names of built-in groups whose objects have the same keys as those of a custom resource would
// have, as definitions with these names: a second definition would read and delete the objects of
// the other.
std::vector<Value> built_in_names(const catalog::Catalog& catalog) {
  auto rests_like_custom = [](const catalog::Resource& r) {
    return !r.is_custom && r.storage_prefix == cat("/registry/", r.group, "/", r.name, "/");
  };
  std::vector<Value> out;
  for (const catalog::Group& group : catalog.all_groups()) {
    auto any = [&](const catalog::Version& v) {
      return std::ranges::any_of(v.resources,
                                 [&](const catalog::Resource* r) { return rests_like_custom(*r); });
    };
    if (!std::ranges::any_of(group.versions, any)) continue;
    for (const catalog::Version& version : group.versions)
      for (const catalog::Resource* r : version.resources) {
        if (r->is_custom) continue;
        Value names = Value::object(
            {{"plural", r->name},
             {"singular", r->singular},
             {"kind", r->kind},
             {"listKind", r->list_kind},
             {"shortNames",
              Value::array(std::vector<Value>(r->short_names.begin(), r->short_names.end()))}});
        out.push_back(Value::object({{"spec", Value::object({{"group", group.name}})},
                                     {"status", Value::object({{"acceptedNames", names}})}}));
      }
  }
  return out;
}

}  // namespace

struct DefinitionServer::State : std::enable_shared_from_this<State> {
  store::Store& store;
  CatalogHolder& holder;
  const Loopback& api;
  const Clock& clock;
  std::unique_ptr<store::Watch> watch;
  bool running = false;  // a pass is under way; loop thread
  bool again = false;    // something changed meanwhile
  bool stopped = false;
  std::vector<Value> served;

  Published published;

  State(store::Store& s, CatalogHolder& h, const Loopback& a, const Clock& c, Published p)
      : store(s), holder(h), api(a), clock(c), published(std::move(p)) {}

  std::vector<store::RecordPtr> records() const {
    auto range = store.range({.keys = store::keys_with_prefix(kDefinitions)});
    if (!range) return {};
    // One that cannot be read is not served, and not written over.
    std::erase_if(range->records, [](const store::RecordPtr& record) {
      return !flaw_of_stored(record->value()).empty();
    });
    return std::move(range->records);
  }

  // The catalogue of what is stored now. The status does not matter once established, so a change
  // of it alone rebuilds nothing that the catalogue shares.
  void publish(const std::vector<Value>& all) {
    if (all == served) return;
    served = all;
    holder.change([&](const catalog::Catalog& now) { return now.with_definitions(all); });
    if (published && !stopped) published(holder.get());
  }

  auto write(const store::Record& record, const Value* object) {
    store::Txn txn{{{std::string(record.key()), record.mod_revision}}, {}};
    if (object)
      txn.ops.push_back(store::Put{std::string(record.key()), stored_bytes(*object)});
    else
      txn.ops.push_back(store::Delete{std::string(record.key())});
    return await_callback<bool>([this, txn = std::move(txn)](auto done) mutable {
      net::Loop& loop = api.loop();
      store.commit(std::move(txn), [&loop, done](Result<store::Commit> result) mutable {
        bool ok = result && result->succeeded;
        loop.post([done, ok]() mutable { done(ok); });
      });
    });
  }

  // Deletes the objects of a terminating definition; true when none is left.
  Task<bool> remove_objects(Value definition) {
    std::string group(definition["spec"]["group"].as_string());
    std::string plural(definition["spec"]["names"]["plural"].as_string());
    auto catalog = holder.get();
    const catalog::Resource* resource = nullptr;
    // In the stored version where it is served: a webhook that is gone does not hold them back.
    for (const Value& v : definition["spec"]["versions"].items())
      if (v["storage"].as_bool()) resource = catalog->find(group, v["name"].as_string(), plural);
    for (const Value& v : definition["spec"]["versions"].items())
      if (!resource) resource = catalog->find(group, v["name"].as_string(), plural);
    if (!resource || !resource->is_custom) co_return true;  // a built-in resource keeps its objects
    auto range = store.range({.keys = store::keys_with_prefix(resource->storage_prefix)});
    if (!range) co_return false;
    for (const store::RecordPtr& record : range->records) {
      std::string_view rest = record->key().substr(resource->storage_prefix.size());
      auto slash = rest.find('/');
      std::string path = cat("/apis/", group, "/", resource->version, "/");
      if (slash != std::string_view::npos)
        path += cat("namespaces/", rest.substr(0, slash), "/", plural, "/", rest.substr(slash + 1));
      else
        path += cat(plural, "/", rest);
      Loopback::Reply reply = co_await api.send("DELETE", path);
      (void)reply;  // what could not be deleted is still there and counts below
    }
    co_return store.count(store::keys_with_prefix(resource->storage_prefix)) == 0;
  }

  Task<bool> pass() {
    std::vector<Value> all;
    std::vector<store::RecordPtr> list = records();
    for (const store::RecordPtr& r : list) all.push_back(parse_stored(*r));
    std::string now = rfc3339(clock.now());
    std::vector<Value> in_use = all;
    std::ranges::copy(built_in_names(*holder.get()), std::back_inserter(in_use));
    // With the feature that guards excluded fields their sets are served.
    const bool serves_excluded = holder.get()->find("permissionconfig.k8s.io", "v1",
                                                    "uncoveredpermissionsets") != nullptr;
    for (std::size_t i = 0; i < all.size(); ++i) {
      Value next = catalog::with_withheld_versions(
          catalog::with_names_accepted(all[i], in_use, now), serves_excluded, now);
      if (!(next == all[i])) {
        bool written = co_await write(*list[i], &next);
        if (written) in_use[i] = all[i] = std::move(next);
      }
    }
    publish(all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!all[i]["metadata"].has("deletionTimestamp") || !has_cleanup_finalizer(all[i])) continue;
      bool empty = co_await remove_objects(all[i]);
      if (!empty) continue;
      store::RecordPtr current = store.get(list[i]->key());
      if (!current) continue;
      Value released = without_cleanup_finalizer(parse_stored(*current));
      bool gone = released["metadata"]["finalizers"].empty();
      bool written = co_await write(*current, gone ? nullptr : &released);
      (void)written;  // a conflict brings another event, and another pass
    }
    co_return true;
  }

  void run() {
    if (stopped) return;
    if (running) {
      again = true;
      return;
    }
    running = true;
    spawn(pass(), [self = shared_from_this()](bool) {
      self->running = false;
      if (std::exchange(self->again, false)) self->api.loop().post([self] { self->run(); });
    });
  }
};

DefinitionServer::DefinitionServer(store::Store& store, CatalogHolder& catalog, const Loopback& api,
                                   const Clock& clock, Published published)
    : state_(std::make_shared<State>(store, catalog, api, clock, std::move(published))) {}

DefinitionServer::~DefinitionServer() {
  stop();
}

void DefinitionServer::start() {
  std::vector<Value> all;
  for (const store::RecordPtr& r : state_->records()) all.push_back(parse_stored(*r));
  state_->publish(all);
  std::weak_ptr<State> weak = state_;
  net::Loop& loop = state_->api.loop();
  auto wake = [weak, &loop](std::span<const store::EventPtr>) {
    loop.post([weak] {
      if (auto state = weak.lock()) state->run();
    });
  };
  auto watch = state_->store.watch(std::string(kDefinitions), state_->store.current_revision(),
                                   wake);
  if (watch) state_->watch = std::move(*watch);
  loop.post([state = state_] { state->run(); });
}

void DefinitionServer::stop() {
  if (!state_ || !state_->watch) return;
  state_->watch.reset();
  std::promise<void> done;
  state_->api.loop().post([&] {
    state_->stopped = true;
    done.set_value();
  });
  done.get_future().wait();
}

}  // namespace cardea::rest
