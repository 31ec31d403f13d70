#pragma once
#include <memory>

#include "app/audit_options.h"
#include "audit/auditor.h"
#include "base/log.h"
#include "upstream/authorizer_factory.h"

namespace cardea::app {

// What the flags say about auditing; null when nothing is audited. What `surroundings` name
// outlives it, and so does the log.
Result<std::unique_ptr<audit::Auditor>> make_auditor(
    const AuditOptions& options, const upstream::WebhookSurroundings& surroundings, const Log& log);

}  // namespace cardea::app
