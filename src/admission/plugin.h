#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "authz/authorizer.h"
#include "authz/user.h"
#include "base/result.h"
#include "base/task.h"
#include "catalog/catalog.h"
#include "json/value.h"
#include "net/loop.h"
#include "store/store.h"

namespace cardea::admission {

enum class Operation { kCreate, kUpdate, kDelete, kConnect };
std::string_view operation_name(Operation operation);  // "CREATE"

struct Review;

// What authorization left open about a request, to be decided by what the request writes.
class OpenAuthorization {
 public:
  // Decides for the objects of this review, which no plugin changes any more. The error is the
  // refusal. Nothing is written by a request that was not settled.
  virtual Task<Result<void>> settle(const Review& review) = 0;

 protected:
  ~OpenAuthorization() = default;
};

// What admission has to say about a request in its audit event. One list for each request: a write
// that is tried again goes on with it.
struct AuditAnnotations {
  struct Entry {
    std::string key, value;
    bool needs_request_level = false;  // shown only in events that show the request's object
    bool replaces = false;  // what the event says under this key already: the server's own word,
                            // never a webhook's
  };
  std::vector<Entry> entries;  // in the order they came

  // The first to use a key keeps it.
  void add(std::string_view key, std::string_view value, bool needs_request_level = false);
  // The last one counts. For the server's own.
  void set(std::string_view key, std::string_view value);
};

// Those who change objects because somebody outside said so (policies, webhooks) may want to see
// what others made of their work. When one of them changed something, all plugins mutate once more,
// and of these callers only those who asked for it, were called before, and were followed by a
// change.
struct Reinvocation {
  bool is_wanted = false;
  bool is_second = false;  // this is that second time

  class Callers {
   public:
    // Whether `who` is called in this round.
    bool calls(const Reinvocation& r, std::string_view who) const {
      return !r.is_second || contains(again_, who);
    }
    void called(std::string_view who) { called_.emplace_back(who); }  // and asks to be called again
    void changed();  // all that were called so far are worth another call
    // The object as these callers find it and leave it: others may have changed it in between.
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

// What is about to happen, as a plugin sees it. Borrows everything but the object.
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
  AuditAnnotations* audit = nullptr;               // where annotate() goes; null: nobody keeps it
  json::Value* refusal = nullptr;  // where a plugin leaves a whole Status to answer with, beside
                                   // its error; may be null
  Reinvocation reinvocation = {};  // of mutation
  OpenAuthorization* authorization = nullptr;  // null: nothing is open
  net::Loop* loop = nullptr;  // of the connection: whoever waits goes on there; null when nothing
                              // may wait
  // What the admission rests on: the write happens only while these records are as they were seen,
  // otherwise all is asked again.
  mutable std::vector<store::Compare> relies_on = {};
  // What is written together with the object, in the same transaction. Each key is in relies_on
  // too.
  mutable std::vector<store::Put> also_writes = {};
  std::string_view now = {};              // RFC 3339; the time the request counts as
  mutable bool is_refusal_plain = false;  // what refused it never quotes objects

  // Adds to the audit event of the request, refused or not.
  void annotate(std::string_view key, std::string_view value,
                bool needs_request_level = false) const {
    if (audit) audit->add(key, value, needs_request_level);
  }
};

// Changes or refuses what authorization allowed. Run again when a write has to be retried, so both
// must be repeatable. Instances are shared between threads.
class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual std::string_view name() const = 0;
  virtual bool handles(const Review& review) const = 0;
  // Whether its refusals can be shown to callers who may not read the object: they say nothing of
  // what it holds.
  virtual bool refuses_plainly() const { return false; }
  virtual Task<Result<void>> mutate(Review& review) const;
  virtual Task<Result<void>> validate(const Review& review) const;
};

// Plugins in order: all mutate, later all validate. The first error ends it.
class Chain {
 public:
  explicit Chain(std::vector<std::unique_ptr<Plugin>> plugins) : plugins_(std::move(plugins)) {}
  Task<Result<void>> mutate(Review& review) const;
  Task<Result<void>> validate(const Review& review) const;
  // Whether any plugin would look at it.
  bool handles(const Review& review) const;

 private:
  std::vector<std::unique_ptr<Plugin>> plugins_;
};

}  // namespace cardea::admission
