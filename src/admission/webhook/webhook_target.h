#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "admission/objects.h"
#include "admission/outside.h"
#include "base/result.h"
#include "http/client.h"
#include "json/value.h"

namespace cardea::admission {

// Where a `clientConfig` points, for webhooks of admission and of conversion.
struct WebhookTarget {
  std::string url;
  std::string address;       // host and port that a connection goes to, as messages name it
  std::string connect_host;  // of a service: one of its endpoints; else empty
  std::uint16_t connect_port = 0;
};

// `query` follows the URL: `?timeout=10s`. An error is what follows `failed calling webhook`.
Result<WebhookTarget> webhook_target(const json::Value& client_config, std::string_view query,
                                     const Objects& objects, const catalog::Catalog& catalog);

// A client that trusts the `caBundle`, or the system's authorities if there is none. An error is in
// Kubernetes' words.
Result<std::shared_ptr<http::Client>> webhook_client(const json::Value& client_config,
                                                     const Outside& outside,
                                                     std::size_t largest_answer);

}  // namespace cardea::admission
