#include "rest/at_rest/sealed_object.h"

#include "base/protobuf.h"
#include "base/strings.h"
#include "catalog/kinds/names.h"

namespace cardea::rest {
namespace {

constexpr std::size_t kMostKeyBytes = 1024, kMostIdBytes = 1024, kMostAnnotationBytes = 32 * 1024;

}  // namespace

std::string encode(const SealedObject& object) {
  ProtobufMessage out;
  out.reserve(object.data.size() + object.key.ciphertext.size() + 128);
  out.text(1, object.data);
  out.text(2, object.key.key_id);
  out.text(3, object.key.ciphertext);
  for (const auto& [name, value] : object.key.annotations) {
    // Both fields of an entry are always written.
    ProtobufMessage entry;
    entry.bytes(1, name);
    entry.bytes(2, value);
    out.message(4, entry);
  }
  out.integer(5, static_cast<std::int64_t>(object.source));
  return std::move(out).take();
}

Result<SealedObject> decode_sealed(std::string_view bytes) {
  SealedObject out{.data = {}, .key = {}, .source = SealedObject::KeySource::kKey};
  std::int64_t source = 0;
  bool is_good = true;
  ProtobufFields in(bytes);
  while (in.next()) {
    switch (in.field()) {
      case 1:
        out.data = in.bytes();
        break;
      case 2:
        out.key.key_id = in.bytes();
        break;
      case 3:
        out.key.ciphertext = in.bytes();
        break;
      case 4: {
        std::string_view name, value;
        ProtobufFields entry(in.bytes());
        while (entry.next()) {
          if (entry.field() == 1) name = entry.bytes();
          if (entry.field() == 2) value = entry.bytes();
        }
        is_good &= !entry.malformed();
        out.key.annotations.insert_or_assign(std::string(name), std::string(value));
        break;
      }
      case 5:
        source = in.integer();
        break;
      default:
        break;
    }
  }
  if (in.malformed() || !is_good) return fail(bad_request("it is not what a KMS provider writes"));
  if (source != 0 && source != 1)
    return fail(bad_request(cat("its data key is of an unknown sort, ", source)));
  out.source = static_cast<SealedObject::KeySource>(source);
  if (out.data.empty()) return fail(bad_request("the encrypted data is empty"));
  if (auto ok = check_key(out.key); !ok) return fail(ok.error());
  return out;
}

Result<void> check_key_id(std::string_view key_id) {
  if (key_id.empty() || key_id.size() > kMostIdBytes)
    return fail(bad_request(cat("the key_id has ", key_id.size(), " bytes, not 1 to 1024")));
  return {};
}

Result<void> check_key(const KmsService::Encrypted& key) {
  if (key.ciphertext.empty() || key.ciphertext.size() > kMostKeyBytes)
    return fail(bad_request(
        cat("the encrypted data key has ", key.ciphertext.size(), " bytes, not 1 to 1024")));
  if (auto ok = check_key_id(key.key_id); !ok) return ok;
  std::size_t size = 0;
  for (const auto& [name, value] : key.annotations) {
    size += name.size() + value.size();
    if (!name.contains('.') || !catalog::name_is_dns_subdomain(name, false).empty())
      return fail(bad_request(cat("the annotation `", name, "` is not named by a domain")));
  }
  if (size > kMostAnnotationBytes) return fail(bad_request("the annotations are too large"));
  return {};
}

}  // namespace cardea::rest
