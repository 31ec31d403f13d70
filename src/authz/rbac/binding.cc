#include "authz/rbac/binding.h"

#include <cstring>
#include <new>

#include "authz/rbac/hash.h"
#include "authz/rbac/rule.h"
#include "base/huge_pages.h"
#include "base/strings.h"

namespace cardea::authz::rbac {
namespace {

constexpr std::string_view kAccountPrefix = "system:serviceaccount:";

Subject::Kind subject_kind(std::string_view name) {
  if (name == "User") return Subject::Kind::kUser;
  if (name == "Group") return Subject::Kind::kGroup;
  if (name == "ServiceAccount") return Subject::Kind::kServiceAccount;
  return Subject::Kind::kOther;
}

}  // namespace

std::string_view Subject::kind_name() const {
  constexpr std::string_view kNames[] = {"User", "Group", "ServiceAccount", ""};
  return kNames[static_cast<int>(kind_)];
}

bool Subject::is_user(std::string_view user) const {
  if (kind_ == Kind::kUser) return name() == user;
  if (kind_ != Kind::kServiceAccount) return false;
  std::string_view where = namespace_name();
  if (where.empty() || user.size() != kAccountPrefix.size() + where.size() + 1 + name_size_)
    return false;
  return user.starts_with(kAccountPrefix) &&
         user.substr(kAccountPrefix.size(), where.size()) == where &&
         user[kAccountPrefix.size() + where.size()] == ':' && user.ends_with(name());
}

std::uint64_t Subject::user_hash(std::string_view user) {
  return hash_name(user);
}
std::uint64_t Subject::group_hash(std::string_view group) {
  return hash_name(group, 1);
}

std::uint64_t Subject::hash() const {
  if (kind_ == Kind::kGroup) return group_hash(name());
  if (kind_ == Kind::kUser) return user_hash(name());
  return user_hash(cat(kAccountPrefix, namespace_name(), ":", name()));
}

Binding* Binding::make(std::string_view namespace_name, std::string_view name,
                       const json::Value& object) {
  const json::Value& role = object["roleRef"];
  const json::Value& list = object["subjects"];
  std::string_view role_name = role["name"].as_string(), role_kind = role["kind"].as_string();
  auto where = [&](const json::Value& s) {
    std::string_view own = s["namespace"].as_string();
    return s["kind"].as_string() != "ServiceAccount" ? std::string_view()
           : own.empty()                             ? namespace_name
                                                     : own;
  };
  std::size_t size = sizeof(Binding) + list.size() * sizeof(Subject) + namespace_name.size() +
                     name.size() + role_name.size() + role_kind.size();
  for (const json::Value& s : list.items()) size += s["name"].as_string().size() + where(s).size();
  Binding* b = new (take_memory(size)) Binding();
  b->size_ = static_cast<std::uint32_t>(size);
  b->subject_count_ = static_cast<std::uint32_t>(list.size());
  b->namespace_size_ = static_cast<std::uint32_t>(namespace_name.size());
  b->name_size_ = static_cast<std::uint32_t>(name.size());
  b->role_size_ = static_cast<std::uint32_t>(role_name.size());
  b->role_kind_size_ = static_cast<std::uint32_t>(role_kind.size());
  b->role_kind_ = role_kind == "Role"          ? RoleKind::kRole
                  : role_kind == "ClusterRole" ? RoleKind::kClusterRole
                                               : RoleKind::kOther;
  b->role_hash_ = Role::hash(b->role_kind_ == RoleKind::kRole ? namespace_name : std::string_view(),
                             role_name);
  char* text = const_cast<char*>(b->text());
  auto put = [&text](std::string_view part) {
    if (!part.empty()) std::memcpy(text, part.data(), part.size());
    text += part.size();
  };
  for (std::string_view part : {namespace_name, name, role_name, role_kind}) put(part);
  for (std::uint32_t i = 0; i < b->subject_count_; ++i) {
    const json::Value& s = list[static_cast<std::size_t>(i)];
    Subject* subject = new (const_cast<Subject*>(b->subjects() + i)) Subject();
    subject->index_ = i;
    subject->text_at_ = static_cast<std::uint32_t>(text - reinterpret_cast<char*>(subject));
    subject->kind_ = subject_kind(s["kind"].as_string());
    subject->name_size_ = static_cast<std::uint32_t>(s["name"].as_string().size());
    subject->namespace_size_ = static_cast<std::uint32_t>(where(s).size()) & 0xffffff;
    put(s["name"].as_string());
    put(where(s));
  }
  return b;
}

void Binding::drop(const Binding* binding) {
  if (!binding->release()) return;
  const std::size_t size = binding->size_;
  binding->~Binding();
  give_memory(const_cast<Binding*>(binding), size);
}

}  // namespace cardea::authz::rbac
