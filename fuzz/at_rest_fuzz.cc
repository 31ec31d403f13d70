// rooms: rest
// What others have written to etcd. A value that is read is an object, and is written and read
// again as the same one.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "json/parse.h"
#include "rest/at_rest/encryption.h"
#include "rest/at_rest/kubernetes_encoding.h"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

constexpr std::string_view kKeys[] = {
    "/registry/pods/default/a",
    "/registry/secrets/default/a",
    "/registry/services/specs/default/a",
    "/registry/deployments/default/a",
    "/registry/horizontalpodautoscalers/default/a",
    "/registry/events/default/a",
    "/registry/clusterroles/a",
    "/registry/apiextensions.k8s.io/customresourcedefinitions/a",
    "/registry/apiregistration.k8s.io/apiservices/v1.a",
    "/registry/example.com/widgets/default/a",
    "/registry/ranges/servicenodeports",
    "/registry/masterleases/10.0.0.1",
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cardea;
  static const auto encoding = rest::kubernetes_encoding();
  if (size == 0) return 0;
  const std::string_view key = kKeys[data[0] % std::size(kKeys)];
  const std::string_view value(reinterpret_cast<const char*>(data) + 1, size - 1);
  (void)rest::Encryption::read(value);
  const auto read = encoding->from_etcd(key, key, value);
  if (!read) return 0;
  const auto object = json::parse(*read, 1'000);
  check(object && (*object)["metadata"].is_object() &&
        !(*object)["metadata"].has("resourceVersion"));
  const auto written = encoding->to_etcd(key, key, *read);
  check(written.has_value());
  const auto again = encoding->from_etcd(key, key, *written);
  check(again.has_value() && *again == *read);
  return 0;
}
