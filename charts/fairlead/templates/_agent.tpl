{{/* Arguments of the agent. */}}
{{- define "fairlead.args" -}}
- agent
- {{ printf "--name=%s" (include "fairlead.agentName" .) | quote }}
- {{ printf "--source=%s" .Values.source.url | quote }}
{{- with .Values.source.ref }}
- {{ printf "--ref=%s" . | quote }}
{{- end }}
{{- with .Values.source.path }}
- {{ printf "--path=%s" . | quote }}
{{- end }}
{{- with .Values.source.fleetID }}
- {{ printf "--fleet-id=%s" . | quote }}
{{- end }}
{{- if .Values.source.existingSecret }}
- --credentials=/etc/fairlead/source
{{- end }}
{{- if .Values.source.trustedKeys.existingSecret }}
- --trusted-keys=/etc/fairlead/trusted-keys
{{- end }}
{{- with .Values.status.branch }}
- {{ printf "--status-branch=%s" . | quote }}
{{- end }}
{{- with .Values.status.repository }}
- {{ printf "--status-repository=%s" . | quote }}
{{- end }}
{{- if .Values.status.existingSecret }}
- --status-credentials=/etc/fairlead/status
{{- end }}
{{- if .Values.status.signing.existingSecret }}
- --signing-key=/etc/fairlead/signing
{{- end }}
{{- if ((.Values.status).requestKeys).existingSecret }}
- --request-keys=/etc/fairlead/request-keys
{{- end }}
- --secrets=kubernetes
{{- if .Values.secrets.ageIdentities.existingSecret }}
- --age-identity-file=/etc/fairlead/age
{{- end }}
- --wait-for-ownership
- --leader-election
- {{ printf "--leader-election-lease=%s" (include "fairlead.fullname" .) | quote }}
- --interval={{ .Values.agent.interval }}
- --resync={{ .Values.agent.resync }}
- --workers={{ .Values.agent.workers }}
- --log-format={{ .Values.agent.logFormat }}
- --log-level={{ .Values.agent.logLevel }}
- --listen=:8080
{{- with .Values.metrics.clusters }}
- --metrics-clusters={{ . }}
{{- end }}
{{- if ((.Values.metrics).tls).existingSecret }}
- --listen-tls-cert=/etc/fairlead/metrics-tls/tls.crt
- --listen-tls-key=/etc/fairlead/metrics-tls/tls.key
{{- if .Values.metrics.tls.clients }}
- --listen-client-ca=/etc/fairlead/metrics-tls/ca.crt
{{- end }}
{{- end }}
{{- if ((.Values.metrics).token).existingSecret }}
- --listen-token-file=/etc/fairlead/metrics-token/token
{{- end }}
{{- with .Values.forge }}
{{- with .kind }}
- {{ printf "--forge=%s" . | quote }}
{{- end }}
{{- with .url }}
- {{ printf "--forge-url=%s" . | quote }}
{{- end }}
{{- if .existingSecret }}
- --forge-credentials=/etc/fairlead/forge
{{- end }}
{{- end }}
{{- if .Values.webhook.enabled }}
- --webhook-listen=:9292
- --webhook-secret-dir=/etc/fairlead/webhook
{{- if (.Values.webhook.tls).existingSecret }}
- --webhook-tls-cert=/etc/fairlead/webhook-tls/tls.crt
- --webhook-tls-key=/etc/fairlead/webhook-tls/tls.key
{{- end }}
{{- end }}
{{- with ((.Values.notifications).existingSecrets) }}
- --notification-credentials=/etc/fairlead/notifications
{{- end }}
{{- if (.Values.page).enabled }}
- --page-listen=:8090
{{- range .Values.page.hosts }}
- --page-host={{ . }}
{{- end }}
{{- with .Values.page.forge }}
- --page-forge={{ . }}
{{- end }}
{{- end }}
{{- if .Values.autoscaler.enabled }}
- --autoscaler-listen=:8086
- --autoscaler-cert=/etc/fairlead/autoscaler/tls.crt
- --autoscaler-key=/etc/fairlead/autoscaler/tls.key
- --autoscaler-ca-cert=/etc/fairlead/autoscaler/ca.crt
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{/* Environment of the agent. */}}
{{- define "fairlead.env" -}}
- name: POD_NAME
  valueFrom:
    fieldRef: {fieldPath: metadata.name}
- name: POD_NAMESPACE
  valueFrom:
    fieldRef: {fieldPath: metadata.namespace}
- name: POD_IP
  valueFrom:
    fieldRef: {fieldPath: status.podIP}
{{- if ((.Values.resources).limits).memory }}
- name: GOMEMLIMIT
  valueFrom:
    resourceFieldRef: {containerName: agent, resource: limits.memory}
{{- end }}
{{- if .Values.ca.existingConfigMap }}
- name: SSL_CERT_DIR
  value: /etc/ssl/certs:/etc/fairlead/ca
{{- end }}
{{- with .Values.proxy }}
{{- if or .httpProxy .httpsProxy }}
{{- with .httpProxy }}
- name: HTTP_PROXY
  value: {{ . | quote }}
{{- end }}
{{- with .httpsProxy }}
- name: HTTPS_PROXY
  value: {{ . | quote }}
{{- end }}
- name: NO_PROXY
  value: {{ printf "$(KUBERNETES_SERVICE_HOST),.svc,.cluster.local,localhost,127.0.0.1%s" (ternary (printf ",%s" .noProxy) "" (ne .noProxy "")) | quote }}
{{- end }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* A volume of a Secret, which the agent's group may read. */}}
{{- define "fairlead.secretVolume" -}}
- name: {{ .name }}
  secret: {secretName: {{ .secret }}, defaultMode: 0440}
{{- end -}}

{{- define "fairlead.volumes" -}}
- name: tmp
  emptyDir: {sizeLimit: 16Mi}
{{- with .Values.source.existingSecret }}
{{ include "fairlead.secretVolume" (dict "name" "source" "secret" .) }}
{{- end }}
{{- with .Values.status.existingSecret }}
{{ include "fairlead.secretVolume" (dict "name" "status" "secret" .) }}
{{- end }}
{{- with (.Values.forge).existingSecret }}
{{ include "fairlead.secretVolume" (dict "name" "forge" "secret" .) }}
{{- end }}
{{- with .Values.source.trustedKeys.existingSecret }}
{{ include "fairlead.secretVolume" (dict "name" "trusted-keys" "secret" .) }}
{{- end }}
{{- with .Values.status.signing.existingSecret }}
{{ include "fairlead.secretVolume" (dict "name" "signing" "secret" .) }}
{{- end }}
{{- with ((.Values.status).requestKeys).existingSecret }}
{{ include "fairlead.secretVolume" (dict "name" "request-keys" "secret" .) }}
{{- end }}
{{- with .Values.secrets.ageIdentities.existingSecret }}
{{ include "fairlead.secretVolume" (dict "name" "age" "secret" .) }}
{{- end }}
{{- with ((.Values.metrics).tls).existingSecret }}
{{ include "fairlead.secretVolume" (dict "name" "metrics-tls" "secret" .) }}
{{- end }}
{{- with ((.Values.metrics).token).existingSecret }}
{{ include "fairlead.secretVolume" (dict "name" "metrics-token" "secret" .) }}
{{- end }}
{{- if .Values.webhook.enabled }}
{{ include "fairlead.secretVolume" (dict "name" "webhook" "secret" .Values.webhook.existingSecret) }}
{{- with (.Values.webhook.tls).existingSecret }}
{{ include "fairlead.secretVolume" (dict "name" "webhook-tls" "secret" .) }}
{{- end }}
{{- end }}
{{- range $target, $secret := ((.Values.notifications).existingSecrets) }}
{{ include "fairlead.secretVolume" (dict "name" (printf "notify-%s" $target) "secret" $secret) }}
{{- end }}
{{- if .Values.autoscaler.enabled }}
{{ include "fairlead.secretVolume" (dict "name" "autoscaler" "secret" .Values.autoscaler.existingSecret) }}
{{- end }}
{{- with .Values.ca.existingConfigMap }}
- name: ca
  configMap: {name: {{ . }}}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "fairlead.volumeMounts" -}}
- {name: tmp, mountPath: /tmp}
{{- if .Values.source.existingSecret }}
- {name: source, mountPath: /etc/fairlead/source, readOnly: true}
{{- end }}
{{- if .Values.status.existingSecret }}
- {name: status, mountPath: /etc/fairlead/status, readOnly: true}
{{- end }}
{{- if (.Values.forge).existingSecret }}
- {name: forge, mountPath: /etc/fairlead/forge, readOnly: true}
{{- end }}
{{- if .Values.source.trustedKeys.existingSecret }}
- {name: trusted-keys, mountPath: /etc/fairlead/trusted-keys, readOnly: true}
{{- end }}
{{- if .Values.status.signing.existingSecret }}
- {name: signing, mountPath: /etc/fairlead/signing, readOnly: true}
{{- end }}
{{- if ((.Values.status).requestKeys).existingSecret }}
- {name: request-keys, mountPath: /etc/fairlead/request-keys, readOnly: true}
{{- end }}
{{- if .Values.secrets.ageIdentities.existingSecret }}
- {name: age, mountPath: /etc/fairlead/age, readOnly: true}
{{- end }}
{{- if ((.Values.metrics).tls).existingSecret }}
- {name: metrics-tls, mountPath: /etc/fairlead/metrics-tls, readOnly: true}
{{- end }}
{{- if ((.Values.metrics).token).existingSecret }}
- {name: metrics-token, mountPath: /etc/fairlead/metrics-token, readOnly: true}
{{- end }}
{{- if .Values.webhook.enabled }}
- {name: webhook, mountPath: /etc/fairlead/webhook, readOnly: true}
{{- if (.Values.webhook.tls).existingSecret }}
- {name: webhook-tls, mountPath: /etc/fairlead/webhook-tls, readOnly: true}
{{- end }}
{{- end }}
{{- range $target, $secret := ((.Values.notifications).existingSecrets) }}
- {name: notify-{{ $target }}, mountPath: /etc/fairlead/notifications/{{ $target }}, readOnly: true}
{{- end }}
{{- if .Values.autoscaler.enabled }}
- {name: autoscaler, mountPath: /etc/fairlead/autoscaler, readOnly: true}
{{- end }}
{{- if .Values.ca.existingConfigMap }}
- {name: ca, mountPath: /etc/fairlead/ca, readOnly: true}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}
