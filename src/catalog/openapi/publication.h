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

// A document as it is sent: its bytes and the ETag (quoted) by which a client asks whether it
// changed.
struct PublishedDocument {
  std::string body;
  std::string etag;

  // Whether an If-None-Match header names this document, so that 304 is the answer.
  bool matches(std::string_view if_none_match) const;
};

// The large documents a server describes itself with, written when first asked for and kept until
// the catalogue changes. What does not concern a changed CustomResourceDefinition is kept longer.
//
// May be called from any thread; a call may take some ten milliseconds when a document has to be
// written.
class Publication {
 public:
  using Document = std::shared_ptr<const PublishedDocument>;

  // APIGroupDiscoveryList of /api (core) or /apis.
  Document aggregated_discovery(const Catalog& catalog, bool core);
  Document openapi_v2(const Catalog& catalog);
  Document openapi_v2_protobuf(const Catalog& catalog);
  // The list of OpenAPI v3 documents, with URLs that carry each one's hash.
  Document openapi_v3_index(const Catalog& catalog);
  // `path` without /openapi/v3/: "apis/apps/v1". Null when there is no such document. A request
  // whose `hash` parameter is the document's ETag may be answered as immutable.
  Document openapi_v3(const Catalog& catalog, std::string_view path);

 private:
  struct Versioned {
    std::vector<json::Value> definitions;  // what the document was written from besides the
                                           // built-ins
    Document document;
  };

  const openapi::PublishedPermissions& permissions(const Catalog& catalog);
  void forget_if_changed(const Catalog& catalog);
  Document v3(const Catalog& catalog, const std::string& path);

  std::mutex mutex_;
  std::uint64_t generation_ = 0;
  std::shared_ptr<const openapi::PublishedPermissions> permissions_;  // of built-in kinds, which
                                                                      // never change
  Document discovery_[2], v2_, v2_protobuf_, v3_index_;
  std::map<std::string, Versioned, std::less<>> v3_;
};

}  // namespace cardea::catalog
