#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "authz/authorizer.h"
#include "base/metrics.h"
#include "rest/bridge/cluster_watch.h"
#include "rest/bridge/promises.h"
#include "rest/call.h"

namespace cardea::rest::bridge {

class AdmissionQuestion;

// Conditions for a cluster whose kube-apiserver takes none (docs/bridge.md). Where the cluster's
// admission certainly asks this server about the object, authorization says Allow to what
// conditions may allow, and admission settles them. Everywhere else answers are what they are
// without the bridge. Shared between threads.
class Bridge {
 public:
  // `askers` are the users of the cluster's kube-apiservers. Only they get bridged answers.
  // `longest_request`: how long a request may take there from authorization to admission.
  Bridge(std::vector<std::string> askers, std::chrono::milliseconds longest_request,
         std::unique_ptr<ClusterWatch> cluster, MetricRegistry& metrics);

  // The first phase, a SubjectAccessReview. Whether `asker` gets a bridged answer to this question:
  // then it is asked with conditions, and `answer` tells the result.
  bool bridges(const authz::User& asker, const authz::Attributes& question) const;
  // The answer for the cluster. A condition that may allow becomes Allow, one that can only deny no
  // opinion, as long as the cluster's admission stands behind it; otherwise both are folded.
  authz::Decision answer(const authz::Attributes& question, authz::Decision decision) const;
  // The answer to a probe of the bridge itself; nullopt: it is an ordinary question.
  std::optional<authz::Decision> answer_to_probe(const authz::User& asker,
                                                 const authz::Attributes& question) const;

  // The second phase, an AdmissionReview at kAdmissionPath. Every doubt refuses.
  static bool serves(const authz::RequestInfo& info) { return info.path == kAdmissionPath; }
  Task<Result<Answer>> admit(Call& call) const;

  std::string trouble() const { return cluster_->trouble(); }  // empty: the bridge is usable
  void start() { cluster_->start(); }
  void stop() { cluster_->stop(); }

 private:
  Task<std::string> judged(Call& call, const AdmissionQuestion& question) const;
  Task<Result<authz::Decision>> settled(Call& call, std::shared_ptr<const authz::Chain> chain,
                                        authz::Decision conditional,
                                        const AdmissionQuestion& question) const;

  const std::vector<std::string> askers_;
  const std::unique_ptr<ClusterWatch> cluster_;
  mutable Promises promises_;
  Counter &allowed_, &left_open_, &folded_, &admitted_, &refused_;
};

}  // namespace cardea::rest::bridge
