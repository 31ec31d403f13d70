#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "authz/authorizer.h"
#include "authz/user.h"
#include "base/metrics.h"
#include "base/result.h"
#include "base/task.h"
#include "base/trace.h"
#include "catalog/catalog.h"
#include "catalog/conversion.h"
#include "json/value.h"
#include "net/loop.h"
#include "store/store.h"

namespace cardea::admission {

enum class Operation { kCreate, kUpdate, kDelete, kConnect };
std::string_view operation_name(Operation operation);  // "CREATE"

struct Review;
class Durations;  // admission_metrics.h

// What authorization left open about a request, to be decided by what the request writes.
class OpenAuthorization {
 public:
  // Decides for the objects of this review, which no plugin changes any more. The error is the
  // refusal. Nothing is written by a request that was not settled.
  virtual Task<Result<void>> settle(const Review& review) = 0;

 protected:
  ~OpenAuthorization() = default;
};

// The annotations that admission adds to the audit event of a request. One list for each
// request: a retried write continues with it.
struct AuditAnnotations {
  struct Entry {
    std::string key, value;
    bool needs_request_level = false;  // shown only in events that show the request's object
    bool replaces = false;  // the event already has a value under this key: it is the server's own,
                            // never a webhook's
  };
  std::vector<Entry> entries;  // in the order they came

  // The first value of a key is kept.
  void add(std::string_view key, std::string_view value, bool needs_request_level = false);
  // The last value of a key is kept. For the server's own annotations.
  void set(std::string_view key, std::string_view value);
};

// Policies and webhooks change objects, and may ask to see the changes that came after theirs.
// When one of them changed something, all plugins mutate once more. Of the policies and
// webhooks only those are called again that asked for it, were called before, and were followed
// by a change.
struct Reinvocation {
  bool is_wanted = false;
  bool is_second = false;  // this is the second round

  class Callers {
   public:
    // Whether `who` is called in this round.
    bool calls(const Reinvocation& r, std::string_view who) const {
      return !r.is_second || contains(again_, who);
    }
    void called(std::string_view who) { called_.emplace_back(who); }  // and asks to be called again
    void changed();  // all callers so far may be called again
    // The object before and after these callers: others may have changed it in between.
    void begin(const Reinvocation& r, const json::Value& object) {
      if (r.is_second && left_ != object) changed();
    }
    void end(const json::Value& object) { left_ = object; }

   private:
    static bool contains(const std::vector<std::string>& list, std::string_view who);
    std::vector<std::string> called_, again_;
    json::Value left_;
  };
  Callers policies, webhooks;
};

// The request as a plugin sees it. Borrows everything but the object.
struct Review {
  Operation operation;
  const catalog::Catalog& catalog;
  const catalog::Resource& resource;
  std::string_view subresource;     // "" for the object itself
  std::string_view namespace_name;  // "" for cluster-scoped
  std::string_view name;            // "" when it is not known yet
  const authz::User& user;
  bool dry_run = false;
  json::Value object;  // the new one; null on delete; a mutating plugin may change it
  const json::Value* old_object = nullptr;  // null on create
  json::Value options;
  mutable std::vector<std::string> warnings = {};  // shown to the client; validating plugins warn
                                                   // too
  AuditAnnotations* audit = nullptr;  // where annotate() writes; null: annotations are dropped
  json::Value* refusal = nullptr;     // where a plugin stores a whole Status for the answer, beside
                                      // its error; may be null
  Reinvocation reinvocation = {};     // of mutation
  OpenAuthorization* authorization = nullptr;  // null: nothing is open
  net::Loop* loop = nullptr;  // the loop of the connection, on which a waiting plugin continues;
                              // null when waiting is not possible
  // The records that admission relied on: the write happens only if they have not changed;
  // otherwise admission runs again.
  mutable std::vector<store::Compare> relies_on = {};
  // What is written together with the object, in the same transaction. Each key is in relies_on
  // too.
  mutable std::vector<store::Put> also_writes = {};
  std::string_view now = {};              // RFC 3339; the time the request counts as
  const Trace* trace = nullptr;           // null: the request is not traced
  mutable bool is_refusal_plain = false;  // the refusing plugin never quotes objects

  // Where webhooks convert between the versions of a custom resource: who asks them (null: nobody),
  // and what is known of their answers. Functions that read objects in another version do without
  // while `is_waiting`, and are called again after `wait_for_conversions`.
  const catalog::WebhookConversion* webhooks = nullptr;
  mutable std::shared_ptr<catalog::Conversions> conversions = {};

  // The object in another version, which a webhook makes; null while it is waited for.
  json::Value by_webhook(const json::Value& object_of_request, const catalog::Resource& as) const;
  bool is_waiting() const { return conversions && conversions->is_waiting(); }
  Task<Result<void>> wait_for_conversions() const;

  // Adds to the audit event of the request, refused or not.
  void annotate(std::string_view key, std::string_view value,
                bool needs_request_level = false) const {
    if (audit) audit->add(key, value, needs_request_level);
  }
};

// Changes or refuses a request that authorization allowed. It runs again when a write is
// retried, so both functions must be repeatable. Instances are shared between threads.
class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual std::string_view name() const = 0;
  virtual bool handles(const Review& review) const = 0;
  // Whether its refusals may be shown to callers that may not read the object: they must say
  // nothing about its content.
  virtual bool refuses_plainly() const { return false; }
  virtual Task<Result<void>> mutate(Review& review) const;
  virtual Task<Result<void>> validate(const Review& review) const;
};

// Plugins in order: all mutate, later all validate. The first error ends it.
class Chain {
 public:
  // `metrics` may be null: nothing is counted.
  explicit Chain(std::vector<std::unique_ptr<Plugin>> plugins, MetricRegistry* metrics = nullptr);
  ~Chain();
  Task<Result<void>> mutate(Review& review) const;
  Task<Result<void>> validate(const Review& review) const;
  // Whether any plugin handles it.
  bool handles(const Review& review) const;

 private:
  Task<Result<void>> mutate_once(Review& review) const;

  std::vector<std::unique_ptr<Plugin>> plugins_;
  std::unique_ptr<const Durations> durations_;  // null: nothing is counted
};

}  // namespace cardea::admission
