#include "rest/present/negotiation.h"

#include <gtest/gtest.h>

namespace cardea::rest {
namespace {

std::string refusal(std::string_view accept, Offer offer) {
  auto view = negotiate(accept, offer);
  return view ? "accepted" : view.error().message;
}

TEST(Negotiation, EventsAreNotWrittenInYaml) {
  EXPECT_EQ(refusal("application/yaml", {.is_list = true}), "accepted");
  EXPECT_EQ(refusal("application/yaml", {.is_list = true, .is_watch = true}),
            "only the following media types are accepted: application/json;stream=watch, "
            "application/vnd.kubernetes.protobuf;stream=watch");
  auto view = negotiate("application/yaml, application/json;stream=watch;q=0.5",
                        {.is_list = true, .is_watch = true});
  ASSERT_TRUE(view);
  EXPECT_FALSE(view->yaml);
}

TEST(Negotiation, ARefusalNamesWhatCanBeHad) {
  const std::string
      three = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
  EXPECT_EQ(refusal("text/html", {}), "406: Not Acceptable\n\nAvailable representations: " + three);
  EXPECT_EQ(
      refusal("text/html", {.is_list = true}),
      "406: Not Acceptable\n\nAvailable representations: " + three +
          ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch");
  EXPECT_EQ(refusal("text/html", {.is_custom = true, .is_list = true}),
            "only the following media types are accepted: " + three);
  EXPECT_EQ(refusal("application/json;as=Odd;g=meta.k8s.io;v=v1",
                    {.transforms = true, .is_list = true, .is_watch = true}),
            "only the following media types are accepted: " + three);
}

}  // namespace
}  // namespace cardea::rest
