#include "cel/environments.h"

namespace cardea::cel {
namespace {

void add_user_info(Environment& env) {
  env.record("kubernetes.UserInfo", {{"username", "string"},
                                     {"uid", "string"},
                                     {"groups", "list(string)"},
                                     {"extra", "map(string, list(string))"}});
}

void add_authorizer(Environment& env) {
  env.variable("authorizer", "kubernetes.authorization.Authorizer");
  env.variable("authorizer.requestResource", "kubernetes.authorization.ResourceCheck");
}

}  // namespace

Environment extended_environment() {
  Environment env;
  for (const Library library :
       {Library::kStandard, Library::kOptional, Library::kBindings, Library::kEncoders,
        Library::kMath, Library::kStrings, Library::kSets, Library::kLists, Library::kTwoVariables})
    env.library(library);
  return env;
}

Environment kubernetes_environment(int minor) {
  struct Row {
    Library library;
    int since;
    int version;
  };
  static constexpr Row kRows[] = {
      {Library::kStandard, 0, 100},       {Library::kK8sUrls, 0, 100},
      {Library::kK8sRegex, 0, 100},       {Library::kK8sLists, 0, 0},
      {Library::kK8sAuthorizer, 27, 100}, {Library::kOptional, 28, 100},
      {Library::kK8sQuantity, 28, 100},   {Library::kStrings, 0, 0},
      {Library::kStrings, 29, 2},         {Library::kSets, 29, 100},
      {Library::kK8sIp, 30, 100},         {Library::kK8sCidr, 30, 100},
      {Library::kK8sFormat, 31, 100},     {Library::kK8sSelectors, 31, 100},
      {Library::kTwoVariables, 32, 100},  {Library::kK8sSemver, 33, 1},
      {Library::kLists, 34, 3},           {Library::kK8sLists, 37, 1}};
  Environment env;
  for (const Row& row : kRows)
    if (row.since <= minor) env.library(row.library, row.version);
  env.homogeneous = true;
  env.lenient = true;
  env.cross_type_numbers = minor >= 28;
  env.validate_literals = minor >= 29;
  env.kubernetes_costs();
  return env;
}

Environment admission_environment(bool params, bool authorizer) {
  Environment env = kubernetes_environment();
  add_user_info(env);
  env.record("kubernetes.GroupVersionKind",
             {{"group", "string"}, {"version", "string"}, {"kind", "string"}});
  env.record("kubernetes.GroupVersionResource",
             {{"group", "string"}, {"version", "string"}, {"resource", "string"}});
  env.record("kubernetes.AdmissionRequest",
             {{"kind", ".kubernetes.GroupVersionKind"},
              {"resource", ".kubernetes.GroupVersionResource"},
              {"subResource", "string"},
              {"requestKind", ".kubernetes.GroupVersionKind"},
              {"requestResource", ".kubernetes.GroupVersionResource"},
              {"requestSubResource", "string"},
              {"name", "string"},
              {"namespace", "string"},
              {"operation", "string"},
              {"userInfo", ".kubernetes.UserInfo"},
              {"dryRun", "bool"},
              {"options", "dyn"}});
  env.record("kubernetes.NamespaceMetadata", {{"name", "string"},
                                              {"generateName", "string"},
                                              {"namespace", "string"},
                                              {"labels", "map(string, string)"},
                                              {"annotations", "map(string, string)"},
                                              {"UID", "string"},
                                              {"creationTimestamp", "timestamp"},
                                              {"deletionGracePeriodSeconds", "int"},
                                              {"deletionTimestamp", "timestamp"},
                                              {"generation", "int"},
                                              {"resourceVersion", "string"},
                                              {"finalizers", "list(string)"}});
  env.record("kubernetes.NamespaceSpec", {{"finalizers", "list(string)"}});
  env.record("kubernetes.NamespaceCondition", {{"status", "string"},
                                               {"type", "string"},
                                               {"lastTransitionTime", "timestamp"},
                                               {"message", "string"},
                                               {"reason", "string"}});
  env.record("kubernetes.NamespaceStatus",
             {{"conditions", "list(.kubernetes.NamespaceCondition)"}, {"phase", "string"}});
  env.record("kubernetes.Namespace", {{"metadata", ".kubernetes.NamespaceMetadata"},
                                      {"spec", ".kubernetes.NamespaceSpec"},
                                      {"status", ".kubernetes.NamespaceStatus"}});
  env.variable("object", "dyn")
      .variable("oldObject", "dyn")
      .variable("request", ".kubernetes.AdmissionRequest");
  env.variable("namespaceObject", ".kubernetes.Namespace");
  if (params) env.variable("params", "dyn");
  if (authorizer) add_authorizer(env);
  return env;
}

Environment mutation_environment(bool params) {
  Environment env = admission_environment(params);
  env.library(Library::kK8sJsonPatch);
  env.record("JSONPatch",
             {{"op", "string"}, {"path", "string"}, {"from", "string"}, {"value", "dyn"}});
  env.open_structs = "Object";
  env.kubernetes_costs();
  return env;
}

Environment device_environment() {
  Environment env = kubernetes_environment();
  env.library(Library::kBindings, 0);
  env.record("kubernetes.DRADevice", {{"driver", "string"},
                                      {"attributes", "map(string, map(string, dyn))"},
                                      {"capacity", "map(string, map(string, kubernetes.Quantity))"},
                                      {"allowMultipleAllocations", "bool"}});
  env.variable("device", ".kubernetes.DRADevice");
  return env;
}

Environment claims_environment() {
  Environment env = kubernetes_environment();
  env.library(Library::kEncoders);  // not in Kubernetes' own environment; KEP-3331 requires it
  Type any;
  any.name = "any";
  env.variable("claims", env.types().map(env.types().simple(Type::kString), env.types().make(any)));
  return env;
}

Environment user_environment() {
  Environment env = kubernetes_environment();
  env.library(Library::kEncoders);
  add_user_info(env);
  env.variable("user", ".kubernetes.UserInfo");
  return env;
}

Environment access_review_environment() {
  Environment env = kubernetes_environment();
  env.record("kubernetes.FieldSelectorRequirement",
             {{"key", "string"}, {"operator", "string"}, {"values", "list(string)"}});
  env.record(
      "kubernetes.SelectorAttributes",
      {{"rawSelector", "string"}, {"requirements", "list(.kubernetes.FieldSelectorRequirement)"}});
  env.record("kubernetes.ResourceAttributes",
             {{"namespace", "string"},
              {"verb", "string"},
              {"group", "string"},
              {"version", "string"},
              {"resource", "string"},
              {"subresource", "string"},
              {"name", "string"},
              {"fieldSelector", ".kubernetes.SelectorAttributes"},
              {"labelSelector", ".kubernetes.SelectorAttributes"}});
  env.record("kubernetes.NonResourceAttributes", {{"path", "string"}, {"verb", "string"}});
  env.record("kubernetes.AuthorizationOptions", {{"handledDecisionTypes", "list(string)"}});
  env.record("kubernetes.ConditionalAuthorization", {{"mode", "string"}});
  env.record("kubernetes.SubjectAccessReviewSpec",
             {{"resourceAttributes", ".kubernetes.ResourceAttributes"},
              {"nonResourceAttributes", ".kubernetes.NonResourceAttributes"},
              {"user", "string"},
              {"groups", "list(string)"},
              {"extra", "map(string, list(string))"},
              {"uid", "string"},
              {"authorizationOptions", ".kubernetes.AuthorizationOptions"},
              {"conditionalAuthorization", ".kubernetes.ConditionalAuthorization"}});
  env.variable("request", ".kubernetes.SubjectAccessReviewSpec");
  return env;
}

}  // namespace cardea::cel
