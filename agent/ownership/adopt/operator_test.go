package adopt_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"fairlead.dev/agent/console/cli"
	"fairlead.dev/agent/secrets"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/all"
	"fairlead.dev/providers/workload"
	"fairlead.dev/reconcile"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
	"fairlead.dev/test/run/waits"
)

// An operator is one side that runs clusters: the decoder of its fleet, secrets and
// providers.
type operator struct {
	*testing.T
	id       fleet.ID
	store    secrets.Store
	provider providers.Infrastructure
	workload *workload.Client
	r        *reconcile.Reconciler
}

func newOperator(t *testing.T, id fleet.ID, store secrets.Store, p providers.Infrastructure) *operator {
	t.Helper()
	s := &operator{T: t, id: id, store: store, provider: p, workload: workload.New(workload.Options{Log: slog.New(slog.DiscardHandler)})}
	t.Cleanup(s.workload.Close)
	s.r = s.reconciler(store)
	return s
}

func (s *operator) reconciler(store reconcile.SecretStore) *reconcile.Reconciler {
	return reconcile.New(reconcile.Options{
		Infrastructure: func(string) (providers.Infrastructure, error) { return s.provider, nil },
		Workload:       s.workload, Distributions: all.Distributions(s.workload), Secrets: store, Progress: 10 * time.Millisecond,
	})
}

func decoderOf(t testing.TB, id fleet.ID) (*decode.Decoder, []fleet.Kind) {
	t.Helper()
	registry, err := builtIn().Registry()
	if err != nil {
		t.Fatal(err)
	}
	return decode.New(id, registry.Kinds()), registry.Kinds()
}

// desired decodes manifests.
func (s *operator) desired(manifests string) *fleet.Cluster {
	s.Helper()
	d, _ := decoderOf(s, s.id)
	var in []render.Object
	for _, o := range objects(s, manifests) {
		data, err := yaml.Marshal(o.Object)
		if err != nil {
			s.Fatal(err)
		}
		in = append(in, render.Object{File: "all.yaml", YAML: data})
	}
	clusters, problems := d.Decode("clusters/x", in)
	if len(clusters) != 1 {
		s.Fatalf("decoded %d clusters: %v", len(clusters), problems)
	}
	return &clusters[0]
}

// run makes passes until the cluster is provisioned and nothing is left to do.
func (s *operator) run(c *fleet.Cluster) reconcile.Result {
	s.Helper()
	deadline := time.Now().Add(waits.Limit)
	for {
		res := s.r.Pass(s.Context(), c, fleet.Memory{})
		if res.Report.Phase == fleet.PhaseProvisioned && len(res.Plan.Actions) == 0 && len(res.Plan.Waiting)+len(res.Plan.Notes) == 0 {
			return res
		}
		if time.Now().After(deadline) {
			s.Fatalf("%s is not provisioned: phase %s, waiting for %v, %v", c.Key, res.Report.Phase, res.Plan.Waiting, res.Err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// builtIn is what fairlead is built with.
func builtIn() wiring.Built {
	return wiring.Built{Providers: all.Factories(), Distributions: all.Distributions, Kinds: all.Kinds(), ControlPlanes: all.ControlPlanes, Helm: all.Helm}
}

// program is a build of fairlead.
func program() cli.Program { return cli.Program{Version: "test", Built: builtIn()} }

// load renders a folder as an agent does.
func load(folder string, id fleet.ID, identities ...string) func(context.Context) (fleet.Fleet, error) {
	s := wiring.Settings{Built: builtIn(), Source: folder, FleetID: string(id), Log: slog.New(slog.DiscardHandler), Secrets: filepath.Join(folder, "..", "no-secrets"), AgeIdentityFiles: identities}
	return func(ctx context.Context) (fleet.Fleet, error) {
		source, err := s.OpenSource()
		if err != nil {
			return fleet.Fleet{}, err
		}
		rev, err := source.Resolve(ctx)
		if err != nil {
			return fleet.Fleet{}, err
		}
		tree, err := source.Fetch(ctx, rev)
		if err != nil {
			return fleet.Fleet{}, err
		}
		b, err := s.NewRenderer(wiring.RenderOptions{})
		if err != nil {
			return fleet.Fleet{}, err
		}
		return b.Render(ctx, rev, tree)
	}
}

// memory is a secret store that lasts as long as the test.
func memory() secrets.Store { return secrets.NewMemory() }
