// How fast and how large the RBAC index is.
//
//   rbac_bench                      figures, one `name value` per line
//   rbac_bench fill DIRECTORY N     writes a store with N RoleBindings, for measuring a start
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>
#include <utility>

#include "allocations.h"
#include "authz/rbac/rbac_authorizer.h"
#include "base/clock.h"
#include "base/strings.h"
#include "feeds/role_feed.h"
#include "store/sqlite/sqlite_store.h"
#include "store/testing/memory_store.h"

namespace {

using namespace cardea;
using namespace cardea::authz;
using namespace cardea::authz::rbac;
using json::Value;

constexpr int kNamespaces = 10'000;

double resident_mib() {
  ::malloc_trim(0);
  long pages = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (!file || std::fscanf(file, "%ld %ld", &pages, &resident) != 2) std::abort();
  std::fclose(file);
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

std::vector<PolicyRule> viewer() {
  return {{{"get", "list", "watch"}, {""}, {"pods", "pods/log", "services", "configmaps"}, {}, {}},
          {{"get", "list", "watch", "create", "update", "patch", "delete"},
           {"apps"},
           {"deployments", "statefulsets"},
           {},
           {}}};
}

Value binding_object(int i) {
  Value subject = Value::object(
      {{"kind", "User"}, {"apiGroup", kGroup}, {"name", cat("user-", i)}});
  return Value::object(
      {{"roleRef",
        Value::object({{"apiGroup", kGroup}, {"kind", "ClusterRole"}, {"name", "viewer"}})},
       {"subjects", Value::array({subject})}});
}

std::string binding_text(int i) {
  return cat(
      R"({"kind":"RoleBinding","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"b-)",
      i, R"(","namespace":"ns-)", i % kNamespaces,
      R"(","uid":"6e9d6a3c-7c4f-4d52-9d5e-0123456789ab",)"
      R"("creationTimestamp":"2026-01-01T00:00:00Z"},)"
      R"("roleRef":{"apiGroup":"rbac.authorization.k8s.io",)"
      R"("kind":"ClusterRole","name":"viewer"},"subjects":[)"
      R"({"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"user-)",
      i, R"("}]})");
}
constexpr std::string_view kViewerText =
    R"({"kind": "ClusterRole",
        "rules": [{"verbs": ["get", "list", "watch"], "apiGroups": [""],
            "resources": ["pods", "pods/log", "services", "configmaps"]}]})";

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

Question question(int i) {
  return {{.name = cat("user-", i), .groups = {"system:authenticated", "team-a", "team-b"}},
          cat("ns-", i % kNamespaces)};
}

std::vector<Question> questions(int bindings, int distinct, int count) {
  std::mt19937 random(7);
  std::vector<int> users(static_cast<std::size_t>(distinct));
  for (int& u : users) u = static_cast<int>(random() % static_cast<unsigned>(bindings));
  std::vector<Question> out;
  for (int i = 0; i < count; ++i) out.push_back(question(users[random() % users.size()]));
  return out;
}

struct Times {
  double median, p99;
};

// A server has just read the request it decides about.
void touch(const Question& q) {
  unsigned sum = 0;
  for (const std::string& g : q.user.groups) sum += static_cast<unsigned char>(g.back());
  sum += static_cast<unsigned char>(q.user.name.back()) +
         static_cast<unsigned char>(q.namespace_name.back());
  asm volatile("" : : "r"(sum));
}

// Each decision on its own, less what the clock costs.
Times measure(const std::shared_ptr<const RoleTable>& policy,
              const std::vector<Question>& questions, bool allowed) {
  std::vector<std::int64_t> times;
  times.reserve(questions.size());
  std::int64_t clock_cost = 1'000;
  for (int i = 0; i < 10'000; ++i) {
    std::int64_t start = now_ns();
    clock_cost = std::min(clock_cost, now_ns() - start);
  }
  for (const Question& q : questions) {
    touch(q);
    Attributes a = q.attributes();
    std::int64_t start = now_ns();
    Decision d = decide(policy, a);
    times.push_back(now_ns() - start - clock_cost);
    if (d.allowed() != allowed) std::abort();
  }
  std::ranges::sort(times);
  return {static_cast<double>(times[times.size() / 2]),
          static_cast<double>(times[times.size() * 99 / 100])};
}

// Many decisions in a row: throughput.
double measure_mean(const std::shared_ptr<const RoleTable>& policy, const Question& q,
                    int count = 200'000) {
  Attributes a = q.attributes();
  std::int64_t start = now_ns();
  for (int i = 0; i < count; ++i) {
    Decision d = decide(policy, a);
    if (d.kind == Decision::Kind::kDeny) std::abort();
  }
  return static_cast<double>(now_ns() - start) / count;
}

void say(const std::string& name, double value) {
  std::printf("%s %.3f\n", name.c_str(), value);
  std::fflush(stdout);
}

void measure_namespaced() {
  for (int n : {10, 10'000, 1'000'000}) {
    double before = resident_mib();
    auto policy = std::make_shared<RoleTable>();
    policy->set_role("", "viewer", viewer());
    for (int i = 0; i < n; ++i)
      policy->add_binding(cat("ns-", i % kNamespaces), cat("b-", i), binding_object(i));
    double size = resident_mib() - before;
    std::shared_ptr<const RoleTable> shared = policy;
    auto all = questions(n, std::min(n, 200'000), 400'000);
    auto few = questions(n, std::min(n, 100), 400'000);
    measure(shared, few, true);
    long counted = allocations.load();
    Times random = measure(shared, all, true);
    long allocated = allocations.load() - counted - 1;  // one for the list of times
    Times repeated = measure(shared, few, true);
    std::vector<Question> strangers = all;
    for (Question& q : strangers) q.user.name = "nobody";
    Times refused = measure(shared, strangers, false);
    say(cat("random_median_", n), random.median);
    say(cat("random_p99_", n), random.p99);
    say(cat("repeated_median_", n), repeated.median);
    say(cat("refused_median_", n), refused.median);
    say(cat("refused_p99_", n), refused.p99);
    say(cat("allocations_", n), static_cast<double>(allocated));
    say(cat("allow_mean_", n), measure_mean(shared, question(7)));
    if (n < 1'000'000) continue;
    say("memory_mib_1000000", size);
    // The next state, published while the last one is still read.
    Snapshot<RoleTable> published(shared);
    std::vector<std::int64_t> times;
    for (int i = n; i < n + 1'000; ++i) {
      Value object = binding_object(i);
      Question q = question(i);
      std::int64_t start = now_ns();
      policy->add_binding(cat("ns-", i % kNamespaces), cat("b-", i), object);
      published.set(std::make_shared<const RoleTable>(*policy));
      bool seen = decide(published.get(), q.attributes()).allowed();
      times.push_back(now_ns() - start);
      if (!seen) std::abort();
    }
    std::ranges::sort(times);
    say("add_median_us_1000000", static_cast<double>(times[times.size() / 2]) / 1e3);
    say("add_worst_us_1000000", static_cast<double>(times.back()) / 1e3);
  }
}

// As `BenchmarkRBACCluster` and `BenchmarkRBACOneNamespace` of the peer do.
void measure_like_the_peer() {
  for (int n : {10, 100, 10'000, 100'000}) {
    auto policy = std::make_shared<RoleTable>();
    policy->set_role("", "viewer", viewer());
    for (int i = 0; i < n; ++i) policy->add_binding("", cat("b-", i), binding_object(i));
    say(cat("cluster_allow_mean_", n), measure_mean(policy, question(7)));
    Question stranger = question(7);
    stranger.user.name = "nobody";
    say(cat("cluster_refuse_mean_", n), measure_mean(policy, stranger));
  }
  for (int n : {100, 4'000}) {
    auto policy = std::make_shared<RoleTable>();
    policy->set_role("", "viewer", viewer());
    for (int i = 0; i < n; ++i) policy->add_binding("team", cat("b-", i), binding_object(i));
    Question stranger{{.name = "nobody", .groups = {"system:authenticated", "team-a", "team-b"}},
                      "team"};
    say(cat("one_namespace_refuse_mean_", n), measure_mean(policy, stranger));
  }
}

void fill(store::Store& store, int n) {
  store::Txn txn{{}, {store::Put{"/registry/clusterroles/viewer", std::string(kViewerText)}}};
  for (int i = 0; i < n; ++i) {
    txn.ops.push_back(
        store::Put{cat("/registry/rolebindings/ns-", i % kNamespaces, "/b-", i), binding_text(i)});
    if (txn.ops.size() < 1'000 && i + 1 < n) continue;
    if (!store::commit_sync(store, std::exchange(txn, {}))) std::abort();
  }
}

void measure_store() {
  SystemClock clock;
  std::unique_ptr<store::Store> store = store::make_memory_store(clock);
  fill(*store, 100'000);
  std::int64_t start = now_ns();
  auto index = feeds::RoleFeed::start(*store);
  if (!index) std::abort();
  say("load_ms_100000", static_cast<double>(now_ns() - start) / 1e6);
  std::vector<std::int64_t> times;
  for (int i = 100'000; i < 101'000; ++i) {
    store::Txn txn{{},
                   {store::Put{cat("/registry/rolebindings/ns-", i % kNamespaces, "/b-", i),
                               binding_text(i)}}};
    Question q = question(i);
    start = now_ns();
    if (!store::commit_sync(*store, std::move(txn))) std::abort();
    bool seen = decide((*index)->current(), q.attributes()).allowed();
    times.push_back(now_ns() - start);
    if (!seen) std::abort();
  }
  std::ranges::sort(times);
  say("write_to_visible_median_us_100000", static_cast<double>(times[times.size() / 2]) / 1e3);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "fill") {
    auto store = store::open_sqlite_store({.directory = argv[2]});
    if (!store) {
      std::fprintf(stderr, "rbac_bench: %s\n", store.error().message.c_str());
      return 1;
    }
    fill(**store, std::atoi(argv[3]));
    return 0;
  }
  measure_namespaced();
  measure_like_the_peer();
  measure_store();
  return 0;
}
