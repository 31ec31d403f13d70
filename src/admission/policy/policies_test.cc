#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admission/plugins.h"
#include "admission/policy/admission_policy_feed.h"
#include "authz/authorizer.h"
#include "authz/current_chain.h"
#include "base/clock.h"
#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"
#include "store/testing/memory_store.h"

namespace cardea::admission {
namespace {

using json::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Answers later, like an authorizer that asks a webhook.
class SlowAuthorizer : public authz::Authorizer {
 public:
  std::string_view name() const override { return "slow"; }
  std::optional<authz::Decision> authorize(const authz::Attributes&) const override {
    return std::nullopt;
  }
  Task<authz::Decision> authorize_waiting(authz::Attributes attributes) const override {
    authz::Decision decision = attributes.verb == "open" ? authz::Decision::allow()
                                                         : authz::Decision::deny("shut");
    co_return decision;
  }
};

class Policies : public ::testing::Test {
 protected:
  void put(const std::string& key, std::string_view text) {
    ASSERT_TRUE(store::commit_sync(
        *store_, {{}, {store::Put{"/registry/" + key, json::print(json::parse(text).value())}}}));
  }
  void validate(std::string_view rest,
                std::string_view binding = R"x("validationActions":["Deny"])x") {
    put("validatingadmissionpolicies/p",
        cat(R"x({"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],)x"
            R"x("apiVersions":["v1"],"operations":["*"],"resources":["configmaps"]}]},)x",
            rest, "}}"));
    put("validatingadmissionpolicybindings/b",
        cat(R"x({"spec":{"policyName":"p",)x", binding, "}}"));
  }
  void mutate(std::string_view rest) {
    put("mutatingadmissionpolicies/p",
        cat(R"x({"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],)x"
            R"x("apiVersions":["v1"],"operations":["*"],"resources":["configmaps"]}]},)x",
            rest, "}}"));
    put("mutatingadmissionpolicybindings/b", R"x({"spec":{"policyName":"p"}})x");
  }

  // The reason why a ConfigMap is refused; empty if it is accepted.
  std::string admit(std::string_view data) {
    Review review{
        .operation = Operation::kCreate,
        .catalog = *catalog_,
        .resource = *catalog_->find("", "v1", "configmaps"),
        .namespace_name = "ns",
        .name = "c",
        .user = user_,
        .object =
            json::parse(
                cat(R"x({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":)x",
                    data, "}"))
                .value()};
    Result<void> done;
    if (mutating_->handles(review))
      spawn(mutating_->mutate(review), [&](Result<void> r) { done = std::move(r); });
    if (done && validating_->handles(review))
      spawn(validating_->validate(review), [&](Result<void> r) { done = std::move(r); });
    warnings_ = review.warnings;
    object_ = review.object;
    return done ? "" : done.error().message;
  }

  SystemClock clock_;
  authz::User user_{.name = "jane"};
  std::unique_ptr<store::Store> store_ = store::make_memory_store(clock_);
  std::shared_ptr<const catalog::Catalog> catalog_ = catalog::Catalog::builtin();
  authz::CurrentChain chain_{std::make_shared<const authz::Chain>(
      std::vector<std::shared_ptr<const authz::Authorizer>>{std::make_shared<SlowAuthorizer>()})};
  std::unique_ptr<Plugin> validating_ = std::move(
      validating_admission_policy(Objects(*store_), chain_).value());
  std::unique_ptr<Plugin> mutating_ = std::move(
      mutating_admission_policy(Objects(*store_), chain_).value());
  std::vector<std::string> warnings_;
  Value object_;
};

TEST_F(Policies, DenyWithTheMessageTheyMake) {
  validate(R"x("variables":[{"name":"n","expression":"size(object.data)"}],)x"
           R"x("validations":[{"expression":"variables.n < 2",)x"
           R"x("messageExpression":"'too many: ' + string(variables.n)"}])x");
  EXPECT_EQ(admit(R"x({"a":"1"})x"), "");
  EXPECT_EQ(admit(R"x({"a":"1","b":"2"})x"),
            "configmaps \"c\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied "
            "request: too many: 2");
}

TEST_F(Policies, AnErrorIsNeverAnAllow) {
  validate(R"x("validations":[{"expression":"object.nosuch.field == 1"}])x");
  EXPECT_THAT(admit("{}"), HasSubstr("resulted in error: no such key: nosuch"));
  validate(R"x("validations":[{"expression":"this does not compile"}])x");
  EXPECT_THAT(admit("{}"), HasSubstr("compilation"));
  validate(R"x("paramKind":{"apiVersion":"example.com/v1","kind":"Gone"},)x"
           R"x("validations":[{"expression":"true"}])x");
  EXPECT_THAT(admit("{}"), HasSubstr("failed to configure policy: failed to find resource "
                                     "referenced by paramKind: 'example.com/v1, Kind=Gone'"));
}

TEST_F(Policies, IgnoreTheirOwnErrorsWhenTheySaySo) {
  validate(R"x("failurePolicy":"Ignore","validations":[{"expression":"object.nosuch.field == 1"},)x"
           R"x({"expression":"false","message":"but not this"}])x");
  EXPECT_THAT(admit("{}"), HasSubstr("but not this"));
}

TEST_F(Policies, WarnInsteadOfDenyingWhereTheBindingAsksForThat) {
  validate(R"x("validations":[{"expression":"false","message":"odd"}])x",
           R"x("validationActions":["Warn","Audit"])x");
  EXPECT_EQ(admit("{}"), "");
  EXPECT_THAT(
      warnings_,
      ElementsAre("Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': odd"));
}

TEST_F(Policies, SpeakOfNothingThatTheirConditionsLeaveOut) {
  validate(
      R"x("matchConditions":[{"name":"x","expression":"request.userInfo.username != 'jane'"}],)x"
      R"x("validations":[{"expression":"false"}])x");
  EXPECT_EQ(admit("{}"), "");
}

TEST_F(Policies, WaitForAnAuthorizerThatHasToAsk) {
  validate(R"x("validations":[{"expression":"authorizer.group('').resource('doors'))x"
           R"x(.check(object.data.verb).allowed()"}])x");
  EXPECT_EQ(admit(R"x({"verb":"open"})x"), "");
  EXPECT_THAT(admit(R"x({"verb":"shut"})x"), HasSubstr("denied request"));
}

TEST_F(Policies, ChangeTheObjectInTheirOrder) {
  mutate(
      R"x("reinvocationPolicy":"Never","mutations":[{"patchType":"ApplyConfiguration",
      "applyConfiguration":{"expression":"Object{data: {'a': 'set'}}"}},
      {"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'add', path: )x"
      R"x('/data/b', value: object.data.a + '2'}]"}}])x");
  EXPECT_EQ(admit(R"x({"a":"1"})x"), "");
  EXPECT_EQ(object_["data"], json::parse(R"x({"a":"set","b":"set2"})x").value());
}

TEST_F(Policies, RefuseWhenAPatchDoesNotApply) {
  mutate(R"x("mutations":[{"patchType":"JSONPatch","jsonPatch":{)x"
         R"x("expression":"[JSONPatch{op: 'remove', path: '/data/none'}]"}}])x");
  EXPECT_EQ(admit(R"x({"a":"1"})x"),
            "policy 'p' with binding 'b' denied request: JSON Patch: error in remove for path: "
            "'/data/none': Unable to remove nonexistent key: none: missing value");
}

TEST_F(Policies, AboutOtherResourcesAreNotLookedAt) {
  validate(R"x("validations":[{"expression":"false"}])x");
  auto feed = AdmissionPolicyFeed::start(*store_, false).value();
  EXPECT_EQ(feed->current()->about("configmaps").size(), 1u);
  EXPECT_TRUE(feed->current()->about("secrets").empty());
  ASSERT_TRUE(store::commit_sync(
      *store_, {{}, {store::Delete{"/registry/validatingadmissionpolicybindings/b"}}}));
  EXPECT_TRUE(feed->current()->about("configmaps").empty());
}

}  // namespace
}  // namespace cardea::admission
