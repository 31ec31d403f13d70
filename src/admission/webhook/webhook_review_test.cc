#include "admission/webhook/webhook_review.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "json/parse.h"

namespace cardea::admission {
namespace {

http::Answer answer(std::string body, int status = 200, std::string type = "application/json") {
  http::Answer out{.status = status, .headers = {}, .body = std::move(body)};
  out.headers.add("content-type", type);
  return out;
}

std::string wrong(const std::string& body, bool is_mutating = false,
                  std::string_view version = "v1") {
  const auto read = read_webhook_answer(answer(body), version, "u", is_mutating);
  return read ? "" : read.error().message;
}

std::string review(const std::string& response) {
  return cat(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{)",
             response, "}}");
}

TEST(WebhookReview, AnErrorIsNeverAnAllow) {
  const std::string bodies[] = {"",
                                "x",
                                "[]",
                                "null",
                                "7",
                                "{}",
                                R"({"response":{"uid":"u","allowed":true}})",
                                review(R"("allowed":true)"),
                                review(R"("uid":"v","allowed":true)"),
                                review(R"("uid":"u","allowed":"true")"),
                                review(R"("uid":"u","allowed":1)"),
                                review(R"("uid":"u","allowed":true,"warnings":"x")"),
                                review(R"("uid":"u","allowed":true,"auditAnnotations":{"a":1})"),
                                review(R"("uid":"u","allowed":true,"status":{"code":"x"}})"),
                                review(R"("uid":"u","allowed":true,"patch":"W10=")")};
  for (const std::string& body : bodies)
    for (int status : {100, 200, 302, 403, 500})
      EXPECT_FALSE(read_webhook_answer(answer(body, status), "v1", "u", false)) << body;
  const auto silent = read_webhook_answer(answer(review(R"("uid":"u")")), "v1", "u", false);
  ASSERT_TRUE(silent);
  EXPECT_FALSE(silent->is_allowed);
}

TEST(WebhookReview, OnlyASuccessIsAnAnswer) {
  const std::string good = review(R"("uid":"u","allowed":true)");
  EXPECT_TRUE(read_webhook_answer(answer(good), "v1", "u", false));
  for (int status : {199, 207, 301, 307, 404, 503})
    EXPECT_FALSE(read_webhook_answer(answer(good, status), "v1", "u", false)) << status;
}

TEST(WebhookReview, PatchesBelongToMutatingWebhooks) {
  const std::string patch = base64(R"([{"op":"remove","path":"/a"}])");
  const std::string body = review(
      cat(R"("uid":"u","allowed":true,"patchType":"JSONPatch","patch":")", patch, "\""));
  EXPECT_EQ(wrong(body),
            "received invalid webhook response: validating webhook may not return response.patch");
  const auto read = read_webhook_answer(answer(body), "v1", "u", true);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->operations.size(), 1u);
  EXPECT_EQ(wrong(review(R"("uid":"u","allowed":true,"patchType":"JSONPatch")"), true),
            "received invalid webhook response: webhook returned response.patchType but not "
            "response.patch");
}

TEST(WebhookReview, TheOlderVersionNeedsNoNames) {
  EXPECT_EQ(wrong(R"({"response":{"allowed":true}})", false, "v1beta1"), "");
  EXPECT_EQ(wrong(R"({"response":{"allowed":true}})"),
            "received invalid webhook response: expected response.uid=\"u\", got \"\"");
}

TEST(WebhookReview, ARefusalNeverSaysSuccess) {
  const json::Value status = refusal_status(
      "w", *json::parse(R"({"status":"Success","code":200,"message":"fine"})"));
  EXPECT_EQ(status["status"].as_string(), "Failure");
  EXPECT_EQ(status["code"].as_int(), 400);
  EXPECT_EQ(status["message"].as_string(), "admission webhook \"w\" denied the request: fine");
  EXPECT_EQ(refusal_status("w", {})["message"].as_string(),
            "admission webhook \"w\" denied the request without explanation");
  EXPECT_EQ(refusal_status("w", *json::parse(R"({"code":9999999})"))["code"].as_int(), 400);
}

}  // namespace
}  // namespace cardea::admission
