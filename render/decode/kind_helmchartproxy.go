package decode

import (
	"net/url"
	"regexp"
	"strings"

	"fairlead.dev/fleet"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
)

func helmChartProxyKind() *kind {
	reuse := "values would depend on what was there before; put all of them into valuesTemplate"
	return &kind{
		group: "addons.cluster.x-k8s.io", name: "HelmChartProxy",
		versions:    []string{"v1alpha1"},
		nonNegative: true,
		new:         func(string) any { return &helmChartProxy{} },
		normalise:   normaliseHelmChartProxy,
		ours:        map[string]func(string) string{fleet.PruneAnnotation: yesOrNo},
		values:      map[string][]string{"spec.reconcileStrategy": {string(fleet.Continuous), string(fleet.InstallOnce)}},
		refused: metadataRefused(map[string]string{
			"spec.options.dependencyUpdate":             "charts in repositories hold the charts that they depend on; package it again with helm package --dependency-update",
			"spec.options.install.includeCRDs":          "definitions of kinds in the folder crds of a chart are installed without it; with it Helm finds them there already, and refuses",
			"spec.options.uninstall.description":        "the commit that took the chart out of Git says why",
			"spec.options.upgrade.recreate":             "Helm no longer has it; annotate the pod template of the chart with a checksum of what its pods are to restart for",
			"spec.options.upgrade.reuseValues":          reuse,
			"spec.options.upgrade.resetThenReuseValues": reuse,
		}),
		limited: map[string]string{
			"metadata.annotations":            "fairlead.dev/prune, cluster.x-k8s.io/paused; others do nothing",
			"metadata.name":                   "at most 63 characters: it is a label of the release",
			"metadata.namespace":              "the chart is for the clusters of this namespace in the same overlay",
			"spec.clusterSelector":            "by the labels of the Cluster; an empty one selects all",
			"spec.credentials":                "a Secret of the same namespace and overlay, which holds a config.json of Docker; for oci:// and https:// alike",
			"spec.options.takeOwnership":      "of the release too, where somebody else installed one of that name",
			"spec.options.timeout":            "of each hook, and of wait; 10 minutes where none is given",
			"spec.options.upgrade.force":      "objects are replaced instead of patched",
			"spec.options.wait":               "nothing else of the cluster waits for it",
			"spec.reconcileStrategy":          "a release of InstallOnce that somebody removes is installed again",
			"spec.releaseName":                "the name of the HelmChartProxy where none is given",
			"spec.repoURL":                    "https:// or oci://",
			"spec.tlsConfig.caSecret":         "a Secret of the same namespace and overlay, with ca.crt; trusted beside those of the system",
			"spec.valuesTemplate":             "Cluster, ControlPlane and InfraCluster are as Git has them, without status; Sprig's functions but those that give another result each time",
			"spec.version":                    "required, and no range: what is installed changes with a commit",
			"spec.options.upgrade.maxHistory": "10 where none is given",
		},
		unused: metadataUnused(map[string]string{
			"spec.options.enableClientCache":   "a chart is fetched once for all clusters",
			"spec.options.options":             "notes of charts are not shown",
			"spec.options.upgrade.resetValues": "values are those of Git, whatever was there before",
		}),
	}
}

// Source: Helm, pkg/chart/v2/util: ValidateReleaseName.
const maxReleaseName = 53

// A chart's name is part of a path.
var chartNames = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]*(/[a-zA-Z0-9][a-zA-Z0-9._-]*)*$`)

// normaliseHelmChartProxy keeps the defaults and rules of the schema and webhook
// of the addon provider for Helm. A strategy may change here: a commit says so.
func normaliseHelmChartProxy(v any) (any, field.ErrorList) {
	p := v.(*helmChartProxy)
	spec := field.NewPath("spec")
	errs := validateSelector(&p.Spec.ClusterSelector, spec.Child("clusterSelector"))
	for _, msg := range validation.IsValidLabelValue(p.Name) {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), p.Name, msg))
	}
	errs = append(errs, validateChart(&p.Spec, spec)...)
	if p.Spec.ReleaseName == "" {
		p.Spec.ReleaseName = p.Name
	}
	name := spec.Child("releaseName")
	for _, msg := range validation.IsDNS1123Subdomain(p.Spec.ReleaseName) {
		errs = append(errs, field.Invalid(name, p.Spec.ReleaseName, msg))
	}
	if len(p.Spec.ReleaseName) > maxReleaseName {
		errs = append(errs, field.TooLong(name, p.Spec.ReleaseName, maxReleaseName))
	}
	if p.Spec.ReleaseNamespace == "" {
		p.Spec.ReleaseNamespace = defaultNamespace
	}
	for _, msg := range validation.IsDNS1123Label(p.Spec.ReleaseNamespace) {
		errs = append(errs, field.Invalid(spec.Child("namespace"), p.Spec.ReleaseNamespace, msg))
	}
	if p.Spec.ReconcileStrategy == "" {
		p.Spec.ReconcileStrategy = string(fleet.Continuous)
	}
	if t := p.Spec.Options.Timeout; t != nil && t.Duration <= 0 {
		errs = append(errs, field.Invalid(spec.Child("options", "timeout"), t.Duration.String(), "must be more than nothing"))
	}
	if c := p.Spec.Credentials; c != nil {
		errs = append(errs, validateSecretRef(c.Secret.Name, c.Secret.Namespace, p.Namespace, spec.Child("credentials", "secret"))...)
	}
	if t := p.Spec.TLSConfig; t != nil && t.CASecret != nil {
		errs = append(errs, validateSecretRef(t.CASecret.Name, t.CASecret.Namespace, p.Namespace, spec.Child("tlsConfig", "caSecret"))...)
	}
	return p, errs
}

func validateChart(s *helmChartProxySpec, spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case s.ChartName == "":
		errs = append(errs, field.Required(spec.Child("chartName"), "the name of the chart in its repository"))
	case !chartNames.MatchString(s.ChartName):
		errs = append(errs, field.Invalid(spec.Child("chartName"), s.ChartName, "is no name of a chart; where it is goes into repoURL"))
	}
	u, err := url.Parse(s.RepoURL)
	switch at := spec.Child("repoURL"); {
	case s.RepoURL == "":
		errs = append(errs, field.Required(at, "https:// and the folder of an index.yaml, or oci:// and a registry"))
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "oci":
		errs = append(errs, field.Invalid(at, s.RepoURL, "must begin with https:// or oci:// and a host"))
	case u.User != nil:
		errs = append(errs, field.Forbidden(at, "holds a password; put it into a Secret that credentials names"))
	case u.RawQuery != "" || u.Fragment != "":
		errs = append(errs, field.Invalid(at, s.RepoURL, "must end with the path"))
	}
	if at := spec.Child("version"); s.Version == "" {
		errs = append(errs, field.Required(at, "a chart that changes without a commit is neither planned nor reverted; write the version that is wanted, which helm search or helm show chart tells"))
	} else if _, err := version.ParseSemantic(s.Version); err != nil {
		errs = append(errs, field.Invalid(at, s.Version, "must be one version, such as 1.2.3, and no range"))
	}
	s.RepoURL = strings.TrimRight(s.RepoURL, "/")
	return errs
}

func validateSecretRef(name, namespace, own string, at *field.Path) field.ErrorList {
	switch {
	case name == "":
		return field.ErrorList{field.Required(at.Child("name"), "")}
	case namespace != "" && namespace != own:
		return field.ErrorList{field.Invalid(at.Child("namespace"), namespace, "must be that of the HelmChartProxy, "+own)}
	}
	return nil
}
