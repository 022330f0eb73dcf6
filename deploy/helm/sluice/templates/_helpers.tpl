{{- define "sluice.name" -}}
{{ default .Release.Name .Values.fullnameOverride | trunc 53 | trimSuffix "-" }}
{{- end }}

{{- define "sluice.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ default (include "sluice.name" .) .Values.serviceAccount.name }}
{{- else -}}
{{ default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "sluice.selector" -}}
app.kubernetes.io/name: sluice
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "sluice.metadata" -}}
name: {{ include "sluice.name" . }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "sluice.labels" . | nindent 2 }}
{{- end }}

{{- define "sluice.scheme" -}}
{{ if .Values.tls.existingSecret }}https{{ else }}http{{ end }}
{{- end }}

{{- /* A variable from a Secret: (list name secret key) */}}
{{- define "sluice.secretVariable" -}}
- name: {{ index . 0 }}
  valueFrom: { secretKeyRef: { name: {{ index . 1 }}, key: {{ index . 2 }} } }
{{- end }}
