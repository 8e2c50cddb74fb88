{{/*
Refuses values that would look right and be wrong. Lists every mistake. Texts of secrets are not quoted.
values.schema.json refuses unknown keys, wrong types and wrong forms before this.
*/}}
{{- define "headgate.checks" -}}
{{- $v := .Values -}}
{{- $wrong := list -}}
{{- $hasRedis := include "headgate.hasRedis" . -}}

{{- if and (not $hasRedis) $v.autoscaling.enabled -}}
{{- $wrong = append $wrong "autoscaling.enabled: pods without Redis each count by themselves, so a client gets every limit once per pod. Set redis.existingSecret or redis.url, or autoscaling.enabled=false." -}}
{{- else if and (not $hasRedis) (gt (int $v.replicas) 1) -}}
{{- $wrong = append $wrong (printf "replicas: %d pods without Redis each count by themselves, so a client gets every limit %d times. Set redis.existingSecret or redis.url, or replicas=1." (int $v.replicas) (int $v.replicas)) -}}
{{- end -}}

{{- range $name, $given := dict "redis.url" (list $v.redis $v.redis.url "redis.existingSecret") "adminToken.value" (list $v.adminToken $v.adminToken.value "adminToken.existingSecret") "proxySecret.value" (list $v.proxySecret $v.proxySecret.value "proxySecret.existingSecret") "ipSaltSecret.value" (list $v.ipSaltSecret $v.ipSaltSecret.value "ipSaltSecret.existingSecret") "apiKeys.text" (list $v.apiKeys $v.apiKeys.text "apiKeys.existingSecret") -}}
{{- if and (first $given).existingSecret (index $given 1) -}}
{{- $wrong = append $wrong (printf "%s: %s is set as well, and only one of them can apply. Remove one." $name (last $given)) -}}
{{- end -}}
{{- end -}}
{{- if and $v.policyFile.text $v.policyFile.existingConfigMap -}}
{{- $wrong = append $wrong "policyFile.text: policyFile.existingConfigMap is set as well, and only one of them can apply. Remove one." -}}
{{- end -}}

{{- if and .Release.IsUpgrade (not $v.policyFile.text) (not $v.policyFile.existingConfigMap) -}}
{{- $wrong = append $wrong "policyFile: this upgrade would put the example policies of the chart in force. Set policyFile.text (--set-file policyFile.text=policies.yaml) or policyFile.existingConfigMap, or keep the values of the release with --reset-then-reuse-values." -}}
{{- end -}}

{{- with $v.redis.url -}}
{{- if not (regexMatch "^(rediss?|rediss?\\+(sentinel|cluster)|redis\\+(sentinel|cluster))://[^ ]+$" .) -}}
{{- $wrong = append $wrong "redis.url: must be a URL such as redis://user:password@host:6379/0, rediss://host, redis+sentinel://host:26379/mymaster or redis+cluster://host:6379." -}}
{{- end -}}
{{- end -}}
{{- with $v.adminToken.value -}}
{{- if not (regexMatch "^[A-Za-z0-9._~+/-]{16,256}=*$" .) -}}
{{- $wrong = append $wrong "adminToken.value: must be 16 to 256 letters, digits or any of -._~+/. Make one: openssl rand -hex 32" -}}
{{- end -}}
{{- end -}}
{{- with $v.proxySecret.value -}}
{{- if not (regexMatch "^[!-+\\--~]{16,256}(,[!-+\\--~]{16,256})*$" .) -}}
{{- $wrong = append $wrong "proxySecret.value: must be at least 16 letters, digits or punctuation marks without spaces; several are separated by commas. Make one: openssl rand -hex 32" -}}
{{- end -}}
{{- end -}}
{{- with $v.ipSaltSecret.value -}}
{{- if lt (len .) 32 -}}
{{- $wrong = append $wrong "ipSaltSecret.value: must be at least 32 characters. Make one: openssl rand -hex 32" -}}
{{- end -}}
{{- end -}}

{{- if not $v.policyFile.existingConfigMap -}}
{{- $file := include "headgate.policyText" . | fromYaml -}}
{{- if $file.Error -}}
{{- $wrong = append $wrong (printf "policyFile.text: is not a YAML map: %s. Check it with: headgate check FILE" $file.Error) -}}
{{- else if not (and $file.version $file.default) -}}
{{- $wrong = append $wrong "policyFile.text: is not a policy file, because `version` or `default` is missing. Check it with: headgate check FILE" -}}
{{- else -}}
{{- $keys := dig "identity" "api_key" "keys" "" $file -}}
{{- if and (include "headgate.hasKeys" .) (not (eq (toString $keys) "keys.yaml")) -}}
{{- $wrong = append $wrong "apiKeys: the policy file does not use them. Write this in it: identity: { api_key: { keys: keys.yaml } }" -}}
{{- else if and (kindIs "string" $keys) $keys (not (include "headgate.hasKeys" .)) -}}
{{- $wrong = append $wrong (printf "policyFile.text: identity.api_key.keys names the file %s, which no pod has. Set apiKeys.existingSecret or apiKeys.text, and name it keys.yaml." $keys) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- if $v.autoscaling.enabled -}}
{{- if gt (int $v.autoscaling.minReplicas) (int $v.autoscaling.maxReplicas) -}}
{{- $wrong = append $wrong (printf "autoscaling.minReplicas: %d is more than autoscaling.maxReplicas, %d." (int $v.autoscaling.minReplicas) (int $v.autoscaling.maxReplicas)) -}}
{{- end -}}
{{- if not (dig "requests" "cpu" "" $v.resources) -}}
{{- $wrong = append $wrong "autoscaling.enabled: the autoscaler measures CPU in percent of resources.requests.cpu, which is not set. Set it." -}}
{{- end -}}
{{- end -}}

{{- if not (or $v.service.http.enabled $v.service.grpc.enabled) -}}
{{- $wrong = append $wrong "service: no proxy could ask headgate. Set service.http.enabled or service.grpc.enabled." -}}
{{- end -}}
{{- if eq (int $v.service.http.port) (int $v.service.grpc.port) -}}
{{- $wrong = append $wrong "service.grpc.port: is the same as service.http.port. Choose another one." -}}
{{- end -}}
{{- if and $v.metrics.serviceMonitor.enabled (not (include "headgate.opsIsOpen" .)) -}}
{{- $wrong = append $wrong "metrics.serviceMonitor.enabled: without an admin token the ops server listens only on the loopback address of each pod, so Prometheus would find nothing. Set adminToken.existingSecret or adminToken.value." -}}
{{- end -}}
{{- if and (ne $v.podAntiAffinity "off") $v.affinity.podAntiAffinity -}}
{{- $wrong = append $wrong "podAntiAffinity: affinity.podAntiAffinity is set as well. Set podAntiAffinity=off, or remove the other." -}}
{{- end -}}

{{- $values := dict "HEADGATE_HOST" "listenAddress" "HEADGATE_OPS_HOST" "adminToken and listenAddress" "HEADGATE_GRPC_PORT" "service.grpc.enabled" "HEADGATE_POLICIES" "policyFile" "HEADGATE_DRAIN_MS" "drainSeconds" "HEADGATE_LOG_LEVEL" "logLevel" "HEADGATE_REDIS_URL" "redis" "REDIS_URL" "redis" "HEADGATE_ADMIN_TOKEN" "adminToken" "HEADGATE_PROXY_SECRET" "proxySecret" "HEADGATE_IP_SALT_SECRET" "ipSaltSecret" -}}
{{- $fixed := list "HEADGATE_PORT" "HEADGATE_OPS_PORT" "HEADGATE_LISTEN" -}}
{{- range $v.extraEnv -}}
{{- if hasKey $values .name -}}
{{- $wrong = append $wrong (printf "extraEnv: the chart sets %s itself. Set %s instead." .name (get $values .name)) -}}
{{- else if has .name $fixed -}}
{{- $wrong = append $wrong (printf "extraEnv: %s would not fit the probes and Services of the chart. Remove it; service.http.port and service.grpc.port choose the ports of the Service." .name) -}}
{{- end -}}
{{- end -}}

{{- if $wrong -}}
{{- fail (printf "\n\nheadgate: these values do not fit.\n\n  - %s\n" (join "\n  - " $wrong)) -}}
{{- end -}}
{{- end }}
