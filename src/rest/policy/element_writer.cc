#include "rest/policy/element_writer.h"

#include <algorithm>
#include <latch>
#include <map>
#include <set>

#include "authz/namespace_policy/documents.h"
#include "base/strings.h"
#include "json/field_error.h"
#include "json/print.h"

namespace cardea::rest::policy {

namespace documents = authz::namespace_policy;
using json::Value;
using store::RecordPtr;

namespace {

constexpr std::size_t kMostNames = 16;                // in one message
constexpr std::size_t kLargestContainer = 32u << 20;  // bytes: each write of an element prints all
                                                      // of it
constexpr int kMostRounds = 1000;

std::string_view resource_of(ElementKind kind) {
  return kind == ElementKind::kRole ? "roles" : "rolebindings";
}

Error conflict(ElementKind kind, std::string_view name, std::string_view why) {
  return Error::of(Reason::kConflict, cat("Operation cannot be fulfilled on ", resource_of(kind),
                                          ".", documents::kGroup, " ", quoted(name), ": ", why))
      .with({.name = std::string(name),
             .group = std::string(documents::kGroup),
             .kind = std::string(resource_of(kind))});
}

std::string_view key_of(const store::Op& op) {
  return std::visit([](const auto& o) -> std::string_view { return o.key; }, op);
}

store::Revision revision_of(const RecordPtr& record) {
  return record ? record->mod_revision : 0;
}

}  // namespace

std::string listed(const std::vector<std::string>& names) {
  std::vector<std::string> shown(
      names.begin(),
      names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMostNames)));
  std::string out = join(shown, ", ");
  return names.size() > kMostNames ? cat(out, " and ", names.size() - kMostNames, " more") : out;
}

RecordPtr find_element(const store::Store& below, std::string_view key, ElementKind kind,
                       std::string_view master) {
  KeyPlace place = place_of(key, prefix_of(kind));
  if (place.namespace_name.empty() || place.name.empty()) return nullptr;
  auto in = [&](const std::string& container) -> RecordPtr {
    RecordPtr record = below.get(container);
    const Value* element = record ? elements_of(*record, kind).find(place.name) : nullptr;
    return element ? element_record(kind, place.namespace_name, place.name, *element,
                                    record->mod_revision)
                   : nullptr;
  };
  if (kind == ElementKind::kRole) return in(policy_key(place.namespace_name));
  if (RecordPtr own = in(policy_binding_key(place.namespace_name, place.namespace_name)))
    return own;
  return place.namespace_name == master ? nullptr
                                        : in(policy_binding_key(place.namespace_name, master));
}

Error missing_container(ElementKind kind, std::string_view namespace_name, std::string_view name,
                        std::string_view points_to) {
  // Most people who meet this may not create containers.
  const std::string who = cat(
      "; this takes the verb \"create\" on policies and policybindings, which by default cluster "
      "administrators have. Roles of a namespace need two objects: Policy ",
      quoted(documents::kPolicyName), " and PolicyBinding ", quoted(namespace_name));
  if (kind == ElementKind::kRole)
    return conflict(
        kind, name,
        cat("there is no Policy in the namespace ", quoted(namespace_name), ": create policies.",
            documents::kGroup, " ", quoted(documents::kPolicyName), " there first", who));
  return conflict(kind, name,
                  cat("there is no PolicyBinding for the roles of ", quoted(points_to),
                      " in the namespace ", quoted(namespace_name), ": create policybindings.",
                      documents::kGroup, " ", quoted(points_to), " there first", who));
}

// One transaction on its way.
struct ElementWriter::Pending {
  store::Txn txn;
  store::Store::Done done;
  int rounds = 0;
  const store::Op* op = nullptr;  // on its element, in `txn`
  ElementKind kind = ElementKind::kRole;
  std::string namespace_name, name;
  Value element;          // null: it is deleted
  std::string points_to;  // of a binding: the namespace of its role

  Result<void> understand();
};

Result<void> ElementWriter::Pending::understand() {
  for (const store::Op& o : txn.ops) {
    auto found = kind_of_keys(key_of(o));
    if (!found) continue;
    if (op) return fail(bad_request("a transaction may write one element of a policy"));
    op = &o;
    kind = *found;
  }
  if (!op)
    return fail(bad_request("a transaction that compares elements of policies must write one"));
  KeyPlace place = place_of(key_of(*op), prefix_of(kind));
  namespace_name = place.namespace_name;
  name = place.name;
  if (namespace_name.empty() || name.empty())
    return fail(bad_request("an element of a policy has a namespace and a name"));
  const auto* put = std::get_if<store::Put>(op);
  if (!put) return {};
  auto read = as_element(put->value);
  if (!read) return fail(read.error());
  element = std::move(*read);
  return {};
}

// What one round writes into one container.
struct ElementWriter::Group {
  std::string key;
  ElementKind kind;
  RecordPtr record;  // null: the container is made by this write
  Value document;
  std::vector<std::unique_ptr<Pending>> members;
  std::map<std::string, store::Revision> compares;  // on other keys
  bool is_closed = false;
  std::optional<Result<store::Commit>> outcome;
};

ElementWriter::ElementWriter(store::Store& below, const Clock& clock, Random& random,
                             std::string master)
    : below_(below), clock_(clock), random_(random), master_(std::move(master)), thread_([this] {
        run();
      }) {}

ElementWriter::~ElementWriter() {
  {
    std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  news_.notify_one();
  thread_.join();
}

void ElementWriter::add(store::Txn txn, store::Store::Done done) {
  auto pending = std::make_unique<Pending>();
  pending->txn = std::move(txn);
  pending->done = std::move(done);
  if (auto ok = pending->understand(); !ok) return pending->done(fail(ok.error()));
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(pending));
  }
  news_.notify_one();
}

void ElementWriter::run() {
  Batch again;
  for (;;) {
    Batch batch = std::move(again);
    again.clear();
    {
      std::unique_lock lock(mutex_);
      news_.wait(lock, [&] { return is_stopping_ || !waiting_.empty() || !batch.empty(); });
      for (auto& p : waiting_) batch.push_back(std::move(p));
      waiting_.clear();
      if (is_stopping_) {
        lock.unlock();
        for (auto& p : batch)
          p->done(fail(Error::of(Reason::kServiceUnavailable,
                                 "the server is stopping; nothing was written")));
        return;
      }
    }
    again = write(std::move(batch));
  }
}

std::vector<std::string> ElementWriter::bindings_of(std::string_view role_namespace,
                                                    std::string_view role) const {
  std::vector<std::string> out;
  auto add_from = [&](const store::Record& container) {
    std::string_view where = place_of(container.key(), documents::kPolicyBindingsPrefix)
                                 .namespace_name;
    for (const json::Member& m : elements_of(container, ElementKind::kRoleBinding).members()) {
      const Value& ref = m.value["roleRef"];
      if (ref["name"].as_string() == role && ref["namespace"].as_string() == role_namespace)
        out.push_back(cat(where, "/", m.key()));
    }
  };
  if (role_namespace != master_) {
    if (RecordPtr own = below_.get(policy_binding_key(role_namespace, role_namespace)))
      add_from(*own);
    return out;
  }
  // Roles of the master namespace may be bound anywhere.
  auto all = below_.range({.keys = store::keys_with_prefix(documents::kPolicyBindingsPrefix)});
  if (!all) return {"(the role bindings could not be read)"};
  for (const RecordPtr& record : all->records)
    if (place_of(record->key(), documents::kPolicyBindingsPrefix).name == master_)
      add_from(*record);
  return out;
}

std::optional<Error> ElementWriter::keeps_role(std::string_view namespace_name,
                                               std::string_view name) const {
  std::vector<std::string> bindings = bindings_of(namespace_name, name);
  if (bindings.empty()) return std::nullopt;
  return conflict(ElementKind::kRole, name,
                  cat("it is bound by the role bindings ", listed(bindings)));
}

Result<void> ElementWriter::check_references(const Pending& p) const {
  if (p.kind == ElementKind::kRole) {
    if (!p.element.is_null()) return {};
    if (auto error = keeps_role(p.namespace_name, p.name)) return fail(std::move(*error));
    return {};
  }
  if (p.element.is_null()) return {};
  const Value& ref = p.element["roleRef"];
  std::string_view role = ref["name"].as_string();
  RecordPtr policy = below_.get(policy_key(p.points_to));
  if (policy && elements_of(*policy, ElementKind::kRole).has(role)) return {};
  return fail(json::invalid_object(
      documents::kGroup, "RoleBinding", p.name,
      {documents::dangling({.namespace_name = p.points_to, .name = std::string(role)}, "")}));
}

Value ElementWriter::new_binding_container(std::string_view namespace_name) const {
  return Value::object(
      {{"kind", "PolicyBinding"},
       {"apiVersion", documents::kApiVersion},
       {"metadata", Value::object({{"name", master_},
                                   {"namespace", namespace_name},
                                   {"uid", make_uid(random_)},
                                   {"creationTimestamp", rfc3339(clock_.now())}})},
       {"policyRef", Value::object({{"namespace", master_}, {"name", documents::kPolicyName}})}});
}

Result<ElementWriter::Group*> ElementWriter::group_for(
    Pending& p, std::vector<std::unique_ptr<Group>>& groups) const {
  std::string key = p.kind == ElementKind::kRole
                        ? policy_key(p.namespace_name)
                        : policy_binding_key(p.namespace_name, p.points_to);
  for (auto& g : groups)
    if (g->key == key) return g.get();
  auto group = std::make_unique<Group>();
  group->key = key;
  group->kind = p.kind;
  group->record = below_.get(key);
  if (group->record) {
    group->document = container_of(*group->record);
    const Value& elements = group->document[member_of(p.kind)];
    if (!group->document.is_object() || !(elements.is_null() || elements.is_object()))
      return fail(conflict(p.kind, p.name,
                           cat("its container is damaged: `", member_of(p.kind), "` of ", key,
                               " is not an object")));
    settle_revisions(group->document, p.kind, group->record->mod_revision);
  } else if (p.kind == ElementKind::kRoleBinding && p.points_to == master_) {
    group->document = new_binding_container(p.namespace_name);
  } else {
    return fail(missing_container(p.kind, p.namespace_name, p.name, p.points_to));
  }
  groups.push_back(std::move(group));
  return groups.back().get();
}

std::optional<std::string> ElementWriter::container_holding(const Pending& p) const {
  for (std::string_view points_to :
       {std::string_view(p.namespace_name), std::string_view(master_)}) {
    RecordPtr record = below_.get(policy_binding_key(p.namespace_name, points_to));
    if (record && elements_of(*record, ElementKind::kRoleBinding).has(p.name))
      return std::string(points_to);
  }
  return std::nullopt;
}

// Where a binding goes, or comes from.
Result<bool> ElementWriter::locate(Pending& p) const {
  if (p.kind == ElementKind::kRole) {
    RecordPtr policy = below_.get(policy_key(p.namespace_name));
    return !p.element.is_null() || (policy && elements_of(*policy, p.kind).has(p.name));
  }
  std::optional<std::string> present = container_holding(p);
  if (p.element.is_null()) {
    p.points_to = present.value_or("");
    return present.has_value();
  }
  p.points_to = p.element["roleRef"]["namespace"].as_string();
  if (present && *present != p.points_to)
    return fail(conflict(p.kind, p.name,
                         cat("its role is one of ", quoted(*present),
                             ": the namespace of a role reference cannot be changed")));
  return true;
}

ElementWriter::Placed ElementWriter::place(std::unique_ptr<Pending>& p, Groups& groups,
                                           std::set<std::string>& touched) const {
  std::vector<RecordPtr> found;
  bool holds = true;
  for (const store::Compare& c : p->txn.compares) {
    auto kind = kind_of_keys(c.key);
    found.push_back(kind ? find_element(below_, c.key, *kind, master_) : below_.get(c.key));
    holds &= !kind || revision_of(found.back()) == c.mod_revision;
  }
  if (p->op && touched.contains(std::string(key_of(*p->op)))) return Placed::kLater;
  if (!holds) {
    p->done(store::Commit{false, below_.current_revision(), std::move(found)});
    return Placed::kAnswered;
  }
  auto refuse = [&p](Error error) {
    p->done(fail(std::move(error)));
    return Placed::kAnswered;
  };
  auto is_there = locate(*p);
  if (!is_there) return refuse(is_there.error());
  if (!*is_there) {
    p->done(
        store::Commit{true, below_.current_revision(), std::vector<RecordPtr>(p->txn.ops.size())});
    return Placed::kAnswered;
  }
  if (auto ok = check_references(*p); !ok) return refuse(ok.error());
  auto group = group_for(*p, groups);
  if (!group) return refuse(group.error());
  Group& g = **group;
  if (g.is_closed || (p->txn.ops.size() > 1 && !g.members.empty())) return Placed::kLater;
  for (const store::Compare& c : p->txn.compares)
    if (auto at = g.compares.find(c.key); at != g.compares.end() && at->second != c.mod_revision)
      return Placed::kLater;
  for (const store::Compare& c : p->txn.compares)
    if (!kind_of_keys(c.key)) g.compares.emplace(c.key, c.mod_revision);
  // A charge of a quota, say, names a key that the next member would name again.
  g.is_closed = p->txn.ops.size() > 1;
  Value& elements = g.document.member(member_of(g.kind));
  if (p->element.is_null())
    elements.erase(p->name);
  else
    elements.set(p->name, p->element);
  touched.emplace(key_of(*p->op));
  g.members.push_back(std::move(p));
  return Placed::kWritten;
}

void ElementWriter::commit_all(Groups& groups) const {
  std::latch left(static_cast<std::ptrdiff_t>(groups.size()));
  std::string now = rfc3339(clock_.now());
  for (auto& group : groups) {
    Group& g = *group;
    if (g.members.empty()) {
      left.count_down();
      continue;
    }
    g.document.set("lastModified", now);
    std::string bytes = json::print_object(g.document);
    if (bytes.size() > kLargestContainer &&
        (!g.record || bytes.size() > g.record->value().size())) {
      g.outcome = Result<store::Commit>(
          fail(Error::of(Reason::kRequestEntityTooLarge,
                         cat("the container would be larger than ", kLargestContainer, " bytes"))));
      left.count_down();
      continue;
    }
    store::Txn txn{{{g.key, revision_of(g.record)}}, {store::Put{g.key, std::move(bytes)}}};
    for (const auto& [key, revision] : g.compares) txn.compares.push_back({key, revision});
    for (const store::Op& op : g.members[0]->txn.ops)
      if (g.is_closed && &op != g.members[0]->op) txn.ops.push_back(op);
    below_.commit(std::move(txn), [&g, &left](Result<store::Commit> outcome) {
      g.outcome = std::move(outcome);
      left.count_down();
    });
  }
  left.wait();
}

ElementWriter::Batch ElementWriter::settle(Group& g) const {
  Batch again;
  for (auto& p : g.members) {
    if (!*g.outcome) {
      p->done(fail(g.outcome->error()));
      continue;
    }
    const store::Commit& commit = **g.outcome;
    if (commit.succeeded) {
      std::vector<RecordPtr> records;
      std::size_t other = 1;  // after the container
      for (const store::Op& op : p->txn.ops) {
        if (&op != p->op)
          records.push_back(commit.records[other++]);
        else if (p->element.is_null())
          records.push_back(store::Record::make(key_of(op), "", 0, commit.revision, 0));
        else
          records.push_back(
              element_record(p->kind, p->namespace_name, p->name, p->element, commit.revision));
      }
      p->done(store::Commit{true, commit.revision, std::move(records)});
      continue;
    }
    // The key of another object, or the container itself, which was just created or deleted: then
    // retry.
    bool is_ours = true;
    std::vector<RecordPtr> found;
    for (const store::Compare& c : p->txn.compares) {
      auto kind = kind_of_keys(c.key);
      found.push_back(kind ? find_element(below_, c.key, *kind, master_) : below_.get(c.key));
      is_ours &= kind.has_value() || revision_of(found.back()) == c.mod_revision;
    }
    if (!is_ours)
      p->done(store::Commit{false, commit.revision, std::move(found)});
    else if (++p->rounds > kMostRounds)
      p->done(fail(conflict(p->kind, p->name, "its container keeps changing; try again")));
    else
      again.push_back(std::move(p));
  }
  return again;
}

ElementWriter::Batch ElementWriter::write(Batch batch) const {
  Batch later;
  for (ElementKind kind : {ElementKind::kRole, ElementKind::kRoleBinding}) {
    Groups groups;
    std::set<std::string> touched;
    for (auto& p : batch)
      if (p && p->kind == kind && place(p, groups, touched) == Placed::kLater)
        later.push_back(std::move(p));
    commit_all(groups);
    for (auto& group : groups)
      for (auto& p : settle(*group)) later.push_back(std::move(p));
  }
  return later;
}

}  // namespace cardea::rest::policy
