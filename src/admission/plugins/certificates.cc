// The plugins that check the permission to act for a signer, and the one that reserves a group.
#include <algorithm>

#include "admission/plugins.h"
#include "base/strings.h"
#include "catalog/kinds/certificates/pem.h"

namespace cardea::admission {
namespace {

using json::Value;

bool is_signing_request(const Review& r) {
  return r.resource.group == "certificates.k8s.io" &&
         r.resource.name == "certificatesigningrequests";
}

// Whether `user` may do `verb` for this signer: by its name, or by `DOMAIN/*`.
Task<bool> may_act_for_signer(const authz::CurrentChain& authorizer, const authz::User& user,
                              std::string signer, std::string verb) {
  authz::Attributes attributes(user);
  attributes.is_resource_request = true;
  attributes.verb = verb;
  attributes.api_group = "certificates.k8s.io";
  attributes.api_version = "*";
  attributes.resource = "signers";
  std::string domain = cat(signer.substr(0, signer.find('/')), "/*");
  for (std::string_view name : {std::string_view(signer), std::string_view(domain)}) {
    attributes.name = name;
    authz::Chain::Verdict verdict = co_await authorizer.authorize(attributes);
    if (verdict.decision.allowed()) co_return true;
  }
  co_return false;
}

// Approving and signing need a permission of the signer's own, beside the one for the subresource.
class SignerPermission : public Plugin {
 public:
  SignerPermission(const authz::CurrentChain& authorizer, std::string_view name,
                   std::string_view subresource, std::string_view verb)
      : authorizer_(authorizer), name_(name), subresource_(subresource), verb_(verb) {}
  std::string_view name() const override { return name_; }

  bool handles(const Review& r) const override {
    return r.operation == Operation::kUpdate && is_signing_request(r) &&
           r.subresource == subresource_;
  }

  Task<Result<void>> validate(const Review& r) const override {
    // Only a change of what a signer says counts.
    if (verb_ == "sign" &&
        r.object["status"]["certificate"] == (*r.old_object)["status"]["certificate"] &&
        !(conditions_changed(r)))
      co_return Result<void>{};
    std::string signer((*r.old_object)["spec"]["signerName"].as_string());
    bool allowed = co_await may_act_for_signer(authorizer_, r.user, signer, std::string(verb_));
    if (allowed) co_return Result<void>{};
    std::string_view what = verb_ == "sign" ? "sign" : "approve";
    co_return fail(forbidden(
        r, cat("user not permitted to ", what, " requests with signerName ", quoted(signer))));
  }

 private:
  static bool conditions_changed(const Review& r) {
    return !(r.object["status"]["conditions"] == (*r.old_object)["status"]["conditions"]);
  }

  const authz::CurrentChain& authorizer_;
  std::string_view name_, subresource_, verb_;
};

// No certificate gives membership in system:masters.
class CertificateSubjectRestriction : public Plugin {
 public:
  std::string_view name() const override { return "CertificateSubjectRestriction"; }
  bool handles(const Review& r) const override {
    return r.operation == Operation::kCreate && is_signing_request(r) && r.subresource.empty();
  }

  Task<Result<void>> validate(const Review& r) const override {
    if (r.object["spec"]["signerName"].as_string() != "kubernetes.io/kube-apiserver-client")
      co_return Result<void>{};
    Result<catalog::RequestSubject> subject = catalog::request_subject(
        r.object["spec"]["request"].as_string());
    if (!subject)
      co_return fail(forbidden(r, cat("failed to parse CSR: ", subject.error().message)));
    for (const std::string& group : subject->organizations)
      if (group == authz::kMastersGroup)
        co_return fail(forbidden(r, cat("use of kubernetes.io/kube-apiserver-client signer with ",
                                        group, " group is not allowed")));
    co_return Result<void>{};
  }
};

// A bundle under a signer's name needs that signer's `attest`.
class ClusterTrustBundleAttest : public Plugin {
 public:
  explicit ClusterTrustBundleAttest(const authz::CurrentChain& authorizer)
      : authorizer_(authorizer) {}
  std::string_view name() const override { return "ClusterTrustBundleAttest"; }
  bool handles(const Review& r) const override {
    bool writes = r.operation == Operation::kCreate || r.operation == Operation::kUpdate;
    return writes && r.resource.group == "certificates.k8s.io" &&
           r.resource.name == "clustertrustbundles";
  }

  Task<Result<void>> validate(const Review& r) const override {
    std::string signer(r.object["spec"]["signerName"].as_string());
    // Collecting garbage needs no permission.
    if (signer.empty() || (r.old_object && (*r.old_object)["spec"] == r.object["spec"]))
      co_return Result<void>{};
    bool allowed = co_await may_act_for_signer(authorizer_, r.user, signer, "attest");
    if (allowed) co_return Result<void>{};
    co_return fail(
        forbidden(r, cat("user not permitted to attest for signerName ", quoted(signer))));
  }

 private:
  const authz::CurrentChain& authorizer_;
};

}  // namespace

std::unique_ptr<Plugin> certificate_approval(const authz::CurrentChain& authorizer) {
  return std::make_unique<SignerPermission>(authorizer, "CertificateApproval", "approval",
                                            "approve");
}
std::unique_ptr<Plugin> certificate_signing(const authz::CurrentChain& authorizer) {
  return std::make_unique<SignerPermission>(authorizer, "CertificateSigning", "status", "sign");
}
std::unique_ptr<Plugin> certificate_subject_restriction() {
  return std::make_unique<CertificateSubjectRestriction>();
}
std::unique_ptr<Plugin> cluster_trust_bundle_attest(const authz::CurrentChain& authorizer) {
  return std::make_unique<ClusterTrustBundleAttest>(authorizer);
}

}  // namespace cardea::admission
