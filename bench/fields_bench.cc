// What permissions on fields cost: `name value` per line, times in microseconds.
//
//   changed-fields          the changed-field set of an 8 KiB Pod with three changes, nothing
//   shared granular-path           all that is added to the update of an operator who may write its
//   own prefix: nine questions to
//                           RBAC, the comparison, the judgement
//   update, update-granular an update through the whole server but for sockets and disk, with the
//   verb and without comparisons             how many the updates with the verb made
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "authz/fields/field_judge.h"
#include "authz/rbac/rbac_authorizer.h"
#include "base/strings.h"
#include "feeds/role_feed.h"
#include "json/print.h"
#include "rest/testing/test_server.h"
#include "store/testing/memory_store.h"

namespace {

using namespace cardea;
using json::Value;

double now_us() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}
double wall_us() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}

template <typename Work>
double median_us(Work work) {
  std::vector<double> rounds;
  for (int round = 0; round < 15; ++round) {
    double start = now_us();
    for (int i = 0; i < 200; ++i) work();
    rounds.push_back((now_us() - start) / 200);
  }
  std::ranges::sort(rounds);
  return rounds[rounds.size() / 2];
}

// The same Pod that structured-merge-diff is measured with.
std::string pod_text() {
  std::string containers;
  for (int c = 0; c < 8; ++c) {
    std::string env, mounts;
    for (int i = 0; i < 12; ++i)
      env += cat(i ? "," : "", R"({"name":"VARIABLE_)", i, R"(","value":"value-)", c, "-", i,
                 R"("})");
    for (int i = 0; i < 4; ++i)
      mounts += cat(i ? "," : "", R"({"name":"volume-)", i, R"(","mountPath":"/var/lib/data/)", i,
                    R"("})");
    containers += cat(c ? "," : "", R"({"name":"container-)", c,
                      R"(","image":"registry.example.com/team/app:1.2.3","env":[)", env,
                      R"(],"volumeMounts":[)", mounts,
                      R"(],"resources":{"limits":{"cpu":"500m","memory":"128Mi"},)"
                      R"("requests":{"cpu":"100m","memory":"64Mi"}},"ports":[{"containerPort":)",
                      8080 + c, R"(,"protocol":"TCP"}]})");
  }
  return cat(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"n",)"
             R"("labels":{"app":"x","tier":"y"},"annotations":{"a.example.com/k":"v",)"
             R"("b.example.com/k":"v"}},)",
             R"("spec":{"containers":[)", containers, R"(],"nodeName":"node-1"}})");
}

Value parsed(const std::string& text) {
  return *json::parse(text);
}

constexpr std::string_view kRole =
    R"x({"kind": "ClusterRole", "metadata": {"name": "safe"},
        "rules": [{"apiGroups": [""], "resources": ["pods", "configmaps"],
            "verbs": ["get", "granular", "granular:label(super.safe.com)",
              "granular:annotation(super.safe.com)", "granular:finalizer(super.safe.com)"]}]})x";
constexpr std::string_view kBinding =
    R"x({"kind": "ClusterRoleBinding", "metadata": {"name": "safe"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
          "name": "safe"},
        "subjects": [
          {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "operator"}]})x";

void put(store::Store& store, std::string key, std::string_view text) {
  if (!store::commit_sync(store, {{}, {store::Put{std::move(key), std::string(text)}}}))
    std::abort();
}

}  // namespace

int main() {
  auto catalog = catalog::Catalog::builtin();
  const catalog::Resource& pods = *catalog->find("", "v1", "pods");
  const std::string text = pod_text();
  const Value before = parsed(text);
  Value after = parsed(text);
  after.member("metadata").member("labels").set("app", "z");
  Value& containers = after.member("spec").member("containers");
  containers.item(3).set("image", "registry.example.com/team/app:1.2.4");
  containers.item(5).member("env").item(7).set("value", "other");
  const Value apart = parsed(json::print(after));
  schema::IgnoredFields ignored{schema::IgnoredFields::of_server(false),
                                schema::FieldSet::of({{"f:status"}})};
  std::printf("pod-bytes %zu\n", text.size());
  std::printf("changed-fields %.2f\n", median_us([&] {
                return schema::ChangedFields(before, apart, *pods.schema, ignored).leaves().size();
              }));

  SystemClock clock;
  auto store = store::make_memory_store(clock);
  put(*store, "/registry/clusterroles/safe", kRole);
  put(*store, "/registry/clusterrolebindings/safe", kBinding);
  auto policy = feeds::RoleFeed::start(*store).value();
  authz::Chain chain({authz::masters_authorizer(),
                      std::make_shared<authz::rbac::RbacAuthorizer>(policy->snapshot())});
  authz::User user{.name = "operator", .groups = {"system:authenticated"}};
  authz::Attributes a(user);
  a.is_resource_request = true;
  a.api_version = "v1";
  a.resource = "pods";
  a.namespace_name = "n";
  a.name = "p";
  Value safe = parsed(text);
  safe.member("metadata").member("labels").set("super.safe.com/b", "2");
  safe.member("metadata").member("annotations").set("super.safe.com/n", "1");
  safe.member("metadata").set("finalizers", Value::array({"super.safe.com/g"}));
  const schema::ExcludedVerbs none;
  std::size_t asked = 0;
  double path = median_us([&] {
    asked = 2;
    for (std::string_view verb : {"update", "granular"}) {
      a.verb = verb;
      (void)chain.decide(a);
    }
    schema::ChangedFields changes(before, safe, *pods.schema, ignored);
    schema::Demands demands = schema::demands_of(changes, *pods.permissions, none);
    authz::fields::Answers answers;
    authz::fields::FieldJudge judge(demands, authz::fields::Marker::kGranular, answers);
    while (const std::string* verb = judge.next()) {
      a.verb = *verb;
      judge.answer(chain.decide(a)->decision.allowed());
      ++asked;
    }
    if (judge.refusal()) std::abort();
  });
  std::printf("granular-checks %zu\ngranular-path %.2f\n", asked, path);

  rest::TestServer server({}, {std::make_shared<authz::rbac::RbacAuthorizer>(policy->snapshot())});
  server.send("POST", "/api/v1/namespaces",
              R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}})");
  server.send("POST", "/api/v1/namespaces/n/configmaps",
              R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},"data":{"a":"1"}})");
  rest::Loopback operator_api(server.gateway(), server.loop(), user, "bench");
  int counter = 0;
  auto update_us = [&](const rest::Loopback& api) {
    std::vector<double> rounds;
    for (int i = 0; i < 400; ++i) {
      std::string n = std::to_string(++counter);
      Value body = Value::object(
          {{"metadata",
            Value::object({{"labels", Value::object({{"super.safe.com/b", n}})},
                           {"annotations", Value::object({{"super.safe.com/n", n}})}})}});
      double start = wall_us();
      if (api.send_and_wait("PATCH", "/api/v1/namespaces/n/configmaps/m", body,
                            "application/merge-patch+json")
              .status != 200)
        std::abort();
      rounds.push_back(wall_us() - start);
    }
    std::ranges::sort(rounds);
    return rounds[rounds.size() / 2];
  };
  std::printf("update %.2f\n", update_us(server.api()));
  std::printf(
      "comparisons %llu\n",
      static_cast<unsigned long long>(
          server.metrics().registry().counter({"cardea_field_comparisons_total", ""}).value()));
  std::printf("update-granular %.2f\n", update_us(operator_api));
}
