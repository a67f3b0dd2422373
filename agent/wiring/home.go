package wiring

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/agent/ownership/pivot"
	"fairlead.dev/agent/ownership/pivot/install"
	"fairlead.dev/agent/secrets"
	"fairlead.dev/charts"
	"fairlead.dev/fleet"
	"fairlead.dev/providers/workload/helm"
	"fairlead.dev/sources/oci"
)

// An Installation says how an agent is to live in a cluster.
type Installation struct {
	Fleet     fleet.ID // whose secrets are stored there
	Cluster   fleet.Key
	Version   string // of the chart
	Image     string // REPOSITORY[:TAG][@DIGEST]; empty: what the chart names
	Namespace string
	Release   string
	Branch    string // of the status; empty: what fleet.yaml says
	// Values of the chart win over what is computed, later ones over earlier ones.
	Values []map[string]any
	Addons []install.Addon
}

// allowArgs returns what lets a home pin the same sources. Credentials of theirs are in
// folders of this agent, and do not go along.
func allowArgs(list []AllowedSource) []any {
	out := []any{}
	for _, a := range list {
		out = append(out, "--allow-source="+a.Prefix)
	}
	return out
}

// checkHomeSettings returns an error for settings that a home would lack, unless one of given has them.
func (s Settings) checkHomeSettings(given []map[string]any) error {
	for _, a := range s.AllowedSources {
		brings := slices.ContainsFunc(given, func(v map[string]any) bool { return v["extraVolumes"] != nil && v["extraArgs"] != nil })
		if a.Credentials != "" && !brings {
			return fleet.Errorf(fleet.Invalid, "move the fleet", "the credentials for pinned sources at %s do not go along: mount them there with extraVolumes, extraVolumeMounts and extraArgs among the values, or remove spec.home", a.Prefix)
		}
	}
	return nil
}

// HomeOptions returns how an agent with settings s lives in h: it follows the
// same source with the same credentials, and reaches the same providers.
func (s Settings) HomeOptions(h Installation) (install.Options, error) {
	o := install.Options{Helm: s.Built.Charts(), Fleet: h.Fleet, Source: s.Source, Addons: h.Addons, Log: s.Log}
	if oci.IsURL(s.Source) {
		return o, fleet.Errorf(fleet.Invalid, "move the fleet", "its source is in a registry: a home would lack the credentials for its status; install the agent there with its chart, or remove spec.home")
	}
	var err error
	if o.Credentials, err = s.Credentials.Secret(); err != nil {
		return o, fmt.Errorf("cannot read the credentials: %w", err)
	}
	if o.Identities, err = s.AgeIdentities(); err != nil {
		return o, fmt.Errorf("cannot read age identities: %w", err)
	}
	id := s.FleetID
	if id == "" {
		if id, err = s.Identity(); err != nil {
			return o, err
		}
	}
	if err := s.checkHomeSettings(h.Values); err != nil {
		return o, err
	}
	files, err := charts.Files(h.Version)
	if err != nil {
		return o, err
	}
	values := map[string]any{
		"image":       image(h.Image),
		"agent":       map[string]any{"name": ownership.AgentOf(h.Cluster)},
		"source":      map[string]any{"url": s.Source, "ref": s.Ref, "fleetID": id, "existingSecret": named(install.GitSecret(h.Release), o.Credentials)},
		"status":      map[string]any{"branch": h.Branch, "repository": s.StatusRepository},
		"secrets":     map[string]any{"ageIdentities": map[string]any{"existingSecret": named(install.AgeSecret(h.Release), o.Identities)}},
		"extraArgs":   append(providerArgs(s.Providers), allowArgs(s.AllowedSources)...),
		"tolerations": []any{map[string]any{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}},
		// A change of what is mounted begins the pods again.
		"podAnnotations": map[string]any{"fairlead.dev/credentials": install.Checksum(o.Credentials, o.Identities)},
	}
	if s.Path != "" {
		values = merge(values, map[string]any{"source": map[string]any{"path": s.Path}})
	}
	for _, given := range h.Values {
		values = merge(values, given)
	}
	if rights, _ := values["rbac"].(map[string]any); rights["namespaces"] == nil {
		// A home is there for its fleet, whose clusters may be of any namespace.
		values = merge(map[string]any{"rbac": map[string]any{"allNamespaces": true}}, values)
	}
	o.Release = helm.Release{Namespace: h.Namespace, Name: h.Release, Values: values}
	for _, f := range files {
		o.Release.Chart = append(o.Release.Chart, helm.File{Name: f.Name, Data: f.Data})
	}
	return o, nil
}

// A HomeClient opens a home once there is a kubeconfig of it.
type HomeClient struct {
	Options install.Options // but for the kubeconfig
	Cluster fleet.Key
	From    secrets.Store // has the kubeconfig
	// Otherwise returns a kubeconfig where From has none any more; nil: the one
	// that the home was opened with before.
	Otherwise func() ([]byte, error)

	open   func(install.Options) (pivot.Home, error) // nil: install.Open
	opened pivot.Home
	with   fleet.Secret
}

// Open returns the home. The error is of kind NotFound where there is none yet.
func (o *HomeClient) Open(ctx context.Context) (pivot.Home, error) {
	d, err := o.From.Get(ctx, o.Cluster, fleet.Kubeconfig)
	config := d[fleet.KubeconfigKey]
	if fleet.KindOf(err) == fleet.NotFound {
		if o.Otherwise == nil {
			if o.opened != nil {
				return o.opened, nil
			}
			return nil, fleet.Errorf(fleet.NotFound, "open the home", "there is no kubeconfig of %s yet", o.Cluster)
		}
		b, readErr := o.Otherwise()
		if readErr != nil {
			return nil, fleet.Errorf(fleet.NotFound, "open the home", "there is no kubeconfig of %s yet", o.Cluster)
		}
		config, err = fleet.NewSecret(b), nil
	}
	if err != nil {
		return nil, err
	}
	if o.opened != nil && string(o.with.Reveal()) == string(config.Reveal()) {
		return o.opened, nil
	}
	options := o.Options
	options.Kubeconfig = config
	open := o.open
	if open == nil {
		open = func(o install.Options) (pivot.Home, error) { return install.Open(o) }
	}
	opened, err := open(options)
	if err != nil {
		return nil, err
	}
	o.opened, o.with = opened, config
	return o.opened, nil
}

func named(name string, d fleet.SecretData) string {
	if len(d) == 0 {
		return ""
	}
	return name
}

// image reads REPOSITORY[:TAG][@DIGEST].
func image(text string) map[string]any {
	out := map[string]any{}
	rest, digest, _ := strings.Cut(text, "@")
	if i := strings.LastIndex(rest, ":"); i > strings.LastIndex(rest, "/") {
		rest, out["tag"] = rest[:i], rest[i+1:]
	}
	if digest != "" {
		out["digest"] = digest
	}
	if rest != "" {
		out["repository"] = rest
	}
	return out
}

func providerArgs(settings map[string]map[string]string) []any {
	out := []any{}
	for _, provider := range slices.Sorted(maps.Keys(settings)) {
		for _, key := range slices.Sorted(maps.Keys(settings[provider])) {
			if value := settings[provider][key]; value != "" {
				out = append(out, "--"+provider+"-"+key+"="+value)
			}
		}
	}
	return out
}

// merge returns a with the values of b in it. Helm's own merging belongs to its SDK, which
// providers/workload/helm/sdk alone imports, and mergo takes an empty value for none.
func merge(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	for k, v := range b {
		x, ok := out[k].(map[string]any)
		y, ok2 := v.(map[string]any)
		if ok && ok2 {
			v = merge(x, y)
		}
		out[k] = v
	}
	return out
}
