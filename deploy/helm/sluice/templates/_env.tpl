{{- /* Variables of the service. $(NAME) refers to one above it. */}}
{{- define "sluice.env" -}}
{{- $scheme := include "sluice.scheme" . -}}
- name: POD_NAMESPACE
  valueFrom: { fieldRef: { fieldPath: metadata.namespace } }
- name: SLUICE_CONFIG
  value: /etc/sluice/sluice.yaml
- name: SLUICE_DRAIN_TIMEOUT
  value: {{ .Values.drainTimeout | quote }}
- name: SLUICE_PUBLIC_URL
  {{- if .Values.publicUrl }}
  value: {{ .Values.publicUrl | quote }}
  {{- else }}
  value: {{ printf "%s://%s.$(POD_NAMESPACE).svc:%v" $scheme (include "sluice.name" .) .Values.service.port | quote }}
  {{- end }}
{{- with .Values.apiKey }}
{{- if .existingSecret }}
{{ include "sluice.secretVariable" (list "SLUICE_API_KEY" .existingSecret .key) }}
{{- end }}
{{- end }}
{{- with .Values.secret }}
{{- if .existingSecret }}
{{ include "sluice.secretVariable" (list "SLUICE_SECRET" .existingSecret .key) }}
{{- end }}
{{- end }}
{{- with .Values.secretPrevious }}
{{- if .existingSecret }}
{{ include "sluice.secretVariable" (list "SLUICE_SECRET_PREVIOUS" .existingSecret .key) }}
{{- end }}
{{- end }}
{{- if .Values.tls.existingSecret }}
- name: SLUICE_TLS_CERT
  value: /etc/sluice-tls/tls.crt
- name: SLUICE_TLS_KEY
  value: /etc/sluice-tls/tls.key
{{- end }}
{{- /* A folder of the service's own: the group of the volume may write to the volume itself. */}}
{{- if eq .Values.store "sqlite" }}
- name: SLUICE_STORE
  value: sqlite:/data/sluice/sluice.db
{{- else }}
- name: SLUICE_DATA_DIR
  value: /data/sluice
- name: POD_IP
  valueFrom: { fieldRef: { fieldPath: status.podIP } }
- name: SLUICE_ADVERTISE_URL
  value: {{ printf "%s://$(POD_IP):8080" $scheme | quote }}
{{- with .Values.postgres }}
{{- if .host }}
{{ include "sluice.secretVariable" (list "PGPASSWORD" .existingSecret .passwordKey) }}
- name: SLUICE_STORE
  value: {{ printf "postgres://%s@%s:%v/%s%s" .user .host .port .database (empty .options | ternary "" (print "?" .options)) | quote }}
{{- else }}
{{ include "sluice.secretVariable" (list "SLUICE_STORE" .existingSecret .urlKey) }}
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}
