// The time that it takes to find the changes in a Pod and their owners: an 8 KiB Pod with three
// changes.
#include <chrono>
#include <cstdio>
#include <string>

#include "base/strings.h"
#include "catalog/catalog.h"
#include "json/parse.h"
#include "json/print.h"
#include "schema/ownership/apply.h"
#include "schema/ownership/compare.h"
#include "schema/ownership/managed_fields.h"

namespace {

using namespace cardea;
using json::Value;

Value make_pod() {
  std::string containers;
  for (int c = 0; c < 5; ++c) {
    std::string env, mounts;
    for (int i = 0; i < 14; ++i)
      env += cat(i ? "," : "", R"({"name":"SETTING_)", i, R"(","value":"the value of setting )", i,
                 R"("})");
    for (int i = 0; i < 3; ++i)
      mounts += cat(i ? "," : "", R"({"name":"volume-)", i, R"(","mountPath":"/var/lib/data-)", i,
                    R"(","readOnly":true})");
    containers += cat(
        c ? "," : "", R"({"name":"container-)", c,
        R"(","image":"registry.example/some/application:1.2.)", c,
        R"(","imagePullPolicy":"IfNotPresent","terminationMessagePath":"/dev/termination-log",)",
        R"("terminationMessagePolicy":"File","resources":{"limits":{"cpu":"2","memory":"1Gi"},)",
        R"("requests":{"cpu":"100m","memory":"128Mi"}},"ports":[{"containerPort":)", 8080 + c,
        R"(,"protocol":"TCP","name":"web"},{"containerPort":)", 9090 + c,
        R"(,"protocol":"TCP","name":"metrics"}],"env":[)", env, R"(],"volumeMounts":[)", mounts,
        "]}");
  }
  std::string text = cat(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"pod","namespace":"default",)",
      R"("labels":{"app":"web","tier":"front","release":"stable"},)"
      R"("annotations":{"a":"1","b":"2"},)",
      R"("uid":"0a1b2c3d-0000-1111-2222-333344445555","resourceVersion":"12345"},)"
      R"("spec":{"containers":[)",
      containers,
      R"(],"dnsPolicy":"ClusterFirst","restartPolicy":"Always","nodeSelector":{"disk":"ssd"},)",
      R"("schedulerName":"default-scheduler","securityContext":{},)"
      R"("terminationGracePeriodSeconds":30,)",
      R"("volumes":[{"name":"volume-0","emptyDir":{}},{"name":"volume-1","emptyDir":{}},)",
      R"({"name":"volume-2","emptyDir":{}}]},"status":{"phase":"Pending"}})");
  return *json::parse(text);
}

Value three_changes(Value pod) {
  pod.member("metadata").member("labels").set("release", "canary");
  Value& containers = pod.member("spec").member("containers");
  containers.item(2).set("image", "registry.example/some/application:2.0");
  containers.item(4).member("env").item(3).set("value", "another");
  return pod;
}

template <typename Work>
void measure(const char* what, Work work) {
  int rounds = 0;
  auto start = std::chrono::steady_clock::now();
  double passed = 0;
  while (passed < 0.5) {
    for (int i = 0; i < 100; ++i) work();
    rounds += 100;
    passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  std::printf("%-58s %8.2f us\n", what, passed / rounds * 1e6);
}

}  // namespace

int main() {
  auto catalog = catalog::Catalog::builtin();
  const schema::Schema& pod_schema = *catalog->find("", "v1", "pods")->schema;
  const Value before = make_pod();
  const Value after = three_changes(before);
  const Value apart = *json::parse(json::print(after));
  std::printf("pod of %zu bytes, three changes\n", json::print(before).size());
  measure("compare, nothing shared", [&] { return schema::compare(before, apart, pod_schema); });
  measure("compare, unchanged parts shared",
          [&] { return schema::compare(before, after, pod_schema); });
  measure("all fields of the pod", [&] { return schema::field_set_of(before, pod_schema); });

  schema::UpdateRequest create{"creator", "v1", "", "2026-01-01T00:00:00Z"};
  const Value stored = schema::track_update(nullptr, before, pod_schema, create);
  schema::UpdateRequest update{"updater", "v1", "", "2026-01-01T00:00:01Z"};
  measure("owners after a create",
          [&] { return schema::track_update(nullptr, before, pod_schema, create); });
  measure("owners after an update, nothing shared",
          [&] { return schema::track_update(&stored, apart, pod_schema, update); });
  schema::ApplyRequest request{"applier", true, "v1", "Pod", "", "2026-01-01T00:00:01Z",
                               nullptr,   {}};
  measure("apply of the whole pod",
          [&] { return schema::apply(&stored, apart, pod_schema, request); });
  auto set = schema::field_set_of(before, pod_schema);
  auto other = schema::field_set_of(apart, pod_schema);
  measure("union of two sets", [&] { return set.union_with(other); });
  measure("difference of two sets", [&] { return set.difference(other); });
}
