package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"fairlead.dev/agent/assembly"
	"fairlead.dev/agent/helm"
	"fairlead.dev/agent/pivot"
	"fairlead.dev/agent/pivot/home"
	"fairlead.dev/charts"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// homeFlags say how an agent is to live in a cluster.
type homeFlags struct {
	addons, values                        []string
	image, namespace, release, kubeconfig string
}

func (m *mover) addHome(cmd *cobra.Command) {
	h, fs := &m.home, cmd.Flags()
	fs.StringArrayVar(&h.addons, "addons", nil, "manifest, or folder of them, that the home needs before pods can run, such as its network; may be repeated")
	fs.StringVar(&h.image, "image", "", "image of the agent, REPOSITORY[:TAG][@DIGEST]")
	fs.StringArrayVar(&h.values, "values", nil, "file with values of the agent's chart, which win over what is computed; may be repeated")
	fs.StringVar(&h.namespace, "namespace", "fairlead-system", "namespace of the agent")
	fs.StringVar(&h.release, "release", "fairlead", "name of the Helm release of the agent")
	fs.StringVar(&h.kubeconfig, "kubeconfig", "", "file to write the kubeconfig of the home to (default: CLUSTER.kubeconfig)")
}

// branch opens the status branch, and returns how to find all clusters of the
// fleet.
func (m *mover) branch(ctx context.Context, s assembly.Settings) (sources.Branch, func(context.Context) ([]fleet.Key, error), error) {
	p := part{s, "."}
	v := &valueFlags{warn: func(string) {}}
	loaded, err := p.load(ctx, v.options())
	if err != nil {
		return nil, nil, err
	}
	name := cmp.Or(m.f.branch, loaded.Config.StatusBranch)
	branch, err := s.OpenBranch(name)
	if err != nil {
		return nil, nil, err
	}
	return branch, func(ctx context.Context) ([]fleet.Key, error) {
		loaded, err := p.load(ctx, v.options())
		if err != nil {
			return nil, err
		}
		_, tree, err := branch.Read(ctx)
		if err != nil {
			return nil, err
		}
		st, err := status.Read(tree)
		if err != nil {
			return nil, err
		}
		var git, told []fleet.Key
		for _, c := range loaded.Clusters {
			git = append(git, c.Key)
		}
		for _, c := range st.Clusters {
			told = append(told, c.Report.Cluster)
		}
		return union(git, told), nil
	}, nil
}

// homeOpener opens the home once there is a kubeconfig of it.
type homeOpener struct {
	options home.Options
	key     fleet.Key
	file    kubeconfigFile
	from    pivot.Store

	opened pivot.Home
	with   fleet.Secret
}

func (h *homeFlags) opener(version string, s assembly.Settings, k fleet.Key, file kubeconfigFile, from pivot.Store, branch string) (*homeOpener, error) {
	o, err := h.options(version, s, branch)
	if err != nil {
		return nil, err
	}
	o.Release.Values["agent"].(map[string]any)["name"] = pivot.AgentOf(k) //nolint:forcetypeassert // made below
	for _, name := range h.values {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("cannot read values: %w", err)
		}
		var given map[string]any
		if err := yaml.UnmarshalStrict(b, &given); err != nil {
			return nil, fmt.Errorf("cannot read values of %s: %w", name, err)
		}
		o.Release.Values = merge(o.Release.Values, given)
	}
	return &homeOpener{options: o, key: k, file: file, from: from}, nil
}

// options computes the release of an agent with settings s.
func (h *homeFlags) options(version string, s assembly.Settings, branch string) (home.Options, error) {
	o := home.Options{AddonFiles: h.addons, Log: s.Log}
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
	files, err := charts.Files(version)
	if err != nil {
		return o, err
	}
	o.Release = helm.Release{Namespace: h.namespace, Name: h.release, Values: map[string]any{
		"image":       image(h.image),
		"agent":       map[string]any{},
		"source":      map[string]any{"url": s.Source, "ref": s.Ref, "fleetID": id, "existingSecret": named(home.GitSecret, o.Credentials)},
		"status":      map[string]any{"branch": branch, "repository": s.StatusRepository},
		"secrets":     map[string]any{"ageIdentities": map[string]any{"existingSecret": named(home.AgeSecret, o.Identities)}},
		"extraArgs":   providerArgs(s.Providers),
		"tolerations": []any{map[string]any{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}},
		// A change of what is mounted begins the pods anew.
		"podAnnotations": map[string]any{"fairlead.dev/credentials": home.Mark(o.Credentials, o.Identities)},
	}}
	for _, f := range files {
		o.Release.Chart = append(o.Release.Chart, helm.File{Name: f.Name, Data: f.Data})
	}
	return o, nil
}

// old returns the home that the fleet leaves.
func (h *homeFlags) old(s assembly.Settings, _ string) (pivot.Home, error) {
	_, name, _ := strings.Cut(s.Secrets, ":")
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read the kubeconfig of the old home: %w", err)
	}
	return home.Open(home.Options{
		Kubeconfig: fleet.NewSecret(b), Release: helm.Release{Namespace: h.namespace, Name: h.release}, Log: s.Log,
	})
}

func (o *homeOpener) open(ctx context.Context) (pivot.Home, error) {
	d, err := o.from.Get(ctx, o.key, fleet.Kubeconfig)
	config := d[fleet.KubeconfigKey]
	if fleet.KindOf(err) == fleet.NotFound {
		b, readErr := os.ReadFile(string(o.file)) // written before the secrets were removed here
		if readErr != nil {
			return nil, fleet.Errorf(fleet.NotFound, "open the home", "there is no kubeconfig of %s yet", o.key)
		}
		config, err = fleet.NewSecret(b), nil
	}
	if err != nil {
		return nil, err
	}
	if o.opened != nil && string(o.with.Reveal()) == string(config.Reveal()) {
		return o.opened, nil
	}
	options := o.options
	options.Kubeconfig = config
	if o.opened, err = home.Open(options); err != nil {
		return nil, err
	}
	o.with = config
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

// merge returns a with the values of b in it.
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
