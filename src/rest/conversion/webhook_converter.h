#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "admission/objects.h"
#include "admission/outside.h"
#include "catalog/conversion.h"
#include "http/client.h"
#include "rest/conversion/turns.h"

namespace cardea::rest {

// Sends ConversionReviews to the webhooks that definitions name, and checks the answers. Objects
// that are converted together go in one review, large lists in several. A review that was not
// answered within 30 seconds has failed. So many reviews are under way at once, and others wait for
// their turn within these 30 seconds. Shared between threads; borrows everything.
class WebhookConverter : public catalog::WebhookConversion {
 public:
  WebhookConverter(admission::Objects objects, admission::Outside outside)
      : objects_(objects), outside_(outside) {}

  Task<Result<std::vector<json::Value>>> convert(std::vector<json::Value> objects,
                                                 const catalog::Resource& to,
                                                 const catalog::Catalog& catalog) const override;

 private:
  // One review. All objects are in other versions than `to`.
  Task<Result<std::vector<json::Value>>> ask(std::vector<json::Value> objects,
                                             const catalog::Resource& to,
                                             const catalog::Catalog& catalog) const;
  Result<std::shared_ptr<http::Client>> client_of(const json::Value& client_config) const;
  void count(std::string_view failure_type, std::chrono::nanoseconds took) const;

  admission::Objects objects_;
  admission::Outside outside_;
  // Connections are kept from one review to the next: one client for each bundle of authorities.
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<http::Client>, std::less<>> clients_;
  mutable Turns turns_{{.of_name = 32, .in_all = 128, .waiting = 10'000}};  // by definition
};

}  // namespace cardea::rest
