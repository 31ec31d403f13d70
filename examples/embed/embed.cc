// A program with the engine inside: who may do what, on which condition, down to single fields.
//
//   embed POLICIES.yaml

#include <cardea/cardea.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

using namespace cardea::v1;

namespace {

Request question(const char* user, const char* verb, const char* resource, const char* name = "") {
  Request r;
  r.user.name = user;
  r.verb = verb;
  r.resource = resource;
  r.namespace_name = "shop";
  r.name = name;
  return r;
}

void show(const char* what, const Decision& d) {
  std::printf("%s: %s", what, name_of(d.outcome()));
  if (!d.reason().empty()) std::printf(", %s", d.reason().c_str());
  if (!d.error().empty()) std::printf(", error: %s", d.error().c_str());
  std::printf("\n");
}

// Two phases: the request first, then the object that it brings.
void ask_and_settle(const Engine& engine) {
  show("jane, get pods", engine.ask(question("jane", "get", "pods")));
  show("jane, delete pods", engine.ask(question("jane", "delete", "pods")));

  Decision claim = engine.ask(question("jane", "create", "persistentvolumeclaims"));
  show("jane, create persistentvolumeclaims", claim);
  for (const Condition& c : claim.conditions())
    std::printf("  %s if %s\n", name_of(c.effect), c.expression.c_str());
  for (const char* storage_class : {"jane-disks", "joe-disks"}) {
    Change change;
    change.object = std::string("{\"apiVersion\": \"v1\", \"kind\": \"PersistentVolumeClaim\",") +
                    "\"metadata\": {\"name\": \"data\", \"namespace\": \"shop\"}," +
                    "\"spec\": {\"storageClassName\": \"" + storage_class + "\"}}";
    show(storage_class, claim.settle(change));
  }
  // Without the object there is no allow.
  show("no object", claim.settle(Change()));
}

std::string deployment(const char* tier, int replicas) {
  return std::string("apiVersion: apps/v1\nkind: Deployment\n") +
         "metadata: {name: web, namespace: shop, labels: {tier: " + tier + "}}\n" +
         "spec:\n  replicas: " + std::to_string(replicas) + "\n" +
         "  selector: {matchLabels: {app: web}}\n" +
         "  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: "
         "i}]}}\n";
}

void judge_fields(const Engine& engine) {
  Request update = question("jane", "update", "deployments", "web");
  update.group = "apps";
  Change change;
  change.old_object = deployment("front", 1);
  for (const std::string& next : {deployment("back", 1), deployment("back", 3)}) {
    change.object = next;
    Result<FieldJudgement> judged = engine.judge_fields(update, change);
    if (!judged) {
      std::printf("cannot be judged: %s\n", judged.error().message.c_str());
      continue;
    }
    std::printf("%s: %s\n", judged->allowed ? "allowed" : "refused", judged->reason.c_str());
  }
}

void reduce_expression() {
  Result<Program> program = Program::compile("user == object.owner || user in admins",
                                             {{"user", "string"}, {"admins"}, {"object"}});
  if (!program) return;
  Result<Residual> rest = program->partially_evaluate(
      {{"user", "\"jane\""}, {"admins", "[\"root\"]"}}, {"object"});
  if (rest) std::printf("left of the expression: %s\n", rest->text().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  std::ifstream in(argc > 1 ? argv[1] : "policies.yaml");
  const std::string policies{std::istreambuf_iterator<char>(in), {}};
  Engine engine;
  Result<std::size_t> loaded = engine.load(policies);
  if (!loaded) {
    std::fprintf(stderr, "%s\n", loaded.error().message.c_str());
    return 1;
  }
  std::printf("%zu documents\n", *loaded);
  ask_and_settle(engine);
  judge_fields(engine);
  reduce_expression();
  return 0;
}
