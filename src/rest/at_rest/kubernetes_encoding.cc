#include "rest/at_rest/kubernetes_encoding.h"

#include <atomic>
#include <map>
#include <set>

#include "base/strings.h"
#include "catalog/catalog.h"
#include "json/print.h"
#include "json/stored_depth.h"
#include "rest/at_rest/definition_v1beta1.h"
#include "rest/at_rest/node_port_range.h"
#include "rest/controllers/controllers.h"
#include "rest/unreadable_records.h"
#include "rest/write/object_rules.h"
#include "schema/wire/protobuf.h"
#include "schema/wire/protobuf_writer.h"

namespace cardea::rest {
namespace {

using catalog::Resource;
using json::Value;

constexpr std::string_view kRegistryKeys = "/registry/";
constexpr std::string_view kApiServiceKeys = "/registry/apiregistration.k8s.io/apiservices/";
constexpr std::string_view kNoticePrefix = "a record in etcd cannot be read";
constexpr int kMostNotices = 100;

// Written by the servers that kube-apiserver runs beside its main one: these write JSON.
bool is_kept_as_json(const Resource& r) {
  return r.group == "apiextensions.k8s.io" || r.group == "apiregistration.k8s.io";
}

class KubernetesEncoding final : public store::EtcdEncoding {
 public:
  KubernetesEncoding(std::shared_ptr<const CurrentEncryption> encryption,
                     std::function<void(const std::string&)> notice)
      : encryption_(std::move(encryption)),
        notice_(std::move(notice)),
        catalog_(
            catalog::Catalog::builtin({"ConditionalAuthorization", "FineGrainedAuthorization"})) {
    for (const catalog::Group& group : catalog_->all_groups()) add(group);
    kinds_.emplace(kLiveServers, catalog_->find("", "v1", "endpoints"));
  }

  Place place_of(std::string_view key) const override {
    if (!key.starts_with(kRegistryKeys)) return Place::kOwn;
    const std::string_view first = key.substr(
        kRegistryKeys.size(), key.find('/', kRegistryKeys.size()) - kRegistryKeys.size());
    if (own_groups_.contains(first) || is_own_api_service(key)) return Place::kOwn;
    if (key == kNodePortsKey || kind_at(key) || first.contains('.')) return Place::kShared;
    return Place::kForeign;
  }

  Result<std::string> to_etcd(std::string_view key, std::string_view etcd_key,
                              std::string_view value) const override {
    if (place_of(key) == Place::kOwn) return std::string(value);
    auto written = write_shared(key, value);
    if (!written || !encryption_) return written;
    return encryption_->get()->seal(resource_at(key), etcd_key, *written);
  }

  Result<std::string> from_etcd(std::string_view key, std::string_view etcd_key,
                                std::string_view value) const override {
    if (place_of(key) == Place::kOwn) return read_own(key, value);
    auto opened = encryption_ ? encryption_->get()->open(resource_at(key), etcd_key, value)
                              : Result<std::string>(std::in_place, value);
    auto read = opened ? read_shared(key, *opened) : opened;
    if (!read && read.error().reason != Reason::kServiceUnavailable)
      tell(key, read.error().message);
    return read;
  }

  std::int64_t seal_of(std::string_view etcd_value) const override {
    return Encryption::seal_of(etcd_value);
  }

  bool is_stale(std::string_view key, std::int64_t seal) const override {
    if (!encryption_ || place_of(key) == Place::kOwn) return false;
    return encryption_->get()->is_stale(resource_at(key), seal);
  }

 private:
  void add(const catalog::Group& group) {
    bool is_own_group = true;
    for (const catalog::Version& version : group.versions) {
      bool is_own = true;
      for (const Resource* r : version.resources) {
        is_own &= !r->has_protobuf;
        const Resource* kept = catalog_->storage_of(*r);
        if (r->has_protobuf && kept && !r->storage_prefix.empty())
          kinds_.emplace(r->storage_prefix, kept);
      }
      if (is_own) own_versions_.insert(cat(version.name, ".", group.name));
      is_own_group &= is_own;
    }
    if (is_own_group) own_groups_.insert(group.name);
  }

  // The built-in kind whose objects have such keys, in its storage version; null for others.
  const Resource* kind_at(std::string_view key) const {
    // Prefixes have one part or two: "/registry/pods/", "/registry/services/specs/".
    std::size_t end = key.find('/', kRegistryKeys.size());
    for (int parts = 0; parts < 2 && end != std::string_view::npos; ++parts) {
      const auto found = kinds_.find(key.substr(0, end + 1));
      if (found != kinds_.end()) return found->second;
      end = key.find('/', end + 1);
    }
    return nullptr;
  }

  // "v1alpha1.access.cardea.dev": kube-apiserver would not know what to do with it.
  bool is_own_api_service(std::string_view key) const {
    return key.starts_with(kApiServiceKeys) &&
           own_versions_.contains(key.substr(kApiServiceKeys.size()));
  }

  // The name by which the configuration of encryption knows what lies there.
  std::string resource_at(std::string_view key) const {
    if (key.starts_with(kLiveServers)) return "apiServerIPInfo";
    if (key == kNodePortsKey) return "servicenodeportallocations";
    if (const Resource* kind = kind_at(key)) return kind->qualified_name();
    const auto parts = split(key.substr(kRegistryKeys.size()), '/');
    return parts.size() > 1 ? cat(parts[1], ".", parts[0]) : std::string(parts[0]);
  }

  Result<std::string> write_shared(std::string_view key, std::string_view value) const {
    if (key == kNodePortsKey) return NodePortRange::to_etcd(value);
    auto object = json::parse(value, json::kMaxStoredDepth);
    if (!object) return fail(object.error());
    const Resource* kind = kind_at(key);
    if (!kind) return json::print(*object) + "\n";
    if (is_kept_as_json(*kind)) return json::print_object(*object) + "\n";
    return schema::encode_enveloped(*kind->schema, *object).bytes;
  }

  // Objects of our own kinds are JSON, as they are.
  Result<std::string> read_own(std::string_view key, std::string_view value) const {
    if (!key.starts_with(kRegistryKeys)) return std::string(value);
    auto object = json::parse(value, json::kMaxStoredDepth);
    if (object && (*object)["metadata"].is_object()) return std::string(value);
    tell(key, "it is no object");
    return fail(bad_request("it is no object"));
  }

  Result<std::string> read_shared(std::string_view key, std::string_view value) const {
    if (key == kNodePortsKey) return NodePortRange::from_etcd(value);
    const Resource* kind = kind_at(key);
    auto object = kind ? read_builtin(*kind, value) : json::parse(value, json::kMaxStoredDepth);
    if (!object) return fail(object.error());
    if (!object->is_object() || !(*object)["metadata"].is_object())
      return fail(bad_request("it is no object"));
    object->member("metadata").erase("resourceVersion");
    return json::print_object(*object);
  }

  // The object in the storage version of `kept`.
  Result<Value> read_builtin(const Resource& kept, std::string_view value) const {
    json::Document document;
    schema::Envelope envelope;
    const bool is_protobuf = value.starts_with(schema::kProtobufMagic);
    if (is_protobuf) {
      auto opened = schema::open_envelope(value);
      if (!opened) return fail(opened.error());
      envelope = *opened;
    } else {
      auto parsed = json::parse(value, json::kMaxStoredDepth);
      if (!parsed) return fail(bad_request("it is neither Protobuf nor JSON"));
      document.value = is_old_definition(*parsed) ? definition_from_v1beta1(*parsed)
                                                  : std::move(*parsed);
      envelope.api_version = document.value["apiVersion"].as_string();
      envelope.kind = document.value["kind"].as_string();
    }
    const Resource* written = version_of(kept, envelope.api_version);
    if (!written || envelope.kind != kept.kind)
      return fail(bad_request(cat("it is a `", envelope.kind, "` of `", envelope.api_version,
                                  "` where a `", kept.kind, "` belongs")));
    if (is_protobuf) {
      auto message = schema::decode_protobuf(*written->schema, envelope.raw);
      if (!message) return fail(message.error());
      document.value = std::move(*message);
      document.value.set("kind", envelope.kind);
    }
    document.value.set("apiVersion", written->api_version());
    auto decoded = decode_form(*catalog_, *written, *written->schema, document, "");
    if (!decoded) return fail(decoded.error());
    if (written == &kept) return std::move(decoded->value);
    return converted(decoded->value, *written, kept);
  }

  const Resource* version_of(const Resource& kept, std::string_view api_version) const {
    if (api_version == kept.api_version()) return &kept;
    // kube-apiserver 1.36 keeps these in an earlier version, which has the same fields.
    const bool is_mutating_policy = kept.name == "mutatingadmissionpolicies" ||
                                    kept.name == "mutatingadmissionpolicybindings";
    if (is_mutating_policy && (api_version == "admissionregistration.k8s.io/v1beta1" ||
                               api_version == "admissionregistration.k8s.io/v1alpha1"))
      return &kept;
    const std::size_t slash = api_version.find('/');
    const bool is_core = slash == std::string_view::npos;
    const Resource* written = catalog_->find(is_core ? "" : api_version.substr(0, slash),
                                             is_core ? api_version : api_version.substr(slash + 1),
                                             kept.name);
    return written && written->storage_prefix == kept.storage_prefix ? written : nullptr;
  }

  void tell(std::string_view key, std::string_view why) const {
    if (notice_ && notices_.fetch_add(1, std::memory_order_relaxed) < kMostNotices)
      notice_(cat(kNoticePrefix, ": `", key, "`: ", why));
  }

  const std::shared_ptr<const CurrentEncryption> encryption_;  // null: nothing is encrypted
  const std::function<void(const std::string&)> notice_;
  mutable std::atomic<int> notices_ = 0;
  const std::shared_ptr<const catalog::Catalog> catalog_;
  std::map<std::string, const Resource*, std::less<>> kinds_;  // by prefix
  std::set<std::string, std::less<>> own_groups_;              // "access.cardea.dev"
  std::set<std::string, std::less<>> own_versions_;            // "v1alpha1.access.cardea.dev"
};

}  // namespace

std::shared_ptr<const store::EtcdEncoding> kubernetes_encoding(
    std::shared_ptr<const CurrentEncryption> encryption,
    std::function<void(const std::string&)> notice) {
  return std::make_shared<KubernetesEncoding>(std::move(encryption), std::move(notice));
}

}  // namespace cardea::rest
