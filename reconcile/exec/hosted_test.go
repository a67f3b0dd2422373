package exec_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/reconcile/exec"
)

// A plane notes what is asked of it, and gives what it has.
type plane struct {
	providers.HostedControlPlane
	asked []string
	gives map[fleet.SecretName]fleet.SecretData
	fails error
}

func (p *plane) Observe(context.Context, *fleet.Cluster, providers.SecretReader) (providers.HostedObservation, error) {
	return providers.HostedObservation{Secrets: p.gives}, p.fails
}

func (p *plane) Ensure(_ context.Context, op fleet.OperationID, _ *fleet.Cluster) error {
	p.asked = append(p.asked, "ensure by "+string(op))
	return nil
}

func (p *plane) Delete(_ context.Context, op fleet.OperationID, _ *fleet.Cluster) error {
	p.asked = append(p.asked, "delete by "+string(op))
	return nil
}

// A vault has the secrets of one cluster, and notes which are replaced.
type vault struct {
	exec.Secrets
	has      map[fleet.SecretName]fleet.SecretData
	replaced []fleet.SecretName
	fails    error
}

func (v *vault) Get(_ context.Context, _ fleet.Key, name fleet.SecretName) (fleet.SecretData, error) {
	if d, ok := v.has[name]; ok || v.fails != nil {
		return d, v.fails
	}
	return nil, fleet.Errorf(fleet.NotFound, "get secret", "there is none")
}

func (v *vault) Replace(_ context.Context, _ fleet.Key, name fleet.SecretName, d fleet.SecretData) error {
	v.replaced = append(v.replaced, name)
	v.has[name] = d
	return nil
}

func value(text string) fleet.SecretData {
	return fleet.SecretData{fleet.KubeconfigKey: fleet.NewSecret([]byte(text))}
}

// doHosted carries out one action for a cluster whose control plane is p.
func doHosted(t *testing.T, p providers.HostedControlPlane, v *vault, gone bool, kind fleet.ActionKind) error {
	t.Helper()
	c := &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, Hosted: &fleet.HostedControlPlane{}, Delete: gone}
	e := exec.Executor{Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	w := exec.Environment{Cluster: c, ControlPlane: p, Secrets: v, Memory: &ledger{ended: map[fleet.MachineName]error{}}, Seen: time.Now()}
	return e.Run(t.Context(), w, []fleet.Action{{Kind: kind, Cluster: c.Key, Operation: "op"}})[0].Err
}

// TestHostedControlPlane: it is made, and deleted only where the cluster is to be.
func TestHostedControlPlane(t *testing.T) {
	p := &plane{}
	if err := doHosted(t, p, &vault{}, false, fleet.EnsureControlPlane); err != nil {
		t.Error(err)
	}
	if err := doHosted(t, p, &vault{}, false, fleet.DeleteControlPlane); err == nil {
		t.Error("it is deleted, and nobody asked for the deletion of the cluster")
	}
	if err := doHosted(t, p, &vault{}, true, fleet.DeleteControlPlane); err != nil {
		t.Error(err)
	}
	if want := []string{"ensure by op", "delete by op"}; !slices.Equal(p.asked, want) {
		t.Errorf("asked %q, want %q", p.asked, want)
	}
	if err := doHosted(t, nil, &vault{}, false, fleet.EnsureControlPlane); fleet.KindOf(err) != fleet.Invalid {
		t.Errorf("where machines are the control plane: %v", err)
	}
}

// TestWhatAHostedControlPlaneGives: what differs from what is stored is stored, and nothing
// else is written. What cannot be read is not replaced.
func TestWhatAHostedControlPlaneGives(t *testing.T) {
	unread := errors.New("the store does not answer")
	for name, tc := range map[string]struct {
		plane plane
		store vault
		want  []fleet.SecretName
		fails bool
	}{
		"nothing is stored":         {want: []fleet.SecretName{fleet.ClusterCA, fleet.Kubeconfig}},
		"another kubeconfig":        {store: vault{has: map[fleet.SecretName]fleet.SecretData{fleet.ClusterCA: value("ca"), fleet.Kubeconfig: value("old")}}, want: []fleet.SecretName{fleet.Kubeconfig}},
		"the same":                  {store: vault{has: map[fleet.SecretName]fleet.SecretData{fleet.ClusterCA: value("ca"), fleet.Kubeconfig: value("new")}}},
		"a store that is away":      {store: vault{fails: unread}, fails: true},
		"a plane that is not known": {plane: plane{fails: unread}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			tc.plane.gives = map[fleet.SecretName]fleet.SecretData{fleet.Kubeconfig: value("new"), fleet.ClusterCA: value("ca")}
			if tc.store.has == nil {
				tc.store.has = map[fleet.SecretName]fleet.SecretData{}
			}
			err := doHosted(t, &tc.plane, &tc.store, false, fleet.EnsureKubeconfig)
			if (err != nil) != tc.fails || !slices.Equal(tc.store.replaced, tc.want) {
				t.Errorf("replaced %q, %v; want %q", tc.store.replaced, err, tc.want)
			}
		})
	}
}
