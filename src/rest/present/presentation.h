#pragma once
#include "http/message.h"
#include "rest/call.h"

namespace cardea::rest {

// The inputs for the form of an answer besides the answer.
struct Frame {
  View view;
  const catalog::Catalog* catalog = nullptr;    // null for paths that are no resource
  const catalog::Resource* resource = nullptr;  // likewise
  std::string_view accept;          // the header, for errors: they have their own choice
  std::string_view include_object;  // of tables
  bool table_headers = true;
  std::chrono::system_clock::time_point now;
};

// Turns the result of a verb into the response the client asked for: tables, partial metadata,
// YAML, Protobuf, indentation, warnings.
http::Response present(Result<Answer> answer, const Frame& frame,
                       const std::vector<std::string>& warnings);

// One object or list in the shape of the view; 406 when it cannot have it.
Result<json::Value> shaped(const json::Value& document, bool is_list, const Frame& frame);

// The type by which a document is written in Protobuf; null when it has no such form.
const schema::Schema* protobuf_type(const catalog::Catalog& catalog, const json::Value& document);
// The error in the second case.
Error not_in_protobuf(const json::Value& document);

// Two spaces per level, as people read it.
std::string print_pretty(const json::Value& value);

}  // namespace cardea::rest
