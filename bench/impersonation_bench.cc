// What it costs to be served as somebody else, in process and granted by RBAC: reading and removing
// the headers, all questions to a chain with metrics, the resulting user.
//
//   impersonation_bench      figures, one `name value` per line: nanoseconds and allocations per
//   request

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "allocations.h"
#include "authz/rbac/rbac_authorizer.h"
#include "base/strings.h"
#include "impersonation/headers.h"
#include "impersonation/impersonation.h"

namespace {

using namespace cardea;
using authz::User;
using authz::rbac::RoleTable;
using json::Value;

constexpr int kBindings = 10'000;
constexpr int kRounds = 41, kPerRound = 20'000;

class Fixed : public authz::Authorizer {
 public:
  explicit Fixed(std::shared_ptr<const RoleTable> policy) : policy_(std::move(policy)) {}
  std::string_view name() const override { return "rbac"; }
  std::optional<authz::Decision> authorize(const authz::Attributes& a) const override {
    return authz::rbac::decide(policy_, a);
  }

 private:
  std::shared_ptr<const RoleTable> policy_;
};

void bind(RoleTable& policy, const std::string& role, const std::string& user) {
  constexpr std::string_view kGroup = "rbac.authorization.k8s.io";
  Value subject = Value::object({{"kind", "User"}, {"apiGroup", kGroup}, {"name", user}});
  policy.add_binding(
      "", cat(role, "-", user),
      Value::object(
          {{"roleRef",
            Value::object({{"apiGroup", kGroup}, {"kind", "ClusterRole"}, {"name", role}})},
           {"subjects", Value::array({subject})}}));
}

std::shared_ptr<const RoleTable> make_policy() {
  auto policy = std::make_shared<RoleTable>();
  const std::vector<std::string> authentication{"authentication.k8s.io"};
  policy->set_role("", "viewer", {{{"get", "list"}, {""}, {"pods"}, {}, {}}});
  policy->set_role("", "deputy",
                   {{{"impersonate:user-info"},
                     authentication,
                     {"users", "groups", "uids", "userextras/*"},
                     {},
                     {}},
                    {{"impersonate-on:user-info:get"}, {""}, {"pods"}, {}, {}},
                    {{"impersonate:arbitrary-node", "impersonate:associated-node"},
                     authentication,
                     {"nodes"},
                     {},
                     {}},
                    {{"impersonate-on:associated-node:get"}, {""}, {"pods"}, {}, {}}});
  policy->set_role("", "legacy", {{{"impersonate"}, {""}, {"users", "groups"}, {}, {}}});
  for (int i = 0; i < kBindings; ++i) bind(*policy, "viewer", cat("user-", i));
  bind(*policy, "deputy", "bob");
  bind(*policy, "deputy", "system:serviceaccount:ns:agent");
  bind(*policy, "legacy", "old");
  return policy;
}

const http::Headers kPlain{{"Host", "cardea.example:6443"},
                           {"User-Agent", "kubectl/v1.36.0 (linux/amd64) kubernetes/0000000"},
                           {"Accept", "application/json"},
                           {"Accept-Encoding", "gzip"},
                           {"Kubectl-Command", "kubectl get"},
                           {"Connection", "keep-alive"}};

http::Headers with(std::initializer_list<http::Header> more) {
  http::Headers out = kPlain;
  for (const http::Header& h : more) out.add(h.name, h.value);
  return out;
}

struct Bench {
  std::shared_ptr<const authz::Chain> chain;
  impersonation::Impersonator impersonator;
  authz::RequestInfo info = *authz::parse_request_info("GET", "/api/v1/namespaces/default/pods/web",
                                                       "");

  // One request. The headers are a copy in memory that is there already, as a session's are.
  void serve(const User& sender, http::Headers& headers) const {
    auto asked = impersonation::requested_user(headers);
    if (!asked) std::abort();
    if (!*asked) return;
    impersonation::remove_headers(headers);
    impersonation::Attempt attempt(sender, std::move(**asked), info);
    if (!impersonator.advance(*chain, attempt, authz::Asking::kConditionsAware)) std::abort();
    auto user = impersonator.outcome(attempt);
    if (!user) std::abort();
  }

  void measure(const char* name, const User& sender, const http::Headers& headers) const {
    std::vector<double> times;
    long allocated = 0;
    std::vector<http::Headers> copies(kPerRound);
    for (int round = 0; round < kRounds; ++round) {
      for (http::Headers& copy : copies) copy = headers;
      long before = allocations.load();
      std::int64_t start = now_ns();
      for (http::Headers& copy : copies) serve(sender, copy);
      times.push_back(static_cast<double>(now_ns() - start) / kPerRound);
      allocated = allocations.load() - before;
    }
    std::ranges::sort(times);
    std::printf("%s_ns %.1f\n%s_allocations %.2f\n", name, times[times.size() / 2], name,
                static_cast<double>(allocated) / kPerRound);
    std::fflush(stdout);
  }
};

}  // namespace

int main() {
  MetricRegistry metrics;
  std::vector<std::shared_ptr<const authz::Authorizer>> list{
      authz::masters_authorizer(), std::make_shared<Fixed>(make_policy())};
  Bench bench{std::make_shared<authz::Chain>(std::move(list), &metrics),
              impersonation::Impersonator(impersonation::Attempt::Rules::kConstrained, &metrics)};
  User bob{.name = "bob", .groups = {"team-a", "team-b", "system:authenticated"}};
  User old{.name = "old", .groups = {"team-a", "team-b", "system:authenticated"}};
  User agent{
      .name = "system:serviceaccount:ns:agent",
      .groups = {"system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"},
      .extra = {{"authentication.kubernetes.io/node-name", {"n1"}},
                {"authentication.kubernetes.io/pod-name", {"p"}}}};
  bench.measure("nobody", bob, kPlain);
  bench.measure("user", bob, with({{"Impersonate-User", "jane"}}));
  bench.measure("user_3_groups", bob,
                with({{"Impersonate-User", "jane"},
                      {"Impersonate-Group", "a"},
                      {"Impersonate-Group", "b"},
                      {"Impersonate-Group", "c"}}));
  bench.measure("own_node", agent, with({{"Impersonate-User", "system:node:n1"}}));
  bench.measure("legacy", old, with({{"Impersonate-User", "jane"}}));
}
