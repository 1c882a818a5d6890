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

{{/* Whether a kind of object is wanted at all. */}}
{{- define "tidegate.wanted" -}}
{{- $values := .root.Values -}}
{{- $switches := dict "NetworkPolicy" $values.networkPolicies "PodDisruptionBudget" $values.podDisruptionBudgets "ServiceMonitor" $values.serviceMonitor "PrometheusRule" $values.prometheusRule "Kustomization" false -}}
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
{{- if has $doc.kind (list "Deployment" "StatefulSet") -}}
{{- $_ := set $doc.spec.template "spec" (fromJson (include "tidegate.pod" (dict "root" .root "spec" $doc.spec.template.spec))) -}}
{{- $service := trimPrefix "tidegate-" $doc.metadata.name -}}
{{- with get $values.replicas $service -}}
{{- $_ := set $doc.spec "replicas" . -}}
{{- end -}}
{{- /* A changed configuration is a new pod: services read it at their start. */ -}}
{{- $sum := toJson $values.configuration | sha256sum -}}
{{- $_ := set $doc.spec.template.metadata "annotations" (dict "tidegate.dev/configuration" $sum) -}}
{{- end -}}
{{- if eq $doc.kind "StatefulSet" -}}
{{- range $doc.spec.volumeClaimTemplates -}}
{{- $_ := set .spec.resources.requests "storage" $values.storage.size -}}
{{- if $values.storage.className -}}
{{- $_ := set .spec "storageClassName" $values.storage.className -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $doc -}}
{{- end -}}

{{/* A pod's spec as JSON, fitted. */}}
{{- define "tidegate.pod" -}}
{{- $values := .root.Values -}}
{{- $tag := $values.images.tag | default .root.Chart.AppVersion -}}
{{- $spec := .spec -}}
{{- range concat ($spec.initContainers | default list) $spec.containers -}}
{{- $image := printf "%s%s:%s" $values.images.registry (regexReplaceAll ":.*" .image "") $tag -}}
{{- $_ := set . "image" (ternary $values.images.nats $image (eq .name "nats")) -}}
{{- if hasKey $values.resources .name -}}
{{- $_ := set . "resources" (get $values.resources .name) -}}
{{- end -}}
{{- if hasKey $values.env .name -}}
{{- $_ := set . "env" (concat (.env | default list) (get $values.env .name)) -}}
{{- end -}}
{{- if $values.images.pullPolicy -}}
{{- $_ := set . "imagePullPolicy" $values.images.pullPolicy -}}
{{- end -}}
{{- end -}}
{{- range $field, $value := dict "nodeSelector" $values.nodeSelector "tolerations" $values.tolerations "priorityClassName" $values.priorityClassName "imagePullSecrets" $values.images.pullSecrets -}}
{{- if $value -}}
{{- $_ := set $spec $field $value -}}
{{- end -}}
{{- end -}}
{{- toJson $spec -}}
{{- end -}}
