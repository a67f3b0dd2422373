package alerts

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/agent/replicas"
	"fairlead.dev/test/kube"
)

// TestReplicasOnPrometheus has a real Prometheus watch three replicas that share the
// clusters of a fleet. The leader is deposed and lives on. Nothing is counted twice at any
// time, and no alert fires because of the old leader.
func TestReplicasOnPrometheus(t *testing.T) {
	if os.Getenv("FAIRLEAD_TEST_ALERTS") == "" {
		t.Skip("it takes minutes: run `make test-alerts`")
	}
	k := kube.Start(t)
	namespace := k.Namespace()
	watch := newWatch(t)
	w := newWorld(t, "replicas")
	w.args = []string{
		"--secrets", "kubernetes:" + k.Kubeconfig, "--name", "fleet", "--shards", "6", "--replica-listen", "127.0.0.1:0",
		"--leader-election", "--leader-election-namespace", namespace,
		"--leader-election-lease-duration", "6s", "--leader-election-renew-deadline", "4s", "--leader-election-retry-period", "1s",
	}
	w.more(3)
	w.push()
	for _, name := range []string{"r0", "r1", "r2"} {
		watch.scrape(w.name, name, w.start(name, "--replica-name", name))
	}
	value := func(expr string) (float64, error) {
		found, err := watch.query(strings.ReplaceAll(fill(expr), `"well"`, `"`+w.name+`"`))
		if err == nil && len(found) != 1 {
			err = fmt.Errorf("%s has %d values", expr, len(found))
		}
		if err != nil {
			return 0, err
		}
		return found[0], nil
	}
	is := func(expr string, want float64) {
		t.Helper()
		eventually(t, fmt.Sprintf("%s is %v", expr, want), func() error {
			got, err := value(expr)
			if err == nil && got != want {
				err = fmt.Errorf("it is %v", got)
			}
			return err
		})
	}
	// The stat panels of the fleet, by title.
	statPanels := make(map[string]string)
	for _, p := range readDashboards(t)["fairlead-fleet.json"].Panels {
		if p.Type == "stat" {
			statPanels[p.Title] = p.Targets[0].Expr
		}
	}
	whole := func() {
		t.Helper()
		for title, want := range map[string]float64{
			"Clusters": 4, "Provisioned": 4, "Not available": 0, "Failing": 0, "Machines": 8, "Machines not running": 0, "Problems": 0, "Drift": 0,
		} {
			is(statPanels[title], want)
		}
		is("sum(fairlead_leader)", 1)
		is("sum(fairlead_shards_held)", 6)
		is("count(fairlead_shards_held > 0)", 3)
		is("sum(fairlead_fleet_clusters)", 4)
	}
	whole()
	begin := time.Now()

	w.replace(values, `WORKER_MACHINE_COUNT: "1"`, `WORKER_MACHINE_COUNT: "five"`)
	w.push()
	is(statPanels["Problems"], 1)
	is("sum(fairlead_fleet_problems)", 1)
	depose(t, k, namespace, "fleet")
	eventually(t, "another replica leads", func() error {
		led, err := value("count(max_over_time(fairlead_leader[5m]) == 1)")
		if err == nil && led < 2 {
			err = fmt.Errorf("%v have led", led)
		}
		return err
	})
	is("sum(fairlead_leader)", 1)
	is("sum(fairlead_fleet_problems)", 1) // of two leaders, one after the other
	w.revert()
	whole()

	since := fmt.Sprintf("[%ds:1s]", int(time.Since(begin).Seconds())+1)
	for _, title := range []string{"Clusters", "Machines", "Problems"} {
		before := map[string]float64{"Clusters": 4, "Machines": 8, "Problems": 1}[title]
		if most, err := value("max_over_time((" + statPanels[title] + ")" + since + ")"); err != nil || most > before {
			t.Errorf("%s were %v at some time, never more than %v: %v", title, most, before, err)
		}
	}
	if n, err := value("count(max by (instance) (max_over_time(fairlead_leader" + since + ")) == 1)"); err != nil || n < 2 {
		t.Errorf("%v replicas have led: %v", n, err)
	}
	for _, name := range replicated {
		if found, err := watch.query(name); err != nil || len(found) == 0 {
			t.Errorf("nothing is found by %s: %v", name, err)
		}
	}
}

// depose gives the Lease of the leader to another replica, as if the leader had not renewed
// it.
func depose(t *testing.T, k *kube.Server, namespace, lease string) {
	t.Helper()
	c, err := replicas.Connect(k.Kubeconfig, replicas.Timing{})
	if err != nil {
		t.Fatal(err)
	}
	leases := c.Leases.Leases(namespace)
	eventually(t, "the Lease is taken from the leader", func() error {
		l, err := leases.Get(t.Context(), lease, metav1.GetOptions{})
		if err != nil {
			return err
		}
		sessions, err := leases.List(t.Context(), metav1.ListOptions{LabelSelector: "fairlead.dev/lease=session,fairlead.dev/agent=" + lease})
		if err != nil {
			return err
		}
		for _, s := range sessions.Items {
			if *s.Spec.HolderIdentity != *l.Spec.HolderIdentity {
				before := metav1.NewMicroTime(time.Now().Add(-time.Minute))
				l.Spec.HolderIdentity, l.Spec.AcquireTime, l.Spec.RenewTime = s.Spec.HolderIdentity, &before, &before
				_, err = leases.Update(t.Context(), l, metav1.UpdateOptions{})
				return err
			}
		}
		return fmt.Errorf("there is no replica but the leader")
	})
}
