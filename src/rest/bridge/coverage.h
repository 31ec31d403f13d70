#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "authz/attributes.h"
#include "base/result.h"
#include "json/value.h"

// The bridge for clusters whose kube-apiserver takes no conditions: see docs/bridge.md.
namespace cardea::rest::bridge {

// Where the cluster's admission webhook has to lead.
inline constexpr std::string_view kAdmissionPath = "/bridge/v1/admission";

// Whether answers about such a request may be bridged at all: kube-apiserver asks admission
// webhooks about it with the data that conditions need, and nobody else acts on the answer. The
// same for the question and for the review that settles it.
//
// Not: reads; reviews and admission's own configuration; bodies that are not the object (an
// Eviction, a Binding, a TokenRequest, a Scale), because they do not have its labels; subresources
// that are only permissions (`finalizers`); proxies, because kubelets ask the cluster about
// `nodes/proxy` themselves and settle nothing.
bool is_bridgeable(const authz::Attributes& attributes);

// The requests that the cluster sends to the bridge's admission webhook, as its configuration says
// at one moment. An immutable value.
class Coverage {
 public:
  // `configuration` is the ValidatingWebhookConfiguration, `webhook` the name of its entry,
  // `api_services` the list of the cluster's APIServices: groups of other servers do not pass
  // through the cluster's admission. The error says why the webhook does not stand behind the
  // bridge at all.
  static Result<Coverage> read(const json::Value& configuration, std::string_view webhook,
                               const json::Value& api_services);

  // Whether the webhook is asked about every such request, with its object in the version of the
  // request.
  bool covers(const authz::Attributes& attributes) const;

 private:
  struct GroupVersion {
    std::string group, version;
  };
  json::Value rules_;
  std::vector<GroupVersion> local_;  // what kube-apiserver serves itself
};

}  // namespace cardea::rest::bridge
