#include "authz/access/index.h"

#include <algorithm>
#include <map>
#include <utility>

#include "authz/rbac/hash.h"

namespace cardea::authz::access {
namespace {

constexpr std::uint64_t kAnySubject = 0x2545f4914f6cdd1d;
// A policy that lists more combinations than this is found by fewer parts.
constexpr std::size_t kMostKeys = 256;
// A subject with no more policies than this keeps them together, which saves a search by each form.
constexpr std::size_t kFew = 4;

std::uint64_t mixed(std::uint64_t key, std::uint64_t part, std::uint64_t place) {
  return rbac::folded_product(key ^ (part + place), 0x9e3779b97f4a7c15);
}

const std::vector<std::string> kAny = {""};
const std::vector<std::string>& values(const std::optional<std::vector<std::string>>& part,
                                       bool counts) {
  return part && counts ? *part : kAny;
}

// Whether a policy would be found by the whole key of a request of its subject.
bool reaches(const Policy& policy, const Attributes& a) {
  auto has = [](const std::optional<std::vector<std::string>>& part, std::string_view value) {
    return !part || std::ranges::find(*part, value) != part->end();
  };
  const Policy::Reach& reach = policy.reach();
  const bool is_denial_of_names = policy.effect() == Policy::Effect::kDeny && a.name.empty();
  return has(reach.resources, a.resource) && has(reach.namespaces, a.namespace_name) &&
         (is_denial_of_names || has(reach.names, a.name));
}

}  // namespace

std::uint64_t Index::hash(std::string_view part) {
  return rbac::hash_name(part);
}
std::uint64_t Index::any_subject() {
  return kAnySubject;
}
std::uint64_t Index::subject_key(char kind, std::string_view name) {
  return rbac::hash_name(name, static_cast<std::uint64_t>(kind));
}

std::uint64_t Index::key_of(std::uint64_t subject, std::uint8_t form, std::uint64_t resource,
                            std::uint64_t space, std::uint64_t name) {
  std::uint64_t key = mixed(subject, form, 1);
  if (form & kResource) key = mixed(key, resource, 2);
  if (form & kNamespace) key = mixed(key, space, 3);
  if (form & kName) key = mixed(key, name, 4);
  return key;
}

template <typename Wanted>
void Index::look(const Attributes& a, Found& out, Wanted wanted) const {
  auto take = [&](const Policy* p) {
    if (wanted(*p) && p->selects(a) && std::ranges::find(out, p) == out.end()) out.push_back(p);
  };
  auto look_for = [&](std::uint64_t subject) {
    const Bucket* all = bucket_at(subjects_, subject);
    if (!all) return;
    if (!all->is_crowded) {
      for (const PolicyPtr& p : all->policies)
        if (reaches(*p, a)) take(p.get());
      return;
    }
    const std::uint64_t resource = hash(a.resource), space = hash(a.namespace_name),
                        name = hash(a.name);
    for (std::uint8_t form = 0; form < kForms; ++form) {
      if (all->forms[form] == 0) continue;
      const Bucket* bucket = bucket_at(buckets_, key_of(subject, form, resource, space, name));
      if (!bucket) continue;
      for (const PolicyPtr& p : bucket->policies) take(p.get());
    }
  };
  look_for(any_subject());
  look_for(subject_key('u', a.user.name));
  for (const std::string& g : a.user.groups) look_for(subject_key('g', g));
}

void Index::find(const Attributes& attributes, Found& out) const {
  look(attributes, out, [](const Policy&) { return true; });
}

void Index::find_denials(const Attributes& attributes, bool by_word, Found& out) const {
  look(attributes, out, [&](const Policy& p) {
    return p.effect() == Policy::Effect::kDeny && (!by_word || p.says_verb(attributes));
  });
}

Index::Bucket& Index::edit(Buckets& buckets, std::uint64_t key) {
  auto is_key = [key](const Bucket* b) { return b->key == key; };
  Bucket** place = buckets.edit(key, is_key);
  if (!place) {
    auto* made = new Bucket(key);
    buckets.insert(made);
    BucketTraits::release(made);  // the table keeps it
    return *made;
  }
  if (!(*place)->is_unique()) {
    auto* copy = new Bucket(**place);
    BucketTraits::release(std::exchange(*place, copy));
  }
  return **place;
}

void Index::erase(Buckets& buckets, std::uint64_t key) {
  buckets.erase(key, [key](const Bucket* b) { return b->key == key; });
}

void Index::for_each(const std::function<bool(const Policy&)>& wanted,
                     const std::function<void(const Policy&)>& visit) const {
  std::map<std::pair<std::string_view, std::string_view>, const Policy*> found;
  buckets_.for_each([&](const Bucket* bucket) {
    for (const PolicyPtr& p : bucket->policies)
      if (wanted(*p))
        found.emplace(std::pair(std::string_view(p->namespace_name()), std::string_view(p->name())),
                      p.get());
  });
  for (const auto& [name, policy] : found) visit(*policy);
}

void Index::for_each_about(const User& user, std::string_view namespace_name,
                           const std::function<void(const Policy&)>& visit) const {
  auto reaches = [&](const Policy& p) {
    if (p.namespace_name().empty() || p.namespace_name() == namespace_name) return true;
    return namespace_name.empty() && p.effect() != Policy::Effect::kAllow;
  };
  for_each([&](const Policy& p) { return reaches(p) && p.concerns(user); }, visit);
}

void Index::for_each_selecting(const Attributes& attributes,
                               const std::function<void(const Policy&)>& visit) const {
  for_each([&](const Policy& p) { return p.selects_for_some(attributes); }, visit);
}

void Index::change_few(Bucket& subject, const PolicyPtr& policy, bool is_there) {
  if (subject.is_crowded) return;
  if (!is_there)
    std::erase(subject.policies, policy);
  else if (std::ranges::find(subject.policies, policy) == subject.policies.end())
    subject.policies.push_back(policy);
  if (subject.policies.size() <= kFew) return;
  subject.policies.clear();
  subject.is_crowded = true;
}

void Index::change(const PolicyPtr& policy, bool is_there) {
  Policy::Reach reach = policy->reach();
  const bool denies = policy->effect() == Policy::Effect::kDeny;
  // A request without a name reaches what is denied by name.
  if (denies && reach.names && std::ranges::find(*reach.names, "") == reach.names->end())
    reach.names->emplace_back();
  std::uint8_t form = (reach.resources ? kResource : 0) | (reach.namespaces ? kNamespace : 0) |
                      (reach.names ? kName : 0);
  auto size = [](const std::optional<std::vector<std::string>>& part) {
    return part ? part->size() : 1;
  };
  std::size_t keys = size(reach.subjects) * size(reach.resources) * size(reach.namespaces) *
                     size(reach.names);
  if (keys > kMostKeys && (form & kName)) {
    form &= ~kName;
    keys /= std::max<std::size_t>(1, reach.names->size());
  }
  if (keys > kMostKeys && (form & kResource)) {
    form &= ~kResource;
    keys /= std::max<std::size_t>(1, reach.resources->size());
  }
  if (keys > kMostKeys) form &= ~kNamespace;

  auto put = [&](std::uint64_t subject) {
    for (const std::string& resource : values(reach.resources, form & kResource))
      for (const std::string& space : values(reach.namespaces, form & kNamespace))
        for (const std::string& name : values(reach.names, form & kName)) {
          std::uint64_t key = key_of(subject, form, hash(resource), hash(space), hash(name));
          Bucket& bucket = edit(buckets_, key);
          if (is_there)
            bucket.policies.push_back(policy);
          else
            std::erase(bucket.policies, policy);
          if (bucket.policies.empty()) erase(buckets_, key);
          Bucket& all = edit(subjects_, subject);
          all.forms[form] += is_there ? 1 : -1;
          change_few(all, policy, is_there);
          if (std::ranges::all_of(all.forms, [](std::uint32_t n) { return n == 0; }))
            erase(subjects_, subject);
        }
  };
  if (!reach.subjects)
    put(kAnySubject);
  else
    for (const std::string& s : *reach.subjects)
      put(subject_key(s[0], std::string_view(s).substr(2)));
  size_ += is_there ? 1 : -1;
  if (denies) denials_ += is_there ? 1 : -1;
}

}  // namespace cardea::authz::access
