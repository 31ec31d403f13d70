#pragma once
#include "catalog/kinds/path.h"
#include "json/field_error.h"
#include "json/value.h"

namespace cardea::catalog {

// The volume sources that both pods and persistent volumes may have. Each function checks one
// source, under its path ("spec.volumes[0].nfs").
using VolumeSourceCheck = void (*)(const json::Value& source, const Path& path,
                                   json::FieldErrors& out);

void validate_host_path(const json::Value& source, const Path& path, json::FieldErrors& out);
void validate_gce_disk(const json::Value& source, const Path& path, json::FieldErrors& out);
void validate_aws_disk(const json::Value& source, const Path& path, json::FieldErrors& out);
void validate_nfs(const json::Value& source, const Path& path, json::FieldErrors& out);
void validate_iscsi(const json::Value& source, const Path& path, json::FieldErrors& out);
void validate_glusterfs(const json::Value& source, const Path& path, json::FieldErrors& out);
void validate_flocker(const json::Value& source, const Path& path, json::FieldErrors& out);
void validate_rbd(const json::Value& source, const Path& path, json::FieldErrors& out);
void validate_cinder(const json::Value& source, const Path& path, json::FieldErrors& out);
void validate_cephfs(const json::Value& source, const Path& path, json::FieldErrors& out);
void validate_quobyte(const json::Value& source, const Path& path, json::FieldErrors& out);
void validate_fc(const json::Value& source, const Path& path, json::FieldErrors& out);
void validate_flex(const json::Value& source, const Path& path, json::FieldErrors& out);
void validate_azure_file(const json::Value& source, const Path& path, json::FieldErrors& out);
void validate_vsphere(const json::Value& source, const Path& path, json::FieldErrors& out);
void validate_photon(const json::Value& source, const Path& path, json::FieldErrors& out);
void validate_portworx(const json::Value& source, const Path& path, json::FieldErrors& out);
void validate_azure_disk(const json::Value& source, const Path& path, json::FieldErrors& out);
void validate_storageos(const json::Value& source, const Path& path, json::FieldErrors& out);
void validate_scale_io(const json::Value& source, const Path& path, json::FieldErrors& out);

// Persistent volumes only.
void validate_local_volume(const json::Value& source, const Path& path, json::FieldErrors& out);
void validate_persistent_csi(const json::Value& source, const Path& path, json::FieldErrors& out);

}  // namespace cardea::catalog
