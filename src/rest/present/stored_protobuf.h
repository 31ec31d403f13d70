#pragma once
#include "catalog/catalog.h"
#include "http/message.h"
#include "schema/wire/protobuf_writer.h"
#include "store/record.h"

namespace cardea::rest {

// The Protobuf of a stored object of `storage`, with its resourceVersion: made when it is first
// asked for, and kept as long as its record. The resource must have Protobuf. Safe from any thread.
const schema::Enveloped& stored_protobuf(const store::Record& record,
                                         const catalog::Resource& storage);

// The same as a body that points into the record.
http::Body stored_protobuf_body(store::RecordPtr record, const catalog::Resource& storage);

}  // namespace cardea::rest
