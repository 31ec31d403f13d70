// The graph of the Node authorizer with 150,000 pods on 5,000 nodes: a question, and one pod that
// comes and goes.
#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "authz/node/node_authorizer.h"
#include "base/random.h"
#include "base/strings.h"
#include "json/parse.h"

namespace {

using namespace cardea;
using namespace cardea::authz::node;

constexpr int kPods = 150'000, kNodes = 5'000, kNamespaces = 1'000;

// Every pod has its own account, secret and claim, and shares two more objects with its namespace.
Placement placement(int i) {
  std::string in = cat("namespace-", i % kNamespaces), own = cat("pod-", i);
  json::Value pod = *json::parse(
      cat(R"({"metadata":{"name":")", own, R"(","namespace":")", in,
          R"("},"spec":{"nodeName":"node-)", i % kNodes, R"(","serviceAccountName":")", own,
          R"(","volumes":[{"secret":{"secretName":")", own,
          R"("}},{"secret":{"secretName":"shared"}},{"configMap":{"name":"kube-root-ca.crt"}},)"
          R"({"persistentVolumeClaim":{"claimName":")",
          own, R"("}}]}})"));
  return placement_of_pod(pod);
}

double nanoseconds(std::chrono::steady_clock::time_point from, int times) {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - from).count() /
         times;
}

}  // namespace

int main() {
  SystemRandom random;
  Graph graph(random);
  std::vector<Placement> all;
  for (int i = 0; i < kPods; ++i) all.push_back(placement(i));
  std::size_t before = mallinfo2().uordblks;
  auto start = std::chrono::steady_clock::now();
  Graph::Changes fill;
  for (const Placement& p : all) fill.placements.push_back({{}, p});
  graph.change(fill);
  std::printf("filling with %d pods: %.0f ms, %.0f MiB\n", kPods, nanoseconds(start, 1) / 1e6,
              static_cast<double>(mallinfo2().uordblks - before) / (1 << 20));

  NodeAuthorizer authorizer(graph);
  int allowed = 0, asked = 1'000'000;
  std::vector<authz::User> users;
  for (int n = 0; n < kNodes; ++n)
    users.push_back(
        {.name = cat("system:node:node-", n), .groups = {"system:nodes", "system:authenticated"}});
  std::vector<std::pair<std::string, std::string>> secrets;
  for (int i = 0; i < kPods; ++i)
    secrets.emplace_back(cat("namespace-", i % kNamespaces), cat("pod-", i));
  start = std::chrono::steady_clock::now();
  for (int k = 0; k < asked; ++k) {
    int i = static_cast<int>(static_cast<std::uint64_t>(k) * 7919 % kPods);
    authz::Attributes a(users[i % kNodes]);
    a.is_resource_request = true;
    a.verb = "get";
    a.resource = "secrets";
    a.namespace_name = secrets[i].first;
    a.name = secrets[i].second;
    allowed += authorizer.authorize(a)->allowed();
  }
  std::printf("one decision that allows: %.0f ns (%d of %d allowed)\n", nanoseconds(start, asked),
              allowed, asked);

  int changes = 20'000;
  start = std::chrono::steady_clock::now();
  for (int k = 0; k < changes; ++k) {
    int i = k * 7;
    graph.change(all[i], {});
    graph.change({}, all[i]);
  }
  std::printf("one pod added or removed: %.1f us\n", nanoseconds(start, 2 * changes) / 1000);
}
