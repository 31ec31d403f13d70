#pragma once
#include "rest/controllers/controller.h"

namespace cardea::rest {

// A controller that keeps one object of a fixed name in every active namespace. Its keys are the
// names of namespaces.
class NamespaceContent : public Controller {
 protected:
  // `prefix` is the key prefix of the objects, `object` their name in messages.
  NamespaceContent(ControllerContext context, std::string name, std::string prefix,
                   std::string object);

  bool cares(const store::Event& event) const override;
  void observe(const store::Event& event) override;
  Task<Result<void>> reconcile(std::string key) override;

  // Brings the object of an active namespace to its desired state; `record` is null when it does
  // not exist.
  virtual Task<Result<void>> restore(std::string namespace_name, store::RecordPtr record) = 0;

 private:
  std::string prefix_;
  std::string object_;
};

}  // namespace cardea::rest
