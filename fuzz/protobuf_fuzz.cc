// rooms: catalog
// Any bytes as a Protobuf body of several kinds: an answer or an error, never a crash. What was
// read is written, and read again: it is the same.
#include <cstdint>
#include <string_view>

#include "base/strings.h"
#include "catalog/builtin_types.h"
#include "catalog/catalog.h"
#include "json/print.h"
#include "schema/wire/decode.h"
#include "schema/wire/protobuf.h"
#include "schema/wire/protobuf_writer.h"

namespace {

using cardea::json::Value;
using cardea::schema::Schema;

Value read_again(const Schema& type, const Value& object) {
  auto again = cardea::schema::decode_protobuf(type, cardea::schema::encode_protobuf(type, object));
  if (!again) __builtin_trap();
  return cardea::schema::normalize(type, *again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto catalog = cardea::catalog::Catalog::builtin();
  static const char* const kTypes[] = {
      "io.k8s.api.core.v1.Pod", "io.k8s.api.certificates.v1.CertificateSigningRequest",
      "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
      "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"};
  if (size == 0) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Schema* type = catalog->type(kTypes[data[0] % std::size(kTypes)]);
  if (!type) __builtin_trap();
  if (auto envelope = cardea::schema::open_envelope(bytes)) {
    // An object of a known kind is read as such, so that recorded ones are seeds.
    for (const auto& [name, known] : catalog->types().all())
      if (name.ends_with(cardea::cat(".", envelope->kind))) type = known.schema;
    bytes = envelope->raw;
  }
  auto object = cardea::schema::decode_protobuf(*type, bytes);
  if (!object) return 0;
  auto decoded = cardea::schema::decode(*type, {*object, {}, {}}, "");
  if (!decoded) return 0;
  const Value& value = decoded->value;
  if (read_again(*type, value) != value) __builtin_trap();
  return 0;
}
