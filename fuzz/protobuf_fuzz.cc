// rooms: catalog
// Any bytes as a Protobuf body of several kinds: an answer or an error, never a crash.
#include <cstdint>
#include <string_view>

#include "catalog/catalog.h"
#include "json/print.h"
#include "schema/wire/decode.h"
#include "schema/wire/protobuf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto catalog = cardea::catalog::Catalog::builtin();
  static const char* const kTypes[] = {
      "io.k8s.api.core.v1.Pod", "io.k8s.api.certificates.v1.CertificateSigningRequest",
      "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
      "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"};
  if (size == 0) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (auto envelope = cardea::schema::open_envelope(bytes)) bytes = envelope->raw;
  const cardea::schema::Schema* type = catalog->type(kTypes[data[0] % std::size(kTypes)]);
  if (!type) __builtin_trap();
  auto object = cardea::schema::decode_protobuf(*type, bytes);
  if (object) (void)cardea::schema::decode(*type, {*object, {}, {}}, "");
  return 0;
}
