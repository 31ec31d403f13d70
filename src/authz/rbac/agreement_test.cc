// Compares the index with a second implementation, written from the description of RBAC: it keeps
// objects in lists and searches them from the beginning for every request.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "authz/rbac/rbac_authorizer.h"
#include "authz/testing/random_worlds.h"
#include "base/strings.h"
#include "json/print.h"

namespace cardea::authz::rbac {
namespace {

using json::Value;

// Decides from the objects as they are written. Shares no code with the index.
class NaiveEvaluator {
 public:
  explicit NaiveEvaluator(const std::vector<Value>& objects) {
    for (const Value& o : objects) {
      std::string_view kind = o["kind"].as_string();
      (kind == "Role"          ? roles_
       : kind == "ClusterRole" ? cluster_roles_
       : kind == "RoleBinding" ? bindings_
                               : cluster_bindings_)
          .push_back(&o);
    }
    auto by_name = [](const Value* a, const Value* b) {
      return (*a)["metadata"]["name"].as_string() < (*b)["metadata"]["name"].as_string();
    };
    std::ranges::sort(bindings_, by_name);
    std::ranges::sort(cluster_bindings_, by_name);
  }

  struct Answer {
    bool allowed = false;
    std::string reason;
  };

  Answer decide(const RandomRequest& r) const {
    std::vector<std::string> errors;
    for (const Value* b : cluster_bindings_)
      if (auto answer = try_binding(*b, "", r, errors)) return *answer;
    if (!r.namespace_name.empty())
      for (const Value* b : bindings_)
        if ((*b)["metadata"]["namespace"].as_string() == r.namespace_name)
          if (auto answer = try_binding(*b, r.namespace_name, r, errors)) return *answer;
    if (errors.empty()) return {};
    std::string all = errors[0];
    for (std::size_t i = 1; i < errors.size(); ++i) all += ", " + errors[i];
    return {false, "RBAC: " + (errors.size() > 1 ? "[" + all + "]" : all)};
  }

 private:
  static bool contains(const Value& list, std::string_view text) {
    for (const Value& item : list.items())
      if (item.as_string() == text) return true;
    return false;
  }

  static bool applies(const Value& s, std::string_view binding_namespace, const User& user) {
    std::string_view kind = s["kind"].as_string(), name = s["name"].as_string();
    if (kind == "User") return user.name == name;
    if (kind == "Group") return std::ranges::find(user.groups, name) != user.groups.end();
    if (kind != "ServiceAccount") return false;
    std::string where(s["namespace"].as_string().empty() ? binding_namespace
                                                         : s["namespace"].as_string());
    return !where.empty() &&
           user.name == "system:serviceaccount:" + where + ":" + std::string(name);
  }

  static bool matches(const Value& rule, const RandomRequest& r) {
    if (!contains(rule["verbs"], "*") && !contains(rule["verbs"], r.verb)) return false;
    if (!r.is_resource_request) {
      for (const Value& u : rule["nonResourceURLs"].items()) {
        std::string url(u.as_string());
        if (url == "*" || url == r.path) return true;
        if (url.empty() || url.back() != '*') continue;
        url.erase(url.find_last_not_of('*') + 1);
        if (r.path.compare(0, url.size(), url) == 0) return true;
      }
      return false;
    }
    if (!contains(rule["apiGroups"], "*") && !contains(rule["apiGroups"], r.api_group))
      return false;
    std::string combined = r.subresource.empty() ? r.resource : r.resource + "/" + r.subresource;
    bool resource = contains(rule["resources"], "*") || contains(rule["resources"], combined) ||
                    (!r.subresource.empty() && contains(rule["resources"], "*/" + r.subresource));
    return resource && (rule["resourceNames"].empty() || contains(rule["resourceNames"], r.name));
  }

  std::optional<Answer> try_binding(const Value& b, std::string_view where, const RandomRequest& r,
                                    std::vector<std::string>& errors) const {
    const Value* subject = nullptr;
    for (const Value& s : b["subjects"].items())
      if (applies(s, where, r.user)) {
        subject = &s;
        break;
      }
    if (!subject) return std::nullopt;
    std::string kind(b["roleRef"]["kind"].as_string()), name(b["roleRef"]["name"].as_string());
    const Value* role = nullptr;
    std::string error;
    if (kind == "Role") {
      for (const Value* o : roles_)
        if ((*o)["metadata"]["namespace"].as_string() == where &&
            (*o)["metadata"]["name"].as_string() == name)
          role = o;
      if (!role) error = "role.rbac.authorization.k8s.io " + cardea::quoted(name) + " not found";
    } else if (kind == "ClusterRole") {
      for (const Value* o : cluster_roles_)
        if ((*o)["metadata"]["name"].as_string() == name) role = o;
      if (!role)
        error = "clusterrole.rbac.authorization.k8s.io " + cardea::quoted(name) + " not found";
    } else {
      error = "unsupported role reference kind: " + cardea::quoted(kind);
    }
    if (!role) {
      if (std::ranges::find(errors, error) == errors.end()) errors.push_back(error);
      return std::nullopt;
    }
    for (const Value& rule : (*role)["rules"].items())
      if (matches(rule, r)) return Answer{true, reason(b, where, kind, name, *subject)};
    return std::nullopt;
  }

  static std::string reason(const Value& b, std::string_view where, const std::string& kind,
                            const std::string& role, const Value& s) {
    std::string binding(b["metadata"]["name"].as_string()), who(s["name"].as_string());
    if (s["kind"].as_string() == "ServiceAccount")
      who += "/" +
             std::string(s["namespace"].as_string().empty() ? where : s["namespace"].as_string());
    std::string text = where.empty()
                           ? "ClusterRoleBinding " + cardea::quoted(binding)
                           : "RoleBinding " + cardea::quoted(binding + "/" + std::string(where));
    return "RBAC: allowed by " + text + " of " + kind + " " + cardea::quoted(role) + " to " +
           std::string(s["kind"].as_string()) + " " + cardea::quoted(who);
  }

  std::vector<const Value*> roles_, cluster_roles_, bindings_, cluster_bindings_;
};

std::string shown(const RandomRequest& r) {
  return cat(r.user.name, " [", join(r.user.groups, " "), "] ", r.verb, " ", r.api_group, " ",
             r.resource, "/", r.subresource, " ", r.name, " in ", r.namespace_name, " ", r.path);
}

void expect_agreement(const std::shared_ptr<const RoleTable>& policy, const NaiveEvaluator& naive,
                      const RandomRequest& r, int* allowed = nullptr) {
  Decision decision = decide(policy, r.attributes());
  if (allowed) *allowed += decision.allowed();
  NaiveEvaluator::Answer expected = naive.decide(r);
  ASSERT_EQ(decision.allowed(), expected.allowed) << shown(r);
  ASSERT_EQ(decision.reason.text(), expected.reason) << shown(r);
  ASSERT_EQ(decision.error, "");
  ASSERT_NE(decision.kind, Decision::Kind::kDeny);
}

TEST(RbacAgreement, DecidesAMillionRandomRequestsLikeANaiveEvaluator) {
  constexpr int kRequests = 250;
  const char* more = std::getenv("CARDEA_RBAC_WORLDS");
  int worlds = more ? std::atoi(more) : 4'000;
  int allowed = 0;
  for (int seed = 0; seed < worlds; ++seed) {
    RandomWorld world(static_cast<std::uint64_t>(seed));
    auto policy = std::make_shared<RoleTable>();
    world.fill(*policy);
    NaiveEvaluator naive(world.objects());
    std::shared_ptr<const RoleTable> shared = policy;
    for (int i = 0; i < kRequests; ++i) {
      RandomRequest r = world.request();
      ASSERT_NO_FATAL_FAILURE(expect_agreement(shared, naive, r, &allowed)) << "seed " << seed;
    }
  }
  // Worlds in which nothing or everything is allowed would prove little.
  EXPECT_GT(allowed, worlds * kRequests / 100);
  EXPECT_LT(allowed, worlds * kRequests / 2);
}

// The same after objects were added, removed and changed, while old states are still in use.
TEST(RbacAgreement, HoldsWhileThePolicyChanges) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomWorld world(seed), other(seed + 1'000);
    std::mt19937_64 random(seed);
    std::vector<Value> present;
    RoleTable next;
    std::vector<std::pair<std::shared_ptr<const RoleTable>, std::vector<Value>>> states;
    for (const auto& source : {world.objects(), other.objects()})
      for (const Value& o : source) {
        auto same = std::ranges::find_if(present, [&](const Value& p) {
          return p["kind"] == o["kind"] && p["metadata"] == o["metadata"];
        });
        if (same != present.end()) {
          remove_object(next, *same);
          present.erase(same);
        }
        add_object(next, o);
        present.push_back(o);
        if (random() % 4 == 0) {
          std::size_t gone = random() % present.size();
          remove_object(next, present[gone]);
          present.erase(present.begin() + static_cast<std::ptrdiff_t>(gone));
        }
        if (random() % 3 == 0)
          states.emplace_back(std::make_shared<const RoleTable>(next), present);
      }
    for (const auto& [policy, objects] : states) {
      NaiveEvaluator naive(objects);
      for (int i = 0; i < 20; ++i)
        ASSERT_NO_FATAL_FAILURE(expect_agreement(policy, naive, world.request()))
            << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace cardea::authz::rbac
