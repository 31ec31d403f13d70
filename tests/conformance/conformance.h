#pragma once
#include <string>

#include "json/value.h"

namespace cardea::conformance {

// What a data-driven test saw. Differences are printed as they are found.
struct Counts {
  int passed = 0;
  int failed = 0;
  int skipped = 0;

  Counts& operator+=(const Counts& o) {
    passed += o.passed;
    failed += o.failed;
    skipped += o.skipped;
    return *this;
  }
  void check(bool ok) { ok ? ++passed : ++failed; }
};

// The folder of public cases: $CARDEA_CONFORMANCE, else `shared/conformance` beside the repository; empty
// when there is none.
std::string folder();

// Reads a JSON file; stops the program with a clear line when it cannot.
json::Value read(const std::string& path);

Counts run_authn_config(const std::string& path);  // authn-config-validation.json
Counts run_oidc_claims(const std::string& path);   // oidc-claims.json, with keys made on the spot
Counts run_requestinfo(const std::string& path);  // requestinfo.json
Counts run_rbac(const std::string& path);              // rbac.json
Counts run_bootstrap_policy(const std::string& path);  // bootstrap-policy.json
Counts run_node_authorizer(const std::string& path);  // node-authorizer.json
Counts run_authz_config(const std::string& path);  // authz-config-validation.json
Counts run_policy_authorizer(const std::string& path);  // policy-authorizer.json
Counts run_sar(const std::string& path);          // sar.json
Counts run_impersonation(const std::string& path);  // impersonation.json
Counts run_conditional(const std::string& path);  // conditional-authz.json
// smd-compare.json, each pair of documents also in reverse; skips schemas without a counterpart in ours.
Counts run_smd_compare(const std::string& path);
// granular-design-vectors.json: changed fields, the permissions that guard them, and which verbs are asked in which order.
Counts run_granular(const std::string& path);
// The folder http/: who owns which fields after each recorded write, worked out without a server.
Counts run_ownership(const std::string& folder);

}  // namespace cardea::conformance
