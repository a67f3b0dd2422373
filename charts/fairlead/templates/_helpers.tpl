{{- define "fairlead.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* Names of objects. Suffixes of up to 13 characters fit behind it. */}}
{{- define "fairlead.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "fairlead.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "fairlead.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "fairlead.selectorLabels" -}}
app.kubernetes.io/name: {{ include "fairlead.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "fairlead.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "fairlead.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: fairlead
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "fairlead.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "fairlead.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "fairlead.agentName" -}}
{{- default (include "fairlead.fullname" .) .Values.agent.name -}}
{{- end -}}

{{- define "fairlead.image" -}}
{{- with .Values.image -}}
{{- $name := .repository -}}
{{- if .registry -}}{{- $name = printf "%s/%s" .registry .repository -}}{{- end -}}
{{- if .digest -}}
{{- printf "%s@%s" $name .digest -}}
{{- else -}}
{{- printf "%s:%s" $name (default $.Chart.AppVersion .tag | replace "+" "_") -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Refuses an object of an API that the cluster does not have. */}}
{{- define "fairlead.needsAPI" -}}
{{- include "fairlead.check" .context -}}
{{- if not (.context.Capabilities.APIVersions.Has .api) -}}
{{- fail (printf "%s needs the API %s, which this cluster does not have: install %s, or switch it off. Where there is no cluster to ask (helm template), say --api-versions %s" .value .api .from .api) -}}
{{- end -}}
{{- end -}}

{{/* What no schema can say. */}}
{{- define "fairlead.check" -}}
{{- with .Values -}}
{{- if not .image.repository -}}
{{- fail "image.repository is empty: name the image, such as --set image.registry=registry.example.com --set image.repository=platform/fairlead (make image-push builds and pushes it)" -}}
{{- end -}}
{{- if and (not .image.tag) (not .image.digest) (eq $.Chart.AppVersion "dev") -}}
{{- fail "image.tag is empty, and this chart is a folder of the source code, whose version dev is the tag of no published image: set image.tag to the tag that you pushed with make image-push, or install a packed chart (make chart)" -}}
{{- end -}}
{{- if not .source.url -}}
{{- fail "source.url is empty: name the fleet repository, such as --set source.url=https://git.example.com/fleet.git" -}}
{{- end -}}
{{- if and (hasPrefix "oci://" .source.url) (not .status.repository) -}}
{{- fail "source.url is in a registry, where no status can be written: set status.repository to a Git repository, and status.existingSecret to a Secret with push access" -}}
{{- end -}}
{{- range $value, $url := dict "source.url" .source.url "status.repository" .status.repository -}}
{{- if regexMatch "^[a-z+]+://[^/@]*:[^/@]*@" $url -}}
{{- fail (printf "%s holds a password, which anyone with read access to the Deployment could read: put it into a Secret, and set existingSecret to its name" $value) -}}
{{- end -}}
{{- if regexMatch "^https?://[^/@]*@" $url -}}
{{- fail (printf "%s holds a user name or a token, which anyone with read access to the Deployment could read: put it into a Secret, and set existingSecret to its name" $value) -}}
{{- end -}}
{{- end -}}
{{- if and .webhook.enabled (not .webhook.existingSecret) -}}
{{- fail "webhook.enabled without webhook.existingSecret: anyone could call a webhook without a secret. Create one: kubectl create secret generic fairlead-webhook --from-literal=github=SECRET" -}}
{{- end -}}
{{- if and ((.status).requestKeys).existingSecret (not ((.status).signing).existingSecret) -}}
{{- fail "status.requestKeys without status.signing: an agent with request keys has to sign. Create a key, and add its public half to the request keys: ssh-keygen -t ed25519 -N '' -f identity" -}}
{{- end -}}
{{- if and .autoscaler.enabled (not .autoscaler.existingSecret) -}}
{{- fail "autoscaler.enabled without autoscaler.existingSecret: a client certificate identifies the cluster that may be scaled. Create a Secret: kubectl create secret generic fairlead-autoscaler --from-file=tls.crt --from-file=tls.key --from-file=ca.crt" -}}
{{- end -}}
{{- if and (or .webhook.ingress.enabled .webhook.httpRoute.enabled) (not .webhook.enabled) -}}
{{- fail "webhook.ingress or webhook.httpRoute is enabled and webhook.enabled is not: enable the webhook, or disable its ingress and route" -}}
{{- end -}}
{{- if and .webhook.ingress.enabled (not .webhook.ingress.host) -}}
{{- fail "webhook.ingress.host is empty: name the host that the forge calls" -}}
{{- end -}}
{{- if and .webhook.httpRoute.enabled (not .webhook.httpRoute.parentRefs) -}}
{{- fail "webhook.httpRoute.parentRefs is empty: name the Gateway, such as [{name: public, namespace: gateways}]" -}}
{{- end -}}
{{- if and .networkPolicy.enabled .networkPolicy.egress.enabled -}}
{{- if not .networkPolicy.egress.apiServer.cidrs -}}
{{- fail "networkPolicy.egress.apiServer.cidrs is empty: the agent could not reach its API server. Take the addresses from kubectl get service kubernetes -n default and kubectl get endpointslices -n default -l kubernetes.io/service-name=kubernetes" -}}
{{- end -}}
{{- if not .networkPolicy.egress.rules -}}
{{- fail "networkPolicy.egress.rules is empty: the agent could reach neither Git nor a cloud" -}}
{{- end -}}
{{- end -}}
{{- if and ((.metrics).token).existingSecret (not ((.metrics).tls).existingSecret) -}}
{{- fail "metrics.token.existingSecret without metrics.tls.existingSecret: plain HTTP would expose the token" -}}
{{- end -}}
{{- if and ((.metrics).tls).clients (not .metrics.tls.existingSecret) -}}
{{- fail "metrics.tls.clients without metrics.tls.existingSecret: client certificates need TLS" -}}
{{- end -}}
{{- if and .rbac.namespaces .rbac.allNamespaces -}}
{{- fail "rbac.namespaces and rbac.allNamespaces are both set: use one of them" -}}
{{- end -}}
{{- /* Who upgrades is not to lose clusters without a word. The Role is of who has the least already. */ -}}
{{- if and $.Release.IsUpgrade .rbac.create (not .rbac.namespaces) (not .rbac.allNamespaces) -}}
{{- $secrets := printf "%s-secrets" (include "fairlead.fullname" $) -}}
{{- if not (lookup "rbac.authorization.k8s.io/v1" "Role" $.Release.Namespace $secrets) -}}
{{- if lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" (printf "%s-%s" $.Release.Namespace $secrets) -}}
{{- fail (printf "this release may use the Secrets of all namespaces, and would keep those of %s alone, so that clusters of other namespaces were left as they are: name the namespaces of clusters in rbac.namespaces, or keep what is with rbac.allNamespaces=true" $.Release.Namespace) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if .shards -}}
{{- fail "shards is set, and replicas share no clusters: one replica leads, and the others stand by. Remove shards from the values; replicas may stay. See docs/operations/high-availability.md" -}}
{{- end -}}
{{- $kinds := list "gitea" "github" "gitlab" -}}
{{- with (.forge).kind -}}
{{- if has . (list "azure" "bitbucket" "bitbucket-data-center") -}}
{{- fail (printf "forge.kind is %q, whose pull requests are not planned: remove forge from the values, and plan branches with spec.pullRequests.refs in fleet.yaml, or run fairlead plan in CI. See docs/guides/fleet/pull-requests.md" .) -}}
{{- else if not (has . $kinds) -}}
{{- fail (printf "forge.kind is %q: must be one of %s, or empty" . (join ", " $kinds)) -}}
{{- end -}}
{{- end -}}
{{- range .extraArgs -}}
{{- if not (hasPrefix "--" .) -}}
{{- fail (printf "extraArgs holds %q: write each argument as --flag=value" .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
