{{/* Parts of the pod. */}}

{{- define "headgate.environment" -}}
{{- if ne .Values.listenAddress "0.0.0.0" }}
- { name: HEADGATE_HOST, value: {{ .Values.listenAddress | quote }} }
{{- end }}
{{- if include "headgate.opsIsOpen" . }}
# Probes and Prometheus use the address of the pod.
- { name: HEADGATE_OPS_HOST, value: {{ .Values.listenAddress | quote }} }
{{- end }}
{{- include "headgate.secretVariable" (list . "HEADGATE_ADMIN_TOKEN" .Values.adminToken .Values.adminToken.value) }}
- { name: HEADGATE_POLICIES, value: /etc/headgate/policies.yaml }
- { name: HEADGATE_DRAIN_MS, value: {{ mul .Values.drainSeconds 1000 | quote }} }
{{- if ne .Values.logLevel "info" }}
- { name: HEADGATE_LOG_LEVEL, value: {{ .Values.logLevel | quote }} }
{{- end }}
{{- if not .Values.service.grpc.enabled }}
- { name: HEADGATE_GRPC_PORT, value: "off" }
{{- end }}
{{- if and (include "headgate.hasRedis" .) (not (include "headgate.hasOwnReplicas" .)) }}
# The number of pods that share a limit while Redis is down, until headgate has learned it from Redis.
- { name: HEADGATE_REPLICAS, value: {{ include "headgate.pods" . | quote }} }
{{- end }}
{{- include "headgate.secretVariable" (list . "HEADGATE_REDIS_URL" .Values.redis .Values.redis.url) }}
{{- include "headgate.secretVariable" (list . "HEADGATE_IP_SALT_SECRET" .Values.ipSaltSecret .Values.ipSaltSecret.value) }}
{{- include "headgate.secretVariable" (list . "HEADGATE_PROXY_SECRET" .Values.proxySecret .Values.proxySecret.value) }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* None depends on Redis: otherwise a Redis outage would end all gateways, and on_store_failure would not apply. */}}
{{- define "headgate.probes" -}}
{{- if include "headgate.opsIsOpen" . -}}
startupProbe:
  httpGet: { path: /livez, port: ops }
  periodSeconds: 1
  failureThreshold: 30
readinessProbe:
  # Fails while the gateway drains.
  httpGet: { path: /readyz, port: ops }
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 2
livenessProbe:
  # Tolerant, to restart only a process that hangs: restarting a busy one would make the others busier.
  httpGet: { path: /livez, port: ops }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
{{- else -}}
# The kubelet cannot reach the loopback address of a pod. Each command starts Node, so it runs rarely.
startupProbe:
  exec: { command: [headgate, healthcheck, --ready] }
  periodSeconds: 1
  timeoutSeconds: 5
  failureThreshold: 30
livenessProbe:
  exec: { command: [headgate, healthcheck] }
  periodSeconds: 20
  timeoutSeconds: 5
  failureThreshold: 3
{{- end }}
{{- end }}

{{/* Which nodes the pods run on. */}}
{{- define "headgate.placement" -}}
{{- $spread := list -}}
{{- range $key, $rule := dict "kubernetes.io/hostname" .Values.topologySpread.node "topology.kubernetes.io/zone" .Values.topologySpread.zone -}}
{{- if ne $rule "off" -}}
{{- $labels := include "headgate.selectorLabels" $ | fromYaml -}}
{{- $spread = append $spread (dict "maxSkew" 1 "topologyKey" $key "whenUnsatisfiable" $rule "labelSelector" (dict "matchLabels" $labels)) -}}
{{- end -}}
{{- end -}}
{{- with $spread }}
topologySpreadConstraints: {{- toYaml . | nindent 2 }}
{{- end }}
{{- $affinity := deepCopy .Values.affinity -}}
{{- if ne .Values.podAntiAffinity "off" -}}
{{- $term := dict "topologyKey" "kubernetes.io/hostname" "labelSelector" (dict "matchLabels" (include "headgate.selectorLabels" . | fromYaml)) -}}
{{- if eq .Values.podAntiAffinity "required" -}}
{{- $_ := set $affinity "podAntiAffinity" (dict "requiredDuringSchedulingIgnoredDuringExecution" (list $term)) -}}
{{- else -}}
{{- $_ := set $affinity "podAntiAffinity" (dict "preferredDuringSchedulingIgnoredDuringExecution" (list (dict "weight" 100 "podAffinityTerm" $term))) -}}
{{- end -}}
{{- end -}}
{{- with $affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}
