// How fast decisions by namespace policy are: one `name value` per line, nanoseconds unless it says
// otherwise.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "allocations.h"
#include "authz/namespace_policy/policy_authorizer.h"
#include "base/clock.h"
#include "base/strings.h"
#include "feeds/catalog_kinds.h"
#include "json/parse.h"
#include "store/testing/memory_store.h"

namespace {

using namespace cardea;
using namespace cardea::authz;
using namespace cardea::authz::namespace_policy;
using json::Value;

constexpr int kBindingsEach = 10;  // in a namespace

constexpr std::string_view kMasterRoles = R"({"roles":{
  "view":{"rules":[{"verbs":["watch","list","get"],
    "resourceKinds":["*","-roles","-rolebindings","-policybindings","-policies"]}]},
  "edit":{"rules":[{"verbs":["*"],"resourceKinds":["*","-roles","-rolebindings","-policybindings",
    "-policies","-resourceaccessreview"]}]},
  "admin":{"rules":[{"verbs":["*","-create","-update","-delete"],"resourceKinds":["*"]},
                    {"verbs":["create","update","delete"],"resourceKinds":["*","-policies",
                      "-policybindings"]}]},
  "cluster-admin":{"rules":[{"verbs":["*"],"resourceKinds":["*"]}]}}})";

Value bindings_of(int space) {
  constexpr std::string_view kRoles[] = {"view", "edit", "admin", "view", "edit",
                                         "view", "view", "edit",  "view", "edit"};
  Value bindings = Value::object();
  for (int i = 0; i < kBindingsEach; ++i) {
    std::string name = cat("b-", i);
    Value role = Value::object({{"namespace", "master"}, {"name", kRoles[i]}});
    bindings.set(
        name, Value::object(
                  {{"metadata", Value::object({{"name", name}})},
                   {"roleRef", role},
                   {"userNames", Value::array({Value(cat("user-", space * kBindingsEach + i))})}}));
  }
  return Value::object({{"roleBindings", bindings}});
}

std::shared_ptr<const Index> filled(int namespaces) {
  auto index = std::make_shared<Index>();
  index->change_policy("master", {}, json::parse(kMasterRoles).value());
  Value admins = json::parse(
                     R"({"roleBindings": {
                "admins": {"roleRef": {"namespace": "master", "name": "cluster-admin"},
                  "groupNames": ["cluster-admins"]}}})")
                     .value();
  index->change_bindings("master", "master", {}, admins);
  for (int n = 0; n < namespaces; ++n)
    index->change_bindings(cat("ns-", n), "master", {}, bindings_of(n));
  return index;
}

struct Question {
  User user;
  std::string namespace_name;
  Attributes attributes() const {
    Attributes a(user);
    a.is_resource_request = true;
    a.verb = "get";
    a.api_version = "v1";
    a.namespace_name = namespace_name;
    a.resource = "pods";
    a.name = "p";
    return a;
  }
};

std::vector<Question> questions(int namespaces, int distinct, int count) {
  std::mt19937 random(7);
  int bindings = namespaces * kBindingsEach;
  std::vector<int> users(static_cast<std::size_t>(distinct));
  for (int& u : users) u = static_cast<int>(random() % static_cast<unsigned>(bindings));
  std::vector<Question> out;
  for (int i = 0; i < count; ++i) {
    int u = users[random() % users.size()];
    out.push_back(
        {{.name = cat("user-", u), .groups = {"system:authenticated", "team-a", "team-b"}},
         cat("ns-", u / kBindingsEach)});
  }
  return out;
}

// A server has just read the request it decides about.
void touch(const Question& q) {
  unsigned sum = static_cast<unsigned char>(q.user.name.back()) +
                 static_cast<unsigned char>(q.namespace_name.back());
  for (const std::string& g : q.user.groups) sum += static_cast<unsigned char>(g.back());
  asm volatile("" : : "r"(sum));
}

// The median of decisions, each on its own, less what the clock costs.
double measure(const std::shared_ptr<const Index>& index, const Surroundings& around,
               const std::vector<Question>& asked) {
  std::vector<std::int64_t> times;
  times.reserve(asked.size());
  std::int64_t clock_cost = 1'000;
  for (int i = 0; i < 10'000; ++i) {
    std::int64_t start = now_ns();
    clock_cost = std::min(clock_cost, now_ns() - start);
  }
  for (const Question& q : asked) {
    touch(q);
    Attributes a = q.attributes();
    std::int64_t start = now_ns();
    Decision d = decide(index, a, around);
    times.push_back(now_ns() - start - clock_cost);
    if (!d.allowed()) std::abort();
  }
  std::ranges::sort(times);
  return static_cast<double>(times[times.size() / 2]);
}

void say(const char* name, double value) {
  std::printf("%s %.3f\n", name, value);
  std::fflush(stdout);
}

}  // namespace

int main() {
  Snapshot<catalog::Catalog> catalog(catalog::Catalog::builtin());
  feeds::CatalogKinds kinds(catalog);
  Surroundings around{.kinds = &kinds};
  auto small = filled(10);
  measure(small, around, questions(10, 100, 20'000));
  double few = measure(small, around, questions(10, 100, 200'000));
  auto large = filled(10'000);
  say("policy_random_users_100000", measure(large, around, questions(10'000, 100'000, 200'000)));
  double same = measure(large, around, questions(10'000, 100, 200'000));
  say("policy_same_users_100", few);
  say("policy_same_users_100000", same);
  say("policy_same_users_ratio", same / few);
  std::vector<Question> asked = questions(10'000, 1000, 10'000);
  long before = allocations.load();
  for (const Question& q : asked)
    if (!decide(large, q.attributes(), around).allowed()) std::abort();
  say("policy_allocations_per_decision",
      static_cast<double>(allocations.load() - before) / static_cast<double>(asked.size()));
  std::int64_t start = now_ns();
  Value was = bindings_of(77), is = was;
  is.member("roleBindings")
      .set("more",
           json::parse(
               R"({"roleRef":{"namespace":"master","name":"view"},"userNames":["somebody"]})")
               .value());
  constexpr int kWrites = 1000;
  for (int i = 0; i < kWrites; ++i) {
    auto next = std::make_shared<Index>(*large);
    next->change_bindings("ns-77", "master", i % 2 ? is : was, i % 2 ? was : is);
    large = std::move(next);
  }
  say("policy_write_us", static_cast<double>(now_ns() - start) / kWrites / 1000);
}
