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
  EXPECT_EQ(
      refusal("application/yaml, application/json;q=0.5", {.is_list = true, .is_watch = true}),
      refusal("application/yaml", {.is_list = true, .is_watch = true}));
  auto view = negotiate("application/yaml;stream=watch, application/json;stream=watch;q=0.5",
                        {.is_list = true, .is_watch = true});
  ASSERT_TRUE(view);
  EXPECT_EQ(view->format, Format::kJson);
}

constexpr Offer kObject{.transforms = true};

// `application/json Table`, or `none`.
std::string chosen(std::string_view accept, Offer offer = kObject) {
  auto view = negotiate(accept, offer);
  if (!view) return "none";
  constexpr std::string_view kShapes[] = {"", " Table", " PartialObjectMetadata",
                                          " PartialObjectMetadataList"};
  return std::string(view->content_type()) +
         std::string(kShapes[static_cast<std::size_t>(view->shape)]);
}

TEST(Negotiation, WeightsAndOrderChooseTheFormat) {
  const std::string protobuf(kProtobufType), json = "application/json";
  EXPECT_EQ(chosen(""), json);
  EXPECT_EQ(chosen("*/*"), json);
  EXPECT_EQ(chosen(protobuf), protobuf);
  EXPECT_EQ(chosen(protobuf + ",application/json"), protobuf);
  EXPECT_EQ(chosen("application/json," + protobuf), json);
  EXPECT_EQ(chosen("application/json;q=0.5, " + protobuf + ";q=0.8"), protobuf);
  EXPECT_EQ(chosen("text/html, " + protobuf), protobuf);
  EXPECT_EQ(chosen("*/*, " + protobuf + ";q=0.5"), protobuf) << "what names more comes first";
  EXPECT_EQ(chosen(protobuf + ";stream=watch", {.is_list = true, .is_watch = true}), protobuf);
  EXPECT_EQ(chosen(protobuf + ";stream=other"), "none");
}

TEST(Negotiation, ATableIsNeverProtobuf) {
  const std::string as_table = ";as=Table;g=meta.k8s.io;v=v1", protobuf(kProtobufType);
  EXPECT_EQ(chosen(protobuf + as_table), "none");
  EXPECT_EQ(chosen(protobuf + as_table + ",application/json" + as_table), "application/json Table");
  EXPECT_EQ(chosen(protobuf + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"),
            protobuf + " PartialObjectMetadata");
  EXPECT_EQ(chosen("application/json;g=meta.k8s.io;v=v1"), "none");
}

TEST(Negotiation, WithoutProtobufOfTheObjectThereIsThatOfItsMetadata) {
  Offer offer{.transforms = true, .has_protobuf = false, .is_custom = true};
  const std::string protobuf(kProtobufType);
  EXPECT_EQ(chosen(protobuf, offer), "none");
  EXPECT_EQ(chosen(protobuf + ", application/json;q=0.1", offer), "application/json");
  EXPECT_EQ(chosen(protobuf + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", offer),
            protobuf + " PartialObjectMetadataList");
}

TEST(Negotiation, ErrorsHaveNoOtherShape) {
  const std::string partial = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
                    protobuf(kProtobufType);
  EXPECT_EQ(negotiate_error(""), Format::kJson);
  EXPECT_EQ(negotiate_error(protobuf), Format::kProtobuf);
  EXPECT_EQ(negotiate_error(protobuf + partial), std::nullopt);
  EXPECT_EQ(negotiate_error(protobuf + partial + ",application/yaml"), Format::kYaml);
  EXPECT_EQ(negotiate_error("text/html"), std::nullopt);
}

TEST(Negotiation, ARefusalNamesWhatCanBeHad) {
  const std::string
      three = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
  EXPECT_EQ(refusal("text/html", {}), "406: Not Acceptable\n\nAvailable representations: " + three);
  EXPECT_EQ(refusal("application/*", {}), refusal("text/html", {}));
  EXPECT_EQ(refusal("application/*", {.is_custom = true}), "accepted");
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
