{{- define "cardea.name" -}}
{{- if contains "cardea" .Release.Name }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}{{ else }}{{ printf "%s-cardea" .Release.Name | trunc 63 | trimSuffix "-" }}{{ end -}}
{{- end }}
{{- define "cardea.selector" -}}
app.kubernetes.io/name: cardea
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "cardea.labels" -}}
{{ include "cardea.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: {{ .Values.mode }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
{{- define "cardea.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ default $.Chart.AppVersion .tag }}{{ end }}
{{- end -}}
{{- end }}
