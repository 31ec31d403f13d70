#include "rest/present/stored_protobuf.h"

#include <gtest/gtest.h>

#include "json/print.h"
#include "rest/watch/watch_event.h"
#include "schema/wire/protobuf.h"

namespace cardea::rest {
namespace {

class StoredProtobuf : public testing::Test {
 protected:
  static store::RecordPtr record(store::Revision revision, std::string_view data) {
    std::string value = R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":)";
    return store::Record::make("/registry/configmaps/default/a", value.append(data).append("}"), 2,
                               revision, revision - 1);
  }
  WatchView view(Format format) const {
    return {.catalog = catalog_,
            .resource = &maps_,
            .storage = &maps_,
            .view = {.format = format},
            .clock = &clock_};
  }
  std::string read(std::string_view enveloped) const {
    auto envelope = schema::open_envelope(enveloped);
    if (!envelope) return envelope.error().message;
    auto object = schema::decode_protobuf(*maps_.schema, envelope->raw);
    return object ? json::print(*object) : object.error().message;
  }

  SystemClock clock_;
  std::shared_ptr<const catalog::Catalog> catalog_ = catalog::Catalog::builtin();
  const catalog::Resource& maps_ = *catalog_->find("", "v1", "configmaps");
};

TEST_F(StoredProtobuf, HasTheRevisionOfItsRecord) {
  EXPECT_EQ(read(stored_protobuf(*record(7, R"({"k":"v"})"), maps_).bytes),
            R"({"data":{"k":"v"},"metadata":{"generateName":"","generation":0,"name":"a",)"
            R"("namespace":"","resourceVersion":"7","selfLink":"","uid":""}})");
}

TEST_F(StoredProtobuf, IsMadeOnceAndLivesAsLongAsItsRecord) {
  store::RecordPtr one = record(7, "{}");
  const schema::Enveloped& first = stored_protobuf(*one, maps_);
  EXPECT_EQ(&first, &stored_protobuf(*one, maps_));
  http::Body body = stored_protobuf_body(one, maps_);
  one.reset();
  EXPECT_EQ(body.pieces(), 1u);
  EXPECT_EQ(body.piece(0).bytes.data(), first.bytes.data());
}

TEST_F(StoredProtobuf, WatchersOfOneFormReadTheSameBytes) {
  WatchEvent event(std::make_shared<store::Event>(
      store::Event{store::EventType::kPut, 8, record(8, "{}"), record(7, "{}")}));
  auto protobuf = event.bytes_for(view(Format::kProtobuf));
  EXPECT_EQ(protobuf, event.bytes_for(view(Format::kProtobuf)));
  auto json = event.bytes_for(view(Format::kJson));
  ASSERT_TRUE(protobuf && json);
  EXPECT_NE(*protobuf, *json);
  EXPECT_EQ(
      protobuf->substr(0, 14),
      std::string("\0\0\0", 3) + static_cast<char>(protobuf->size() - 4) + "\x0a\x08MODIFIED");
}

TEST_F(StoredProtobuf, ADeletedObjectIsShownWithTheRevisionOfItsDeletion) {
  WatchEvent event(std::make_shared<store::Event>(
      store::Event{store::EventType::kDelete, 9, nullptr, record(7, "{}")}));
  auto bytes = event.bytes_for(view(Format::kProtobuf));
  ASSERT_TRUE(bytes);
  EXPECT_NE(bytes->find("DELETED"), std::string::npos);
  EXPECT_NE(read(bytes->substr(bytes->find("k8s"))).find(R"("resourceVersion":"9")"),
            std::string::npos);
}

}  // namespace
}  // namespace cardea::rest
