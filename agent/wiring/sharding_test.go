package wiring

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"fairlead.dev/agent"
	"fairlead.dev/agent/metrics"
	"fairlead.dev/agent/replicas"
	"fairlead.dev/agent/replicas/leasetest"
	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// noSecrets is an API without Secrets that takes new ones.
type noSecrets struct{ corev1client.SecretInterface }

func (s noSecrets) Secrets(string) corev1client.SecretInterface { return s }

func (noSecrets) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Secret, error) {
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, name)
}

func (noSecrets) Create(_ context.Context, s *corev1.Secret, _ metav1.CreateOptions) (*corev1.Secret, error) {
	return s, nil
}

// TestReplicasFreezeSecrets: the leader sends with each pass whether secrets are frozen, and a
// replica does as the leader says. Both hold for a store that replaces the one of the start.
func TestReplicasFreezeSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := OpenRuntime(t.Context(), Settings{Built: builtIn(), Secrets: t.TempDir(), Log: quietLog()}, ReadWrite, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		leases := leasetest.New().Client()
		r := &replica{o: Replicas{Shards: 1, Listen: "127.0.0.1:0", Name: "r0", Address: "127.0.0.1"}, log: quietLog()}
		s, err := r.share(t.Context(), &replicas.Connection{Leases: leases, Secrets: noSecrets{}, Namespace: "ops"}, "fairlead", agent.Options{Workers: 1}, w, metrics.New("v0"))
		if err != nil {
			t.Fatal(err)
		}
		defer s.listen.Close()
		w.UseSecrets(secrets.NewMemory())
		if _, err := leases.Leases("ops").Create(t.Context(), &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: "fairlead", Labels: replicas.Labels("fairlead")},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &r.identity},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		passes := s.passes(func(fleet.Key) error { return nil }, func(fleet.Key) {})
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		running.Go(func() { _ = s.replica.Run(ctx) })
		running.Go(func() { _ = passes.(*replicas.Router).Attend(ctx) })
		time.Sleep(time.Minute) // until the replica holds the shard, and believes the leader
		synctest.Wait()

		c := &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, Fleet: "f", Provider: "inmemory"}
		c.ControlPlane.Kind = "KubeadmControlPlane"
		made := func(res reconcile.Result) {
			t.Helper()
			if errors.Is(res.Err, reconcile.ErrPostponed) {
				t.Fatal("no replica made the pass")
			}
		}
		w.freezable.Freeze("the fleet moves")
		made(passes.Pass(ctx, c, fleet.Memory{}))
		if got := w.freezable.Frozen(); got != "the fleet moves" {
			t.Errorf("after a pass of the leader that froze secrets they are frozen for %q", got)
		}
		w.freezable.Unfreeze()
		made(s.replica.Pass(ctx, r.identity, c, fleet.Memory{}, "another replica moves the fleet"))
		if got := w.freezable.Frozen(); got != "another replica moves the fleet" {
			t.Errorf("after a pass for a leader that froze secrets they are frozen for %q", got)
		}
	})
}
