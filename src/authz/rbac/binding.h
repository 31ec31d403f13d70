#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/trie.h"
#include "json/value.h"

namespace cardea::authz::rbac {

class Binding;

// One subject of a binding. It is stored inside its binding and can find it, so that one
// pointer identifies subject, binding and role.
class Subject {
 public:
  enum class Kind : std::uint8_t { kUser, kGroup, kServiceAccount, kOther };

  Kind kind() const { return kind_; }
  std::string_view kind_name() const;
  std::string_view name() const { return {text(), name_size_}; }
  // Of a service account: where it lives, which is the binding's own namespace unless it says
  // otherwise.
  std::string_view namespace_name() const { return {text() + name_size_, namespace_size_}; }
  const Binding& binding() const;
  std::uint32_t index() const { return index_; }  // among the binding's subjects

  bool is_user(std::string_view user) const;
  bool is_group(std::string_view group) const { return kind_ == Kind::kGroup && name() == group; }
  // The key of this subject; users and service accounts share the names of users.
  std::uint64_t hash() const;
  static std::uint64_t user_hash(std::string_view user);
  static std::uint64_t group_hash(std::string_view group);

  // Asks for the memory of the binding around it.
  void prefetch() const {
    __builtin_prefetch(this);
    __builtin_prefetch(reinterpret_cast<const char*>(this) + 56);
    __builtin_prefetch(reinterpret_cast<const char*>(this) - 40);
  }

 private:
  friend class Binding;
  const char* text() const { return reinterpret_cast<const char*>(this) + text_at_; }

  std::uint32_t index_, text_at_, name_size_;
  std::uint32_t namespace_size_ : 24;
  Kind kind_ : 8;
};

// A RoleBinding or ClusterRoleBinding as decisions read it: one allocation, immutable, shared.
class Binding : public Counted {
 public:
  // Reads a stored object. Comes with one owner, the caller. An empty namespace means a
  // ClusterRoleBinding.
  static Binding* make(std::string_view namespace_name, std::string_view name,
                       const json::Value& object);
  static void drop(const Binding* binding);

  enum class RoleKind : std::uint8_t { kRole, kClusterRole, kOther };

  bool is_cluster_binding() const { return namespace_size_ == 0; }
  std::string_view namespace_name() const { return {text(), namespace_size_}; }
  std::string_view name() const { return {text() + namespace_size_, name_size_}; }
  RoleKind role_kind() const { return role_kind_; }
  std::string_view role_name() const { return {text() + namespace_size_ + name_size_, role_size_}; }
  std::string_view role_kind_name() const {
    return {text() + namespace_size_ + name_size_ + role_size_, role_kind_size_};
  }
  // Of the role it refers to: empty for a ClusterRole.
  std::string_view role_namespace() const {
    return role_kind_ == RoleKind::kRole ? namespace_name() : std::string_view();
  }
  std::uint64_t role_hash() const { return role_hash_; }

  std::uint32_t subject_count() const { return subject_count_; }
  const Subject& subject(std::uint32_t i) const { return subjects()[i]; }

 private:
  Binding() = default;
  const Subject* subjects() const { return reinterpret_cast<const Subject*>(this + 1); }
  const char* text() const { return reinterpret_cast<const char*>(subjects() + subject_count_); }

  std::uint32_t subject_count_;
  std::uint64_t role_hash_;
  std::uint32_t namespace_size_, name_size_, role_size_, role_kind_size_;
  std::uint32_t size_;  // of all of it, in bytes
  RoleKind role_kind_;
};

inline const Binding& Subject::binding() const {
  return *(reinterpret_cast<const Binding*>(this - index_) - 1);
}

}  // namespace cardea::authz::rbac
