#pragma once
#include "base/result.h"
#include "json/value.h"
#include "rest/call.h"

namespace cardea::rest {

// The parameters of a connection as the API has types for them (PodExecOptions,
// PodPortForwardOptions, NodeProxyOptions...): what admission and conditions see as the object. The
// error is a parameter that cannot be read.
//
// INVARIANT: what is sent to a kubelet, pod or service is made of this, and not of the URL: nobody
// is asked about one command and another one is run.
Result<json::Value> connect_options(const Call& call);

// The parameters of pods/log, checked: PodLogOptions.
Result<json::Value> log_options(const Call& call);

}  // namespace cardea::rest
