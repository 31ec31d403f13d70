#include "authz/access_review.h"

#include <gtest/gtest.h>

#include <optional>

#include "base/strings.h"
#include "json/print.h"
#include "json/testing/recordings.h"

namespace cardea::authz {
namespace {

using json::Value;

std::optional<ReviewKind> kind_of(std::string_view path) {
  if (path.ends_with("/localsubjectaccessreviews")) return ReviewKind::kLocalSubject;
  if (path.ends_with("/selfsubjectaccessreviews")) return ReviewKind::kSelfSubject;
  if (path.ends_with("/subjectaccessreviews")) return ReviewKind::kSubject;
  return std::nullopt;
}

// The review at the time of the check: a local review has the namespace of its path.
Value sent(const Value& step, ReviewKind kind) {
  Value review = step["body"];
  if (kind == ReviewKind::kLocalSubject)
    review.member("metadata").set("namespace", split(step["path"].as_string(), '/')[5]);
  return review;
}

// `metadata: ...: must be empty` shows all of the metadata, with owners and times. The comparison
// leaves this part out.
std::string line(std::string_view field, std::string_view message) {
  if (field == "metadata") message.remove_prefix(message.rfind(": ") + 2);
  return cat(field, ": ", message);
}

// Counts the reviews of one recorded conversation and compares the errors of each.
int compare(const std::string& conversation) {
  int reviews = 0;
  for (const Value& step : json::recorded(conversation)["steps"].items()) {
    std::optional<ReviewKind> kind = kind_of(step["path"].as_string());
    std::int64_t status = step["expect"]["status"].as_int();
    if (!kind || (status != 201 && status != 422)) continue;
    std::vector<std::string> wanted, found;
    for (const Value& c : step["expect"]["body"]["details"]["causes"].items())
      wanted.push_back(line(c["field"].as_string(), c["message"].as_string()));
    for (const json::FieldError& e : validate_review(*kind, sent(step, *kind)))
      found.push_back(line(e.field, e.body()));
    EXPECT_EQ(found, wanted) << json::print(step["body"]);
    ++reviews;
  }
  return reviews;
}

TEST(AccessReview, IsCheckedAsTheRecordedServerDid) {
  EXPECT_GT(compare("reviews--access-review-invalid"), 10);
  EXPECT_GT(compare("reviews--subject-access-review"), 0);
  EXPECT_GT(compare("reviews--local-and-self-review"), 0);
}

}  // namespace
}  // namespace cardea::authz
