#include "rest/present/stored_protobuf.h"

#include "base/result.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

class KeptProtobuf : public store::Derived {
 public:
  explicit KeptProtobuf(schema::Enveloped made) : form(std::move(made)) {}
  schema::Enveloped form;
};

}  // namespace

const schema::Enveloped& stored_protobuf(const store::Record& record,
                                         const catalog::Resource& storage) {
  const store::Derived* found = record.derived();
  if (!found)
    found = record.derive(std::make_unique<const KeptProtobuf>(
        schema::encode_enveloped(*storage.schema, parse_stored(record))));
  // INVARIANT: no other part keeps something with records of Kubernetes' own kinds.
  const auto* kept = dynamic_cast<const KeptProtobuf*>(found);
  CARDEA_CHECK(kept);
  return kept->form;
}

http::Body stored_protobuf_body(store::RecordPtr record, const catalog::Resource& storage) {
  std::string_view bytes = stored_protobuf(*record, storage).bytes;
  return http::Body(http::Piece{std::move(record), bytes});
}

}  // namespace cardea::rest
