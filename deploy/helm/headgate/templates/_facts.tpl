{{/* What follows from the values. A fact is "true" or empty. */}}

{{- define "headgate.hasRedis" -}}
{{- with .Values.redis }}{{ if or .url .existingSecret }}true{{ end }}{{ end }}
{{- end }}

{{- define "headgate.hasKeys" -}}
{{- with .Values.apiKeys }}{{ if or .text .existingSecret }}true{{ end }}{{ end }}
{{- end }}

{{/* Whether other pods can reach the ops server. headgate refuses that without a token. */}}
{{- define "headgate.opsIsOpen" -}}
{{- with .Values.adminToken }}{{ if or .value .existingSecret }}true{{ end }}{{ end }}
{{- end }}

{{- define "headgate.hasProxySecret" -}}
{{- with .Values.proxySecret }}{{ if or .value .existingSecret }}true{{ end }}{{ end }}
{{- end }}

{{/* The smallest number of pods. */}}
{{- define "headgate.pods" -}}
{{ .Values.autoscaling.enabled | ternary .Values.autoscaling.minReplicas .Values.replicas }}
{{- end }}

{{/* Whether extraEnv has the number of gateways: those outside of this release are unknown here. */}}
{{- define "headgate.hasOwnReplicas" -}}
{{- range .Values.extraEnv -}}
{{- if eq .name "HEADGATE_REPLICAS" -}}true{{- end -}}
{{- end -}}
{{- end }}

{{- define "headgate.policyText" -}}
{{ default (.Files.Get "files/policies.yaml") .Values.policyFile.text }}
{{- end }}

{{/* The secrets that are given as text: a map from key to text, as JSON. */}}
{{- define "headgate.ownSecrets" -}}
{{- $texts := dict -}}
{{- $given := list (list .Values.redis .Values.redis.url) -}}
{{- range $item := list .Values.adminToken .Values.proxySecret .Values.ipSaltSecret -}}
{{- $given = append $given (list $item $item.value) -}}
{{- end -}}
{{- range $given -}}
{{- if last . }}{{ $_ := set $texts (first .).key (last .) }}{{ end -}}
{{- end -}}
{{ toJson $texts }}
{{- end }}

{{/* A variable from a Secret, or nothing. Takes (list $ NAME ITEM TEXT). */}}
{{- define "headgate.secretVariable" -}}
{{- $item := index . 2 -}}
{{- if or (index . 3) $item.existingSecret }}
- name: {{ index . 1 }}
  valueFrom:
    secretKeyRef:
      name: {{ default (include "headgate.fullname" (first .)) $item.existingSecret }}
      key: {{ $item.key }}
{{- end }}
{{- end }}
