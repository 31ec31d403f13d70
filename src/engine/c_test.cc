#include "cardea/c.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace {

using testing::HasSubstr;

constexpr char
    kPolicy[] = R"({"apiVersion":"access.cardea.dev/v1alpha1","kind":"ClusterAccessPolicy",
  "metadata":{"name":"own"},"spec":{"effect":"Allow",
    "expression":"object.a == request.userInfo.username"}})";

std::string taken(char* text) {
  std::string out = text ? text : "(null)";
  cardea_string_free(text);
  return out;
}

struct Asked {
  Asked() {
    cardea_request_set(request, CARDEA_USER, "jane");
    cardea_request_set(request, CARDEA_VERB, "create");
    cardea_request_set(request, CARDEA_RESOURCE, "things");
    cardea_request_set(request, CARDEA_GROUP, "example.com");
  }
  ~Asked() {
    cardea_request_free(request);
    cardea_engine_free(engine);
  }
  cardea_engine* engine = cardea_engine_new(0, nullptr);
  cardea_request* request = cardea_request_new();
};

TEST(EngineC, AsksAndSettles) {
  Asked a;
  char* error = nullptr;
  ASSERT_EQ(cardea_engine_load(a.engine, kPolicy, &error), 1) << error;
  EXPECT_EQ(error, nullptr);
  cardea_decision* d = cardea_engine_ask(a.engine, a.request, 1);
  EXPECT_EQ(cardea_decision_outcome(d), CARDEA_CONDITIONAL);
  EXPECT_EQ(cardea_decision_allowed(d), 0);
  ASSERT_EQ(cardea_decision_condition_count(d), 1u);
  EXPECT_STREQ(cardea_decision_condition(d, 0, CARDEA_CONDITION_EXPRESSION),
               R"(object.a == "jane")");
  EXPECT_STREQ(cardea_decision_condition(d, 0, CARDEA_CONDITION_EFFECT), "Allow");
  EXPECT_EQ(cardea_decision_condition(d, 1, CARDEA_CONDITION_ID), nullptr);
  EXPECT_EQ(cardea_decision_condition(d, 0, 99), nullptr);
  cardea_change* change = cardea_change_new();
  EXPECT_EQ(cardea_change_set(change, CARDEA_OBJECT, R"({"a":"jane"})"), 1);
  cardea_decision* settled = cardea_decision_settle(d, change);
  EXPECT_EQ(cardea_decision_outcome(settled), CARDEA_ALLOW) << cardea_decision_error(settled);
  cardea_decision_free(settled);
  settled = cardea_decision_settle(d, nullptr);
  EXPECT_EQ(cardea_decision_allowed(settled), 0);
  EXPECT_THAT(cardea_decision_error(settled), HasSubstr("needs the object"));
  cardea_decision_free(settled);
  cardea_change_free(change);
  cardea_decision_free(d);
  EXPECT_THAT(taken(cardea_engine_explain(a.engine, a.request, &error)), HasSubstr("Allow if"));
  EXPECT_EQ(cardea_engine_remove(a.engine, kPolicy, nullptr), 1);
}

TEST(EngineC, NullIsAnErrorAndNeverAnAllow) {
  Asked a;
  char* error = nullptr;
  EXPECT_EQ(cardea_engine_load(nullptr, kPolicy, &error), -1);
  EXPECT_THAT(taken(error), HasSubstr("NULL"));
  EXPECT_EQ(cardea_engine_load(a.engine, nullptr, nullptr), -1);
  EXPECT_EQ(cardea_engine_load(a.engine, "{", &error), -1);
  EXPECT_FALSE(taken(error).empty());
  cardea_decision* d = cardea_engine_ask(nullptr, a.request, 1);
  EXPECT_EQ(cardea_decision_outcome(d), CARDEA_DENY);
  cardea_decision_free(d);
  EXPECT_EQ(cardea_decision_outcome(nullptr), CARDEA_DENY);
  EXPECT_EQ(cardea_decision_allowed(nullptr), 0);
  EXPECT_NE(std::string(cardea_decision_error(nullptr)), "");
  EXPECT_EQ(cardea_judgement_allowed(nullptr), 0);
  EXPECT_EQ(cardea_engine_judge_fields(a.engine, a.request, nullptr, &error), nullptr);
  EXPECT_THAT(taken(error), HasSubstr("NULL"));
  EXPECT_EQ(cardea_engine_field_demands(a.engine, nullptr, nullptr, nullptr), nullptr);
  EXPECT_EQ(cardea_engine_explain(nullptr, nullptr, nullptr), nullptr);
  EXPECT_EQ(cardea_request_set(a.request, 99, "x"), 0);
  EXPECT_EQ(cardea_request_set(a.request, CARDEA_USER, nullptr), 0);
  EXPECT_EQ(cardea_request_add_group(nullptr, "x"), 0);
  EXPECT_EQ(cardea_request_add_extra(a.request, "k", nullptr), 0);
  EXPECT_EQ(cardea_change_set(nullptr, CARDEA_OBJECT, "x"), 0);
  EXPECT_EQ(cardea_program_compile(nullptr, nullptr, 0, nullptr), nullptr);
  EXPECT_EQ(cardea_program_evaluate(nullptr, nullptr, 1, nullptr, nullptr), nullptr);
  EXPECT_EQ(cardea_residual_evaluate(nullptr, nullptr, 1, nullptr, nullptr), nullptr);
  cardea_engine_free(nullptr);
  cardea_request_free(nullptr);
  cardea_change_free(nullptr);
  cardea_decision_free(nullptr);
  cardea_judgement_free(nullptr);
  cardea_program_free(nullptr);
  cardea_bindings_free(nullptr);
  cardea_residual_free(nullptr);
  cardea_string_free(nullptr);
}

TEST(EngineC, EvaluatesExpressions) {
  const char* variables[] = {"object", "user string"};
  char* error = nullptr;
  cardea_program* p = cardea_program_compile("object.owner == user", variables, 2, &error);
  ASSERT_NE(p, nullptr) << error;
  EXPECT_STREQ(cardea_program_type(p), "bool");
  cardea_bindings* b = cardea_bindings_new();
  EXPECT_EQ(cardea_bindings_set(b, "user", "\"jane\""), 1);
  const char* unknown[] = {"object"};
  cardea_residual* r = cardea_program_partially_evaluate(p, b, unknown, 1, CARDEA_USUAL_COST_LIMIT,
                                                         &error);
  ASSERT_NE(r, nullptr) << error;
  EXPECT_EQ(cardea_residual_is_value(r), 0);
  EXPECT_STREQ(cardea_residual_text(r), R"(object.owner == "jane")");
  EXPECT_EQ(cardea_program_evaluate(p, b, CARDEA_USUAL_COST_LIMIT, nullptr, &error), nullptr);
  EXPECT_FALSE(taken(error).empty());
  cardea_bindings_set(b, "object", R"({"owner":"jane"})");
  std::uint64_t cost = 0;
  EXPECT_EQ(taken(cardea_residual_evaluate(r, b, CARDEA_USUAL_COST_LIMIT, &cost, &error)), "true");
  EXPECT_GT(cost, 0u);
  EXPECT_EQ(taken(cardea_program_evaluate(p, b, CARDEA_USUAL_COST_LIMIT, nullptr, &error)), "true");
  cardea_residual_free(r);
  cardea_bindings_free(b);
  cardea_program_free(p);
}

}  // namespace
