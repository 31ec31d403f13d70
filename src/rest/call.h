#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "admission/plugin.h"
#include "authn/authenticator.h"
#include "authz/current_chain.h"
#include "base/clock.h"
#include "base/random.h"
#include "catalog/catalog.h"
#include "http/exchange.h"
#include "rest/metrics.h"
#include "rest/present/negotiation.h"
#include "rest/write/allocator.h"
#include "schema/permissions/named_fields.h"
#include "store/store.h"

namespace cardea::authn {
class ServiceAccountTokens;
}

namespace cardea::rest {

class AuditTrail;
class CatalogHolder;
class Canonicalizer;
class FieldPermissions;  // rest/write/field_permissions.h
class WriteGuard;
struct FieldAccess;

// What every verb needs, built once by the program and shared by all requests.
struct Services {
  store::Store& store;
  CatalogHolder& catalog;
  const admission::Chain& admission;
  const authz::CurrentChain& authorizer;
  const Clock& clock;
  Random& random;
  Metrics& metrics;
  std::vector<Allocator*> allocators;
  std::vector<const WriteGuard*> guards;
  const Canonicalizer* canonicalizer = nullptr;  // null: every kind is written as its schema says
  bool allow_privileged = false;
  bool conditional_authorization = false;  // whether requests may be allowed under conditions
  const FieldPermissions* field_permissions = nullptr;  // null: the verb of a request decides about
                                                        // all fields
  const authn::AuthenticatorChain* authenticators = nullptr;            // asked by token reviews
  const authn::ServiceAccountTokens* service_account_tokens = nullptr;  // null: none are issued
};

// What a request says about its fields, and whether its caller may read the object
// (rest/write/blind_caller.h).
struct Sight {
  std::optional<bool> reads = {};  // whether the caller may get the object; nullopt: not asked yet
  bool has_read = false;  // the server has read the object: what it says from here on may speak of
                          // it
  bool is_refusal_plain = false;   // the refusal says nothing of what the object holds
  schema::NamedFields named = {};  // of an update, patch or apply
};

// One request on its way, after authentication and authorization: what it asks, who asks, and the
// proof that they may. Lives until the answer is given.
struct Call {
  std::shared_ptr<http::Exchange> exchange;
  Services& services;
  authz::RequestInfo info;
  authz::User user;
  authn::Identity identity;  // how the client was recognised; its user is in `user`
  authz::Permit permit;
  std::shared_ptr<const authz::Chain> chain;  // that made the permit, and settles its conditions
  std::shared_ptr<const catalog::Catalog> catalog;  // keeps `resource` alive
  const catalog::Resource* resource;
  const catalog::Subresource* subresource = nullptr;
  View view;
  std::string started;  // RFC 3339; the time this request counts as
  std::vector<std::string> warnings;
  mutable json::Value shown_user = {};
  std::optional<authz::Permit> create_permit = {};  // of an update that turns out to create
  admission::Authorization authorization = {};
  admission::AuditAnnotations audit_annotations = {};  // what admission adds to the audit event
  json::Value refusal = {};  // the Status admission refused with, where it is not made from the
                             // error
  std::shared_ptr<AuditTrail> trail = {};  // null: the request is not audited
  bool is_settled_for_good = false;  // on an object of its own, such as an Eviction: what follows
                                     // from it is not asked about

  bool is_granular = false;  // what is permitted is the verb `granular`: the fields that are
                             // changed decide
  bool fields_settled = false;
  std::shared_ptr<FieldAccess> fields = {};  // null until somebody looks at the fields
  Sight sight = {};

  // The user as objects and reviews show one; made when first asked for.
  const json::Value& user_info() const;

  bool has_conditions() const {
    return permit.is_conditional() || (create_permit && create_permit->is_conditional());
  }
  bool may_write() const {
    return (!has_conditions() || authorization.is_settled) && (!is_granular || fields_settled);
  }

  http::Request& request() { return exchange->request(); }
};

// What a verb says. The gateway turns it into bytes in the form the client wants.
struct Answer {
  int status = 200;
  json::Value document;      // an object, a list or a Status
  http::Body body;           // or bytes that are ready to send
  bool is_raw = false;       // whether `body` counts
  std::string content_type;  // of a raw body; JSON when empty
  bool transforms = true;    // whether tables and partial metadata apply to `document`
  bool is_list = false;
  std::vector<std::pair<std::string, std::string>> headers;
  bool is_streaming = false;  // the verb answers through the exchange itself

  static Answer of(json::Value document, int status = 200) {
    Answer a;
    a.status = status;
    a.document = std::move(document);
    return a;
  }
};

// Continues the coroutine on that loop, when whoever was waited for may have answered on a thread
// of its own.
inline auto continue_on(net::Loop& loop) {
  return await_callback<bool>([&loop](auto done) { loop.post([done]() mutable { done(true); }); });
}

// Continues the coroutine on the loop of the request's connection: writes complete on a thread of
// the store, and what follows belongs to the loop.
inline auto commit(Call& call, store::Txn txn) {
  return await_callback<Result<store::Commit>>([&call, txn = std::move(txn)](auto done) mutable {
    // INVARIANT: a request whose conditions or fields were not settled to an Allow writes nothing.
    if (!call.may_write())
      return done(Result<store::Commit>(fail(
          internal_error("the conditions or field permissions of this request were not settled"))));
    net::Loop& loop = call.exchange->loop();
    call.services.store.commit(std::move(txn), [&loop, done](Result<store::Commit> result) mutable {
      loop.post([done, result = std::move(result)]() mutable { done(std::move(result)); });
    });
  });
}

}  // namespace cardea::rest
