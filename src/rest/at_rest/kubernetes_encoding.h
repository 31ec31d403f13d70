#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/snapshot.h"
#include "rest/at_rest/encryption.h"
#include "store/etcd/encoding.h"

namespace cardea::rest {

// The configuration of encryption, which a changed file may replace.
using CurrentEncryption = Snapshot<Encryption>;

// The layout of kube-apiserver: objects lie in etcd where it keeps them and as it writes them, so
// that both can serve one cluster. Built-in kinds are Protobuf in their storage version; custom
// resources, definitions and APIServices are JSON.
//
// Values may also be JSON, or in another version of their kind, as older servers left them; they
// are read as kube-apiserver reads them, with defaults. kube-apiserver 1.36 itself writes
// definitions in the version v1beta1, which is read too; here they are written in v1. A value of
// another kind than its key says is damaged.
//
// The kinds that only Cardea has, their APIServices, and the server's own keys lie where
// kube-apiserver does not look. Built-in kinds of Kubernetes that Cardea does not have are foreign.
//
// With `encryption` values are sealed and opened as it says, but for Cardea's own.
//
// `notice` gets one line for each value that cannot be read, up to a hundred; on the threads that
// read.
std::shared_ptr<const store::EtcdEncoding> kubernetes_encoding(
    std::shared_ptr<const CurrentEncryption> encryption = {},
    std::function<void(const std::string&)> notice = {});

// The key where kube-apiserver keeps which node ports are given out.
inline constexpr std::string_view kNodePortsKey = "/registry/ranges/servicenodeports";

}  // namespace cardea::rest
