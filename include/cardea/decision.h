#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cardea/version.h"

namespace cardea::v1 {

// What the policies say about a request.
enum class Outcome : std::uint8_t {
  kDeny,         // no; no later authorizer can change that
  kAllow,        // yes
  kNoOpinion,    // nothing allows it: treat it as a no, unless you have others to ask
  kConditional,  // the object decides: see Decision::conditions and Decision::settle
};
CARDEA_EXPORT const char* name_of(Outcome outcome);  // "Allow"

// What a condition that holds leads to.
enum class Effect : std::uint8_t { kDeny, kNoOpinion, kAllow };
CARDEA_EXPORT const char* name_of(Effect effect);

// One condition of a conditional decision, for showing it or for evaluating it elsewhere.
//
// Of the conditions of one authorizer the Deny ones are asked first, then NoOpinion, then Allow;
// the first that holds is the authorizer's answer, and an error in a Deny condition is a Deny.
// Authorizers are asked in order until one allows or denies.
struct Condition {
  std::string authorizer;  // "access/cluster", "policy", "rbac": the authorizer that gave it
  std::string id;          // unique among those of one authorizer
  Effect effect = Effect::kDeny;
  std::string type;         // how the expression is to be read; "k8s.io/authorization-cel" is CEL
  std::string expression;   // what is left of it, over object, oldObject, request; "true": always
  std::string description;  // for people
};

// What is about to happen to an object. Texts are JSON or YAML; empty ones are not there.
struct Change {
  // "CREATE", "UPDATE", "DELETE", "CONNECT"; empty: what the verb of the request does.
  std::string operation;
  std::string object;            // as it will be: of CREATE and UPDATE
  std::string old_object;        // as it is: of UPDATE and DELETE
  std::string options;           // CreateOptions, UpdateOptions, DeleteOptions
  std::string namespace_object;  // the Namespace of the object, for conditions that read it
  bool dry_run = false;
};

// The answer to a request. A value: cheap to copy, good as long as it is kept, even when policies
// change or the engine is gone. May be read and settled from several threads at once.
//
// An error is never an allow: after any error the outcome is Deny or NoOpinion, and error() gives
// the text. A default-constructed decision denies.
class CARDEA_EXPORT Decision {
 public:
  Decision();

  Outcome outcome() const;
  // Whether the request may go on now. A conditional decision does not allow before it is settled.
  bool allowed() const { return outcome() == Outcome::kAllow; }

  std::string reason() const;                 // why, for a person: which binding, which policy
  std::string error() const;                  // what went wrong on the way; empty when nothing did
  std::vector<Condition> conditions() const;  // of a conditional decision, in the order of asking

  // The second phase: the outcome of a conditional decision when the object is known. The outcome
  // is Allow, Deny or NoOpinion. The policies are not read again: those of the first phase count. A
  // change without the objects that its operation needs, or with an object of another name or
  // namespace than in the question, is an error, and allows nothing. Other decisions stay as they
  // are.
  Decision settle(const Change& change) const;

  struct Content;
  explicit Decision(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  const Content& content() const;

 private:
  std::shared_ptr<const Content> content_;  // null: denies
};

}  // namespace cardea::v1
