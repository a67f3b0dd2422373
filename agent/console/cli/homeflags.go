package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/ownership/pivot"
	"fairlead.dev/agent/ownership/pivot/install"
	"fairlead.dev/agent/secrets"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/providers/workload/helm"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// homeFlags say how an agent is installed in a cluster.
type homeFlags struct {
	addons, values                        []string
	image, namespace, release, kubeconfig string
}

func (m *moveCommand) addHome(cmd *cobra.Command) {
	h, fs := &m.home, cmd.Flags()
	fs.StringArrayVar(&h.addons, "addons", nil, "manifest or folder that the home needs before pods can run, such as its CNI; may be repeated")
	fs.StringVar(&h.image, "image", "", "image of the agent, REPOSITORY[:TAG][@DIGEST]")
	fs.StringArrayVar(&h.values, "values", nil, "file with values for the chart of the agent, with precedence over computed ones; may be repeated")
	fs.StringVar(&h.namespace, "namespace", fleet.HomeNamespace, "namespace of the agent")
	fs.StringVar(&h.release, "release", fleet.HomeRelease, "name of the Helm release of the agent")
	fs.StringVar(&h.kubeconfig, "kubeconfig", "", "file to write the kubeconfig of the home to (default: CLUSTER.kubeconfig)")
}

// branch opens the status branch. It returns the fleet too, and a function that lists all
// its clusters.
func (m *moveCommand) branch(ctx context.Context, s wiring.Settings) (sources.Branch, fleet.Fleet, func(context.Context) ([]fleet.Key, error), error) {
	v := &valueFlags{warn: func(string) {}}
	p, err := wholeOf(s).withRenderer(v.options()) // a move asks for the clusters again and again
	if err != nil {
		return nil, fleet.Fleet{}, nil, err
	}
	if p.source, err = s.OpenSource(); err != nil {
		return nil, fleet.Fleet{}, nil, err
	}
	loaded, err := p.load(ctx, v.options())
	if err != nil {
		return nil, fleet.Fleet{}, nil, err
	}
	name := cmp.Or(m.f.branch, loaded.Config.StatusBranch)
	branch, err := s.OpenBranch(name)
	if err != nil {
		return nil, fleet.Fleet{}, nil, err
	}
	return branch, loaded, func(ctx context.Context) ([]fleet.Key, error) {
		loaded, err := p.load(ctx, v.options())
		if err != nil {
			return nil, err
		}
		_, tree, err := branch.Read(ctx)
		if err != nil {
			return nil, err
		}
		st, err := status.Read(tree)
		if err == nil {
			err = st.Whole()
		}
		if err != nil {
			return nil, err
		}
		var git, reported []fleet.Key
		for _, c := range loaded.Clusters {
			git = append(git, c.Key)
		}
		for _, c := range st.Clusters {
			reported = append(reported, c.Report.Cluster)
		}
		return union(git, reported), nil
	}, nil
}

// homeClient returns the client of the home k.
func (h *homeFlags) homeClient(version string, s wiring.Settings, id fleet.ID, k fleet.Key, file kubeconfigFile, from secrets.Store, branch string) (*wiring.HomeClient, error) {
	installation := wiring.Installation{
		Fleet: id, Cluster: k, Version: version, Image: h.image, Namespace: h.namespace, Release: h.release, Branch: branch,
	}
	for _, name := range h.values {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("cannot read values: %w", err)
		}
		var given map[string]any
		if err := documents.UnmarshalStrict(b, &given, documents.DefaultLimits()); err != nil {
			return nil, fmt.Errorf("cannot read values of %s: %w", name, err)
		}
		installation.Values = append(installation.Values, given)
	}
	var err error
	if installation.Addons, err = install.ReadAddons(nil, h.addons); err != nil {
		return nil, err
	}
	o, err := s.HomeOptions(installation)
	if err != nil {
		return nil, err
	}
	// The kubeconfig is written to that file before the secrets here are removed.
	return &wiring.HomeClient{Options: o, Cluster: k, From: from, Otherwise: func() ([]byte, error) { return os.ReadFile(string(file)) }}, nil
}

// old returns the home that the fleet leaves.
func (h *homeFlags) old(s wiring.Settings, id fleet.ID) (pivot.Home, error) {
	_, name, _ := strings.Cut(s.Secrets, ":")
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read the kubeconfig of the old home: %w", err)
	}
	return install.Open(install.Options{
		Kubeconfig: fleet.NewSecret(b), Helm: s.Built.Charts(), Release: helm.Release{Namespace: h.namespace, Name: h.release}, Fleet: id, Source: s.Source, Log: s.Log,
	})
}
