#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cardea/decision.h"
#include "cardea/fields.h"
#include "cardea/result.h"

namespace cardea::v1 {

// The user who asks. The library authenticates no user: authenticate first. Only the given groups
// count: none is added, not even system:authenticated.
struct User {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
};

// What is asked: may this user do this? Either about a resource, or about a path.
struct Request {
  User user;
  std::string verb;  // "get", "create", "update", "deletecollection"; of a path: "get", "post"

  std::string group;                           // "" is the core group, "apps"
  std::string version = "v1";                  // needed for conditional answers
  std::string resource;                        // "pods"; empty: the request is about a path
  std::string subresource;                     // "status"
  std::string namespace_name;                  // empty: the whole cluster
  std::string name;                            // empty: a collection, or a new object
  std::string field_selector, label_selector;  // "metadata.name=a", "app in (a,b)"

  std::string path;  // "/healthz"
};

// How an engine decides, beside its documents.
struct Options {
  // Whether the group system:masters may do everything, as in Kubernetes.
  bool masters = false;
  // The namespace whose Policy documents hold everywhere.
  std::string master_namespace = "master";
};

// Why a request is decided as it is.
struct Explanation {
  struct Answer {
    std::string authorizer;
    Outcome outcome = Outcome::kDeny;
    std::string reason, error;
  };
  // Rules that almost allow the request, nearest first: all parts but one fit.
  struct NearMiss {
    std::string text;                  // for a person
    std::string role_namespace, role;  // an empty namespace means a ClusterRole
  };
  Decision decision;
  std::vector<Answer> answers;  // of each authorizer by itself, in the order of asking
  std::vector<NearMiss> near_misses;
  std::string text;  // all of it, for a person
};

// Decides requests of users by the documents that were loaded into it.
//
// Authorizers are asked in this order, and the first Allow or Deny counts:
//   access   ClusterAccessPolicy and AccessPolicy (access.cardea.dev)
//   policy   Policy and PolicyBinding of namespaces (authorization.openshift.io)
//   rbac     Role, ClusterRole and their bindings (rbac.authorization.k8s.io)
//
// An engine without documents allows nothing. It reads no file, opens no connection, starts no
// thread and throws nothing.
//
// Threads: every function may be called from any thread, at the same time as any other. Asking
// takes no lock. A question is answered from one state of the documents, the one before a load or
// the one after it, never from a state in between. A question after load() has returned sees its
// effect.
class CARDEA_EXPORT Engine {
 public:
  explicit Engine(Options options = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Takes documents, JSON or YAML; several are separated by `---`, or stand in a List. Beside those
  // above: UncoveredPermissionSet (permissionconfig.k8s.io), PermissionMap, and
  // CustomResourceDefinition, whose resources have field permissions then. A document replaces the
  // one of the same kind, namespace and name. Rules of aggregated ClusterRoles are gathered from
  // the roles that they select.
  //
  // All or nothing: a document that Kubernetes would refuse, of another kind, or with an expression
  // that does not compile is an error, and then the engine is as it was. Gives the number of
  // documents.
  Result<std::size_t> load(std::string_view documents);
  // Removes the named documents: apiVersion, kind, metadata.namespace and metadata.name count. A
  // document that is not there is not an error. Returns the number of removed documents.
  Result<std::size_t> remove(std::string_view documents);

  // The first phase. Questions that make no sense get NoOpinion with an error.
  Decision ask(const Request& request) const;
  // The same for callers without an object: a conditional answer becomes Deny if it could become
  // one, otherwise NoOpinion.
  Decision ask_unconditionally(const Request& request) const;
  Explanation explain(const Request& request) const;

  // What making a change takes: of the fields that the objects differ in, without those that a
  // server writes itself. The user of the request plays no part. `create`, `update` and `patch`
  // change fields; objects are in the version of the request, as an API server would show them.
  // The subresource `scale` is not judged by fields of its object: it is an error here.
  Result<std::vector<FieldDemand>> field_demands(const Request& request,
                                                 const Change& change) const;
  // Whether the user may make it, all things considered: the verb of the request, with its
  // conditions settled by this change; without it the verb `granular` and a permission for each
  // field; and the permissions that nothing implies.
  Result<FieldJudgement> judge_fields(const Request& request, const Change& change) const;

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

}  // namespace cardea::v1
