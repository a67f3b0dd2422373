package reconcile_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/exec"
)

// TestNothingOutlivesACluster deletes a cluster in which somebody has a Service of
// type LoadBalancer. Its controller is at it for ten minutes: until then every
// machine stays, since nobody else would remove the load balancer.
func TestNothingOutlivesACluster(t *testing.T) {
	for name, leave := range map[string]bool{"load balancers go first": false, "left where Git says so": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				defer w.cloud.Close()
				if leave {
					w.edit = strings.NewReplacer("annotations: {", "annotations: {fairlead.dev/external-resources: leave, ")
				}
				w.reach(clusterSpec{1, 1, "v1.33.5", false}, fleet.PhaseProvisioned)
				w.apply(fleet.ObjectRef{Kind: "Service", Namespace: "default", Name: "web"}, `{"apiVersion": "v1", "kind": "Service",
					"metadata": {"namespace": "default", "name": "web", "finalizers": ["service.kubernetes.io/load-balancer-cleanup"]},
					"spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}`)
				deleted := clusterSpec{1, 1, "v1.33.5", true}
				if leave {
					w.reach(deleted, fleet.PhaseDeleted)
					w.nothingLeft()
					return
				}
				w.stays(deleted, 10*time.Minute)
				w.apply(fleet.ObjectRef{Kind: "Service", Namespace: "default", Name: "web"}, `{"apiVersion": "v1", "kind": "Service",
					"metadata": {"namespace": "default", "name": "web", "finalizers": []}}`)
				w.reach(deleted, fleet.PhaseDeleted)
				w.nothingLeft()
			})
		})
	}
}

// apply applies an object to the cluster, as a person would.
func (w *world) apply(o fleet.ObjectRef, content string) {
	w.t.Helper()
	a := w.start()
	defer a.workload.Close()
	access, err := exec.Access(a.ctx, w.secrets, &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu-1"}}, nil, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	set := fleet.ResourceSet{Name: "by-hand", Strategy: fleet.ReconcileStrategy, Resources: []fleet.Resource{{
		Name: "ConfigMap/x", Digest: content, Objects: []fleet.Manifest{{ObjectRef: o, Content: fleet.NewSecret([]byte(content))}},
	}}}
	if err := a.workload.ApplyResources(a.ctx, access, set, []string{"ConfigMap/x"}); err != nil {
		w.t.Fatal(err)
	}
}

// stays makes passes for d, in which no machine goes.
func (w *world) stays(wanted clusterSpec, d time.Duration) {
	w.t.Helper()
	a, c := w.start(), decoded(w.t, w.edit.Replace(wanted.manifests()))
	defer a.workload.Close()
	before := len(w.ours())
	for until := time.Now().Add(d); time.Now().Before(until); time.Sleep(10 * time.Second) {
		res := a.r.Pass(a.ctx, c, fleet.Memory{})
		if res.Err != nil {
			w.t.Fatal(res.Err)
		}
		if now := len(w.ours()); now != before {
			w.t.Fatalf("%d of %d machines are left, with %q", now, before, res.Plan.Waiting)
		}
	}
}
