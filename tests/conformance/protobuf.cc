// protobuf/*.jsonl: objects as Kubernetes prints them, and its Protobuf of the same objects. We
// write the same bytes, and read the same object from them.
#include "schema/wire/protobuf.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/strings.h"
#include "catalog/catalog.h"
#include "conformance/conformance.h"
#include "json/parse.h"
#include "rest/present/presentation.h"
#include "schema/wire/protobuf_writer.h"

namespace cardea::conformance {

using json::Value;

namespace {

std::string difference(std::string_view a, std::string_view b) {
  std::size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) ++at;
  std::size_t from = at < 40 ? 0 : at - 40;
  return cat("they differ at byte ", at, " of ", a.size(), " and ", b.size(), ":\n  ours   ",
             quoted(a.substr(from, 100)), "\n  theirs ", quoted(b.substr(from, 100)));
}

// Empty when all is as it should be.
std::string flaw_of(const catalog::Catalog& catalog, const Value& line) {
  const Value& object = line["object"];
  const schema::Schema* type = rest::protobuf_type(catalog, object);
  if (!type) return "it has no type";
  auto theirs = base64_decode(line["protobuf"].as_string());
  if (!theirs) return "the recording is broken";
  std::string ours = schema::encode_enveloped(*type, object).bytes;
  if (ours != *theirs) return difference(ours, *theirs);
  auto envelope = schema::open_envelope(*theirs);
  if (!envelope) return envelope.error().message;
  auto read = schema::decode_protobuf(*type, envelope->raw);
  if (!read) return read.error().message;
  // What was read must be what they wrote.
  std::string again = schema::encode_protobuf(*type, *read);
  return again == envelope->raw ? "" : cat("read otherwise: ", difference(again, envelope->raw));
}

}  // namespace

Counts run_protobuf(const std::string& folder) {
  const auto catalog = catalog::Catalog::builtin();
  Counts counts;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".jsonl") continue;
    std::ifstream file(entry.path());
    for (std::string text; std::getline(file, text);) {
      auto line = json::parse(text);
      std::string flaw = line ? flaw_of(*catalog, *line) : line.error().message;
      counts.check(flaw.empty());
      if (flaw.empty()) continue;
      Value what = line ? *line : Value();
      std::printf("%s\n", cat(what["object"]["apiVersion"].as_string(), " ",
                              what["object"]["kind"].as_string(), ", ", what["case"].as_string(),
                              ": ", flaw)
                              .c_str());
    }
  }
  return counts;
}

}  // namespace cardea::conformance
