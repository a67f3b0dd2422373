package alerts

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/agent/ownership/replicas"
	"fairlead.dev/test/lab/kube"
)

// TestReplicasOnPrometheus has a real Prometheus watch three replicas. The leader is deposed
// and lives on. Nothing is counted twice at any
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
		"--secrets", "kubernetes:" + k.Kubeconfig, "--name", "fleet",
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
}

// depose takes the Lease from the leader until another replica has it: it gives the Lease to a
// process that is not there.
func depose(t *testing.T, k *kube.Server, namespace, lease string) {
	t.Helper()
	c, err := replicas.Connect(k.Kubeconfig, replicas.Timing{})
	if err != nil {
		t.Fatal(err)
	}
	const gone = "gone_127.0.0.1_x"
	leases, former := c.Leases.Leases(namespace), ""
	eventually(t, "another replica has the Lease", func() error {
		l, err := leases.Get(t.Context(), lease, metav1.GetOptions{})
		if err != nil {
			return err
		}
		now := *l.Spec.HolderIdentity
		if former == "" {
			former = now
		}
		switch now {
		case former:
			at := metav1.NowMicro()
			l.Spec.HolderIdentity, l.Spec.AcquireTime, l.Spec.RenewTime = new(gone), &at, &at
			if _, err := leases.Update(t.Context(), l, metav1.UpdateOptions{}); err != nil {
				return err
			}
			return fmt.Errorf("%s was the leader", now)
		case gone, "":
			return fmt.Errorf("the holder is %q", now)
		}
		return nil
	})
}
