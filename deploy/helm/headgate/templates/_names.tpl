{{- define "headgate.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* `headgate` for a release called headgate, else RELEASE-headgate. Short enough for `-metrics` behind it. */}}
{{- define "headgate.fullname" -}}
{{- $name := include "headgate.name" . -}}
{{- $both := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{ default $both .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- define "headgate.selectorLabels" -}}
app.kubernetes.io/name: {{ include "headgate.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: gateway
{{- end }}

{{/* Labels of every object. Takes (list $ COMPONENT). */}}
{{- define "headgate.labels" -}}
{{- $root := first . -}}
app.kubernetes.io/name: {{ include "headgate.name" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ last . }}
app.kubernetes.io/part-of: headgate
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "headgate.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ default $.Chart.AppVersion .tag }}{{ end }}
{{- end }}
{{- end }}

{{- define "headgate.serviceAccountName" -}}
{{- $own := .Values.serviceAccount.create | ternary (include "headgate.fullname" .) "default" -}}
{{ default $own .Values.serviceAccount.name }}
{{- end }}

{{- define "headgate.policyConfigMap" -}}
{{ default (printf "%s-policies" (include "headgate.fullname" .)) .Values.policyFile.existingConfigMap }}
{{- end }}

{{- define "headgate.keySecret" -}}
{{ default (printf "%s-keys" (include "headgate.fullname" .)) .Values.apiKeys.existingSecret }}
{{- end }}
