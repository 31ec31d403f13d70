#include "advice/field_question.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "advice/known_resources.h"
#include "base/strings.h"
#include "json/parse.h"

namespace cardea::advice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const KnownResources& builtins() {
  static const KnownResources kKnown;
  return kKnown;
}

std::string parsed(std::string_view resource, std::string_view field) {
  auto path = parse_field(*builtins().find(resource)->schema, field);
  return path ? schema::field_text(*path) : cat("error: ", path.error().message);
}

FieldQuestion question(std::string_view resource, std::string_view field,
                       std::string_view verb = "patch",
                       const std::vector<std::string>& excluded = {},
                       std::string_view subresource = "") {
  schema::ExcludedVerbs verbs;
  for (const std::string& v : excluded) verbs.add(v);
  auto q = ask_about_field(*builtins().find(resource), subresource, verb, field, verbs);
  if (q) return *q;
  return {.field = cat("error: ", q.error().message), .chain = {}, .excluded = {}, .unnamed = {}};
}

struct Asked {
  FieldAnswer answer;
  std::vector<std::string> verbs;
};

Asked judged(const FieldQuestion& q, const std::map<std::string, VerbAnswer>& held) {
  Asked out;
  auto answer = judge_field(q, "patch", [&](const std::string& verb) -> Result<VerbAnswer> {
    out.verbs.push_back(verb);
    auto at = held.find(verb);
    return at == held.end() ? VerbAnswer::kNo : at->second;
  });
  EXPECT_TRUE(answer);
  out.answer = *answer;
  return out;
}

TEST(FieldQuestion, AskForTheValueOnWhichAPermissionDepends) {
  KnownResources known;
  known.set_permission_maps({*json::parse(
      R"({"metadata":{"name":"pods"},"spec":{"resource":"pods","permissions":[)"
      R"({"field":"spec.hostNetwork","verb":"example.com/hostNetwork","parameter":"self"}]}})")});
  schema::ExcludedVerbs host;
  host.add("granular:example.com/hostNetwork(true)");
  auto ask = [&](std::string_view field) {
    return ask_about_field(*known.find("pods"), "", "patch", field, host);
  };
  auto open = ask("spec.hostNetwork=true"), shut = ask("spec.hostNetwork=false"),
       unknown = ask("spec.hostNetwork"), other = ask("spec.nodeName");
  ASSERT_TRUE(open && shut && other);
  EXPECT_THAT(open->excluded, ElementsAre("granular:example.com/hostNetwork(true)"));
  EXPECT_THAT(shut->excluded, IsEmpty());
  EXPECT_EQ(shut->chain.back(), "granular:example.com/hostNetwork(false)");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("spec.hostNetwork=VALUE"));
}

TEST(FieldQuestion, ReadsPathsAsPeopleWriteThem) {
  EXPECT_EQ(parsed("deployments", "spec.replicas"), "spec.replicas");
  EXPECT_EQ(parsed("deployments", ".spec.replicas"), "spec.replicas");
  EXPECT_EQ(parsed("deployments", "metadata.labels.app"), "metadata.labels.app");
  EXPECT_EQ(parsed("deployments", "metadata.labels.example.com/team"),
            "metadata.labels.example.com/team");
  EXPECT_EQ(parsed("deployments", R"(metadata.labels["example.com/team"])"),
            "metadata.labels.example.com/team");
  EXPECT_EQ(parsed("deployments", "metadata.labels['a.b']"), "metadata.labels.a.b");
  EXPECT_EQ(parsed("deployments", "metadata.finalizers[example.com/f]"),
            R"(metadata.finalizers["example.com/f"])");
  EXPECT_EQ(parsed("deployments", "status.conditions[Ready].status"),
            R"(status.conditions[type="Ready"].status)");
  EXPECT_EQ(parsed("deployments", R"(status.conditions[type="Ready"])"),
            R"(status.conditions[type="Ready"])");
  EXPECT_EQ(parsed("deployments", "spec.template.spec.containers[app].image"),
            R"(spec.template.spec.containers[name="app"].image)");
  EXPECT_EQ(parsed("services", "spec.ports[port=80,protocol=TCP].name"),
            R"(spec.ports[port=80,protocol="TCP"].name)");
  EXPECT_EQ(parsed("deployments", "spec.template.spec.containers[app].args[3]"),
            R"(spec.template.spec.containers[name="app"].args)");
}

TEST(FieldQuestion, SaysWhatIsWrongWithAPath) {
  EXPECT_EQ(parsed("deployments", "spec.replica"), "error: there is no field `replica` in `spec`");
  EXPECT_EQ(parsed("deployments", "specs"), "error: there is no field `specs` in the object");
  EXPECT_EQ(parsed("deployments", "spec.replicas.x"),
            "error: there is no field `x` in `spec.replicas`");
  EXPECT_THAT(parsed("deployments", ""), HasSubstr("a field is required"));
  EXPECT_THAT(parsed("deployments", "spec."), HasSubstr("ends with a dot"));
  EXPECT_THAT(parsed("deployments", "metadata.finalizers[a"), HasSubstr("lacks a `]`"));
  EXPECT_THAT(parsed("deployments", "status.conditions[kind=x]"), HasSubstr("named by type"));
  EXPECT_THAT(question("deployments", "metadata.uid").field, HasSubstr("the server writes it"));
  EXPECT_THAT(question("deployments", "metadata.name").field,
              HasSubstr("cannot be changed by patch"));
  EXPECT_THAT(question("deployments", "status.replicas").field,
              HasSubstr("through `deployments/status`"));
  EXPECT_THAT(question("deployments", "spec.replicas", "delete").field,
              HasSubstr("changes no fields"));
}

TEST(FieldQuestion, KnowsTheVerbsFromGeneralToSpecific) {
  EXPECT_THAT(question("deployments", "metadata.labels.app").chain,
              ElementsAre("granular:metadata", "granular:labels", "granular:label(app)"));
  EXPECT_THAT(question("deployments", "metadata.name", "create").chain,
              ElementsAre("granular:metadata", "granular:identity"));
  EXPECT_THAT(
      question("deployments", "status.conditions[Ready].status", "patch", {}, "status").chain,
      ElementsAre("granular:status", "granular:conditions", "granular:condition(Ready)"));
  EXPECT_THAT(question("deployments", "spec.replicas", "patch", {}, "scale").chain,
              ElementsAre("granular:specification", "granular:replicaCount"));
  EXPECT_THAT(question("pods", "spec.nodeName", "patch", {"granular:nodeAssignment"}).excluded,
              ElementsAre("granular:nodeAssignment"));
  EXPECT_THAT(question("storageclasses", "reclaimPolicy").chain, IsEmpty());
}

TEST(FieldQuestion, AScaleTakesAPermissionOfItsOwnAndWhatIsExcludedOnTheObject) {
  EXPECT_THAT(question("deployments", "spec.replicas", "patch", {"granular:specification"}, "scale")
                  .excluded,
              ElementsAre("granular:specification"));
  FieldQuestion q{.field = "spec.replicas",
                  .chain = {"granular:specification", "granular:replicaCount"},
                  .excluded = {"granular:example.com/size"},
                  .unnamed = {}};
  Asked half = judged(
      q, {{"granular", VerbAnswer::kYes}, {"granular:example.com/size", VerbAnswer::kYes}});
  EXPECT_EQ(half.answer.answer, VerbAnswer::kNo);
  EXPECT_THAT(half.answer.lacking, ElementsAre("granular:replicaCount"));
  Asked all = judged(q, {{"granular", VerbAnswer::kYes},
                         {"granular:example.com/size", VerbAnswer::kYes},
                         {"granular:replicaCount", VerbAnswer::kYes}});
  EXPECT_EQ(all.answer.answer, VerbAnswer::kYes);
}

TEST(FieldQuestion, AsksAsTheServerDoesAndNothingTwice) {
  FieldQuestion q = question("deployments", "metadata.labels.app");
  Asked all = judged(q, {{"patch", VerbAnswer::kYes}});
  EXPECT_EQ(all.answer.answer, VerbAnswer::kYes);
  EXPECT_THAT(all.answer.covered_by, ElementsAre("patch"));
  EXPECT_THAT(all.verbs, ElementsAre("patch"));

  Asked some = judged(q, {{"granular", VerbAnswer::kYes}, {"granular:labels", VerbAnswer::kYes}});
  EXPECT_EQ(some.answer.answer, VerbAnswer::kYes);
  EXPECT_THAT(some.answer.covered_by, ElementsAre("granular:labels"));
  EXPECT_THAT(some.verbs, ElementsAre("patch", "granular", "granular:metadata", "granular:labels"));

  Asked perhaps = judged(
      q, {{"granular", VerbAnswer::kYes}, {"granular:label(app)", VerbAnswer::kIf}});
  EXPECT_EQ(perhaps.answer.answer, VerbAnswer::kIf);
}

TEST(FieldQuestion, NamesWhatWouldCoverAndTheSmallestGrant) {
  FieldQuestion q = question("deployments", "metadata.labels.app");
  Asked none = judged(q, {});
  EXPECT_EQ(none.answer.answer, VerbAnswer::kNo);
  EXPECT_THAT(none.answer.would_cover,
              ElementsAre("patch", "granular:metadata", "granular:labels", "granular:label(app)"));
  EXPECT_THAT(none.answer.lacking, ElementsAre("granular", "granular:label(app)"));
  EXPECT_THAT(judged(q, {{"granular", VerbAnswer::kYes}}).answer.lacking,
              ElementsAre("granular:label(app)"));
  EXPECT_THAT(judged(q, {{"granular:labels", VerbAnswer::kYes}}).answer.lacking,
              ElementsAre("granular"));
  EXPECT_THAT(judged(question("storageclasses", "reclaimPolicy"), {{"granular", VerbAnswer::kYes}})
                  .answer.lacking,
              ElementsAre("patch"));
  // A denial of the verb is final.
  EXPECT_EQ(judged(q, {{"patch", VerbAnswer::kDenied},
                       {"granular", VerbAnswer::kYes},
                       {"granular:labels", VerbAnswer::kYes}})
                .answer.answer,
            VerbAnswer::kDenied);
}

TEST(FieldQuestion, AnExcludedPermissionIsNeededByItsName) {
  FieldQuestion q = question("pods", "spec.nodeName", "patch", {"granular:nodeAssignment"});
  Asked verb = judged(q, {{"patch", VerbAnswer::kYes}});
  EXPECT_EQ(verb.answer.answer, VerbAnswer::kNo);
  EXPECT_THAT(verb.answer.lacking, ElementsAre("granular:nodeAssignment"));
  EXPECT_EQ(judged(q, {{"patch", VerbAnswer::kYes}, {"granular:nodeAssignment", VerbAnswer::kYes}})
                .answer.answer,
            VerbAnswer::kYes);
  EXPECT_EQ(
      judged(q, {{"granular", VerbAnswer::kYes}, {"granular:specification", VerbAnswer::kYes}})
          .answer.answer,
      VerbAnswer::kNo);
}

TEST(FieldQuestion, AnErrorIsNeverAnAllow) {
  auto answer = judge_field(
      question("deployments", "metadata.labels.app"), "patch",
      [](const std::string&) -> Result<VerbAnswer> { return fail(internal_error("gone")); });
  EXPECT_FALSE(answer);
}

}  // namespace
}  // namespace cardea::advice
