{{/* The chart renders the manifests of kustomize, each fitted to the values. */}}

{{/* Every document of the files that match a pattern, as one JSON list. */}}
{{- define "tidegate.documents" -}}
{{- $found := list -}}
{{- $namespace := .root.Release.Namespace -}}
{{- range $path, $_ := .root.Files.Glob .pattern -}}
{{- range regexSplit "(?m)^---$" ($.root.Files.Get $path) -1 -}}
{{- $found = append $found (fromYaml (replace "tidegate-system" $namespace .)) -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{/* A component's documents of partition 1, as one JSON list: those of another. */}}
{{- define "tidegate.partition" -}}
{{- $found := list -}}
{{- range fromJsonArray (include "tidegate.documents" (dict "root" .root "pattern" "manifests/partition/*.yaml")) -}}
{{- $named := regexReplaceAll "tidegate-(scheduler|actuator)-1\\b" (toJson .) (printf "tidegate-${1}-%d" $.number) -}}
{{- $doc := fromJson $named -}}
{{- range ((($doc.spec | default dict).template | default dict).spec | default dict).containers -}}
{{- range .env -}}
{{- if eq .name "TIDEGATE_PARTITION" -}}
{{- $_ := set . "value" (toString $.number) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $found = append $found $doc -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{/* What `tidegate manifests` printed, as one JSON list; empty: none was given. */}}
{{- define "tidegate.given" -}}
{{- $found := list -}}
{{- $account := ternary "tidegate" "" (eq .Values.mode "embedded") -}}
{{- range regexSplit "(?m)^---$" (replace "tidegate-system" .Release.Namespace .Values.manifests) -1 -}}
{{- $doc := fromYaml . -}}
{{- if and $account (eq ($doc.kind | default "") "ClusterRoleBinding") -}}
{{- range $doc.subjects -}}
{{- if eq .kind "ServiceAccount" -}}
{{- $_ := set . "name" $account -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $doc -}}
{{- $found = append $found $doc -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{/* Whether the webhook stands in for the mutating policies. */}}
{{- define "tidegate.webhook" -}}
{{- $served := .Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy" -}}
{{- $served = or $served (semverCompare ">=1.36.0-0" .Capabilities.KubeVersion.Version) -}}
{{- if or (eq .Values.admission "webhook") (and (eq .Values.admission "auto") (not $served)) -}}yes{{- end -}}
{{- end -}}

{{/* Whether a kind of object is wanted at all. */}}
{{- define "tidegate.wanted" -}}
{{- $values := .root.Values -}}
{{- $switches := dict "NetworkPolicy" $values.networkPolicies "PodDisruptionBudget" $values.podDisruptionBudgets "ServiceMonitor" $values.serviceMonitor "PrometheusRule" $values.prometheusRule "Kustomization" false "Component" false "MutatingWebhookConfiguration" (not $values.manifests) -}}
{{- $kind := .doc.kind | default "Kustomization" -}}
{{- if or (not (hasKey $switches $kind)) (get $switches $kind) -}}yes{{- end -}}
{{- end -}}

{{/* One document, printed. */}}
{{- define "tidegate.print" -}}
{{- if include "tidegate.wanted" . }}
---
{{ include "tidegate.fitted" . }}
{{- end -}}
{{- end -}}

{{- define "tidegate.fitted" -}}
{{- $values := .root.Values -}}
{{- $doc := .doc -}}
{{- $name := trimPrefix "tidegate-" $doc.metadata.name -}}
{{- $service := ternary "embedded" $name (and (eq $doc.kind "StatefulSet") (eq $name "tidegate")) -}}
{{- $_ := include "tidegate.noted" (dict "metadata" $doc.metadata "annotations" $values.annotations "labels" $values.labels) -}}
{{- if has $doc.kind (list "Deployment" "StatefulSet") -}}
{{- with (include "tidegate.own" (dict "values" $values.replicas "service" $service) | fromJson).value -}}
{{- $_ := set $doc.spec "replicas" . -}}
{{- end -}}
{{- with (include "tidegate.own" (dict "values" $values.strategy "service" $service) | fromJson).value -}}
{{- $_ := set $doc.spec (ternary "strategy" "updateStrategy" (eq $doc.kind "Deployment")) . -}}
{{- end -}}
{{- /* A changed configuration is a new pod: services read it at their start. */ -}}
{{- $sum := dict "tidegate.dev/configuration" (toJson $values.configuration | sha256sum) -}}
{{- $_ := include "tidegate.template" (dict "root" .root "service" $service "template" $doc.spec.template "annotations" $sum) -}}
{{- else if eq $doc.kind "CronJob" -}}
{{- $own := get $values.maintenance.jobs $name | default dict -}}
{{- range $field := list "schedule" "suspend" -}}
{{- if hasKey $own $field -}}
{{- $_ := set $doc.spec $field (get $own $field) -}}
{{- end -}}
{{- end -}}
{{- $_ := include "tidegate.template" (dict "root" .root "service" "maintenance" "template" $doc.spec.jobTemplate.spec.template "annotations" dict) -}}
{{- else if eq $doc.kind "NetworkPolicy" -}}
{{- $_ := include "tidegate.ports" (dict "values" $values "spec" $doc.spec) -}}
{{- else if eq $doc.kind "PersistentVolumeClaim" -}}
{{- $_ := include "tidegate.claim" (dict "spec" $doc.spec "storage" $values.maintenance.storage) -}}
{{- end -}}
{{- if eq $doc.kind "StatefulSet" -}}
{{- range $doc.spec.volumeClaimTemplates -}}
{{- $_ := include "tidegate.claim" (dict "spec" .spec "storage" $values.storage) -}}
{{- end -}}
{{- end -}}
{{- toYaml $doc -}}
{{- end -}}

{{- define "tidegate.claim" -}}
{{- $_ := set .spec.resources.requests "storage" .storage.size -}}
{{- if .storage.className -}}
{{- $_ := set .spec "storageClassName" .storage.className -}}
{{- end -}}
{{- end -}}

{{/* What values say of a service, as JSON; a partition's service has what partition 0's has, but where it is named. */}}
{{- define "tidegate.own" -}}
{{- $base := regexReplaceAll "^(scheduler|actuator)-[0-9]+$" .service "${1}" -}}
{{- toJson (dict "value" (get .values (ternary .service $base (hasKey .values .service)))) -}}
{{- end -}}

{{/* Annotations and labels beside those that an object has; its own labels select, and stay. */}}
{{- define "tidegate.noted" -}}
{{- $metadata := .metadata -}}
{{- range $field, $more := dict "annotations" .annotations "labels" .labels -}}
{{- if $more -}}
{{- $_ := set $metadata $field (merge (get $metadata $field | default dict) $more) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A pod's template, changed in place. */}}
{{- define "tidegate.template" -}}
{{- $values := .root.Values -}}
{{- $_ := include "tidegate.noted" (dict "metadata" .template.metadata "annotations" (merge .annotations $values.podAnnotations) "labels" $values.podLabels) -}}
{{- $tag := $values.images.tag | default .root.Chart.AppVersion -}}
{{- $spec := .template.spec -}}
{{- range concat ($spec.initContainers | default list) $spec.containers -}}
{{- $image := printf "%s%s:%s" $values.images.registry (regexReplaceAll ":.*" .image "") $tag -}}
{{- $_ := set . "image" (ternary $values.images.nats $image (eq .name "nats")) -}}
{{- if hasKey $values.resources .name -}}
{{- $_ := set . "resources" (get $values.resources .name) -}}
{{- end -}}
{{- $_ := include "tidegate.environment" (dict "values" $values "container" .) -}}
{{- if and (eq .name "serve") $values.serve.visibility -}}
{{- $_ := set . "args" (append .args "--visibility") -}}
{{- end -}}
{{- if hasKey $values.volumeMounts .name -}}
{{- $_ := set . "volumeMounts" (concat (.volumeMounts | default list) (get $values.volumeMounts .name)) -}}
{{- end -}}
{{- if $values.images.pullPolicy -}}
{{- $_ := set . "imagePullPolicy" $values.images.pullPolicy -}}
{{- end -}}
{{- end -}}
{{- range $spec.volumes -}}
{{- $_ := include "tidegate.authority" (dict "ca" $values.ca "volume" .) -}}
{{- $tls := get $values.secrets "serve" | default dict -}}
{{- if and $tls.tls (eq ((.secret | default dict).secretName | default "") "tidegate-serve-tls") -}}
{{- $_ := set .secret "secretName" $tls.tls -}}
{{- end -}}
{{- end -}}
{{- with (include "tidegate.own" (dict "values" $values.volumes "service" .service) | fromJson).value -}}
{{- $_ := set $spec "volumes" (concat ($spec.volumes | default list) .) -}}
{{- end -}}
{{- with (include "tidegate.own" (dict "values" $values.affinity "service" .service) | fromJson).value -}}
{{- $_ := set $spec "affinity" . -}}
{{- end -}}
{{- with $values.tolerations -}}
{{- $_ := set $spec "tolerations" (concat ($spec.tolerations | default list) .) -}}
{{- end -}}
{{- range $field, $value := dict "nodeSelector" $values.nodeSelector "priorityClassName" $values.priorityClassName "imagePullSecrets" $values.images.pullSecrets -}}
{{- if $value -}}
{{- $_ := set $spec $field $value -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A container's variables: each name once, what the values say before what the manifest says. */}}
{{- define "tidegate.environment" -}}
{{- $values := .values -}}
{{- $given := get $values.env .container.name | default list -}}
{{- if and (ne $values.clusterName "local") (ne .container.name "nats") (ne .container.name "migrate") -}}
{{- $given = prepend $given (dict "name" "TIDEGATE_CLUSTER" "value" $values.clusterName) -}}
{{- end -}}
{{- $names := list -}}
{{- range $given -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- $kept := list -}}
{{- range .container.env -}}
{{- with (.valueFrom | default dict).secretKeyRef -}}
{{- $own := get $values.secrets (trimPrefix "tidegate-" .name) | default dict -}}
{{- $key := ternary "natsUrl" "ledgerUrl" (eq .key "nats-url") -}}
{{- $_ := set . "key" (get $own $key | default .key) -}}
{{- $_ := set . "name" ($own.name | default .name) -}}
{{- end -}}
{{- if not (has .name $names) -}}
{{- $kept = append $kept . -}}
{{- end -}}
{{- end -}}
{{- if or $kept $given -}}
{{- $_ := set .container "env" (concat $kept $given) -}}
{{- end -}}
{{- end -}}

{{/* The volume of the authority's certificate: of another ConfigMap, or of a Secret. */}}
{{- define "tidegate.authority" -}}
{{- if eq ((.volume.configMap | default dict).name | default "") "tidegate-ca" -}}
{{- $items := list (dict "key" .ca.key "path" "ca.crt") -}}
{{- if .ca.secret -}}
{{- $_ := unset .volume "configMap" -}}
{{- $_ := set .volume "secret" (dict "secretName" .ca.secret "items" $items) -}}
{{- else -}}
{{- $_ := set .volume.configMap "name" .ca.configMap -}}
{{- if ne .ca.key "ca.crt" -}}
{{- $_ := set .volume.configMap "items" $items -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The ports that a NetworkPolicy lets out, by what listens there. */}}
{{- define "tidegate.ports" -}}
{{- $wanted := .values.networkPorts -}}
{{- range .spec.egress -}}
{{- $ports := list -}}
{{- range .ports -}}
{{- $port := int .port -}}
{{- $others := list -}}
{{- if eq $port 4222 }}{{ $others = $wanted.nats }}{{ end -}}
{{- if eq $port 5432 }}{{ $others = $wanted.postgresql }}{{ end -}}
{{- if eq $port 4318 }}{{ $others = $wanted.traces }}{{ end -}}
{{- if eq $port 443 }}{{ $others = $wanted.kubernetes }}{{ end -}}
{{- if $others -}}
{{- range $others -}}
{{- $ports = append $ports (dict "protocol" "TCP" "port" (int .)) -}}
{{- end -}}
{{- else if ne $port 6443 -}}
{{- $ports = append $ports . -}}
{{- end -}}
{{- end -}}
{{- $_ := set . "ports" $ports -}}
{{- end -}}
{{- end -}}
