#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"
#include "json/value.h"

namespace cardea::catalog::openapi {
class PublishedPermissions;
}

namespace cardea::catalog {

// A document as it is sent: its bytes and the ETag (quoted) by which a client asks whether the
// document changed.
struct PublishedDocument {
  std::string body;
  std::string etag;

  // Whether an If-None-Match header names this document; the answer is then 304.
  bool matches(std::string_view if_none_match) const;
};

// A document with its ETag.
std::shared_ptr<const PublishedDocument> publish(std::string body);

// The large documents in which a server describes itself. A document is written at the first
// request for it and kept until the catalogue changes. Documents that a changed
// CustomResourceDefinition does not concern are kept longer.
//
// May be called from any thread. A call that has to write a document may take some ten
// milliseconds.
class Publication {
 public:
  using Document = std::shared_ptr<const PublishedDocument>;

  // APIGroupDiscoveryList of /api (core) or /apis.
  Document aggregated_discovery(const Catalog& catalog, bool core);
  Document aggregated_discovery_protobuf(const Catalog& catalog, bool core);
  Document openapi_v2(const Catalog& catalog);
  Document openapi_v2_protobuf(const Catalog& catalog);
  // The list of OpenAPI v3 documents. Each URL contains the hash of its document.
  Document openapi_v3_index(const Catalog& catalog);
  // `path` without /openapi/v3/: "apis/apps/v1". Null if there is no such document. If the `hash`
  // parameter of a request is the document's ETag, the answer may be cached as immutable.
  Document openapi_v3(const Catalog& catalog, std::string_view path);
  // The same in Protobuf, with the same ETag, as Kubernetes has it.
  Document openapi_v3_protobuf(const Catalog& catalog, std::string_view path);

 private:
  struct Versioned {
    std::vector<json::Value> definitions;  // what the document was written from besides the
                                           // built-ins
    Document document;
    Document protobuf = {};  // made when it is first asked for
  };

  const openapi::PublishedPermissions& permissions(const Catalog& catalog);
  void forget_if_changed(const Catalog& catalog);
  Document v3(const Catalog& catalog, const std::string& path);

  std::mutex mutex_;
  std::uint64_t generation_ = 0;
  std::shared_ptr<const openapi::PublishedPermissions> permissions_;  // of built-in kinds
  std::shared_ptr<const PermissionMaps> maps_;  // the only thing that changes them
  Document discovery_[2], discovery_protobuf_[2], v2_, v2_protobuf_, v3_index_;
  std::map<std::string, Versioned, std::less<>> v3_;
};

}  // namespace cardea::catalog
