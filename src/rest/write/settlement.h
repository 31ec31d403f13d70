#pragma once
#include <memory>
#include <optional>

#include "admission/plugin.h"
#include "authz/authorizer.h"
#include "base/task.h"
#include "schema/permissions/named_fields.h"

namespace cardea::impersonation {
struct OpenImpersonation;  // impersonation/impersonation.h
}

namespace cardea::rest {

struct Call;
struct FieldAccess;

// The proof that everything authorization left open about a request was decided, and allows what is
// about to be written. Only a Settlement makes one, and every commit of a verb takes one.
class Settled {
  friend class Settlement;
  Settled() = default;
};

// What a request says about its fields, and whether its caller may read the object
// (rest/write/blind_caller.h).
struct Sight {
  std::optional<bool> reads = {};  // whether the caller may get the object; nullopt: not asked yet
  bool has_read = false;           // the server has read the object, so its answer may speak of it
  bool is_refusal_plain = false;   // the refusal says nothing about the content of the object
  schema::NamedFields named = {};  // of an update, patch or apply
};

// Whatever authorization left open about one request, from the gateway to the commit:
//
//  - conditions, which need the objects,
//  - whether the sender may act for the user, where conditions on that need the objects,
//  - fields: the caller holds the verb `granular`, so the fields that the request changes decide,
//  - the creation behind an update: whether it is one is known when the object is looked for.
//
// A write asks it at named points, in the order of the functions below. One for each request.
class Settlement final : public admission::OpenAuthorization {
 public:
  Settlement(authz::Permit permit, bool is_granular,
             std::shared_ptr<const impersonation::OpenImpersonation> acting = nullptr);
  ~Settlement();
  Settlement(Settlement&&) noexcept;

  // What is open.
  bool is_granular() const { return is_granular_; }
  bool is_conditional() const { return permit_.is_conditional(); }  // the request's own permit
  bool has_conditions() const;                                      // of any sort
  // Whether the sender has not proved yet that it may act for the user. Until then it learns
  // nothing about the object.
  bool is_acting_open() const { return acting_ && !conditions_are_settled_; }
  bool acts_under_conditions() const { return acting_ != nullptr; }
  // The stored objects by which the request was allowed, as far as they are known.
  std::vector<authz::Ground> grounds() const;

  // Another attempt of the same write begins: what was settled on an object that has changed since
  // does not count.
  void start_over();

  // The object is not there, and the request would create it: that takes the permission to create.
  // The error is the 403.
  Task<Result<void>> ask_to_create(Call& call);

  // Connections to a pod, node or service take the permission to create, whatever the method is.
  // The error is the 403.
  Task<Result<void>> ask_to_connect(Call& call);
  // A proxy is asked for by `scheme:name:port`. What may be denied by its plain name is refused
  // under every other one; ordinary questions are about the name as it was written.
  Task<Result<void>> ask_about_plain_name(Call& call, std::string_view plain_name);

  // The fields of the request (rest/write/field_permissions.h).
  FieldAccess& fields();
  const FieldAccess* known_fields() const { return fields_.get(); }
  void settle_fields(bool are_covered) { fields_are_settled_ = are_covered; }

  // What the request does to the object itself, where the body is another kind: a Scale, a Binding,
  // an Eviction. Borrows until it is taken back.
  struct Whole {
    admission::Operation operation = admission::Operation::kUpdate;
    const catalog::Resource* resource = nullptr;  // null: the body is the object
    const json::Value* object = nullptr;
    const json::Value* old_object = nullptr;
    std::string_view name = {};
  };
  void show_whole(const Whole& whole) { whole_ = whole; }
  // The objects as they are stored, where the version of the request does not show all of them.
  // Conditions have to allow these too: a field that the version lacks would otherwise be out of
  // their sight.
  void show_stored(json::Value object, json::Value old_object);

  // For a Review of this call; null: nothing is open. What was settled before counts no more.
  admission::OpenAuthorization* reopen(Call& call);
  // Decides for the objects of the review. Called by admission when mutation is over.
  Task<Result<void>> settle(const admission::Review& review) override;
  // What was settled stands for all that follows from it: the pod that an Eviction deletes is not
  // asked about again.
  void close() { is_closed_ = true; }

  bool is_settled() const;
  // For the commit. An error when something is still open: such a request writes nothing.
  Result<Settled> proof() const;

  // Conditions refused, with a reason that speaks of the policy and not of the object.
  bool has_refused() const { return has_refused_; }

  Sight sight = {};
  json::Value refusal = {};  // the Status admission refused with, where it is more than its error

 private:
  // The objects in the version of the request, or as they are stored.
  enum class Form : std::uint8_t { kShown, kStored };
  Task<Result<void>> settle_on(const admission::Review& review, const json::Value& object,
                               const json::Value& old_object, Form form);
  Task<Result<void>> settle_on_stored(const admission::Review& review, const json::Value& object,
                                      const json::Value& old_object);
  // Whether the sender may act for the user, with the objects of `about`.
  Task<Result<void>> settle_acting(const admission::Review& review,
                                   const authz::ConditionData& about);
  // Conditions ended without an opinion: permissions on the fields that change may still allow it.
  // Nothing when the caller has no such permissions at all.
  Task<std::optional<Result<void>>> settle_by_fields();

  authz::Permit permit_;
  std::optional<authz::Permit> create_permit_;
  std::shared_ptr<const impersonation::OpenImpersonation> acting_;  // null: nothing is open
  const bool began_granular_;
  bool is_granular_;
  bool conditions_are_settled_ = false;
  bool fields_are_settled_ = false;
  bool is_closed_ = false;
  bool has_refused_ = false;
  Call* call_ = nullptr;  // while a review is open
  Whole whole_ = {};
  json::Value stored_object_ = {}, stored_old_object_ = {};  // null where nothing is hidden
  std::unique_ptr<FieldAccess> fields_;                      // null until the fields are looked at
};

}  // namespace cardea::rest
