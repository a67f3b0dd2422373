package inmemory

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

func seconds(n string) *Component { return &Component{Provisioning: &Provisioning{StartupDuration: n}} }

// TestBoot follows the first machine from its creation to an API that answers.
func TestBoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, CloudOptions{ID: "c"})
		l.timing = DevMachineInMemory{VM: seconds("10s"), Node: seconds("4s"), Etcd: seconds("2s"), APIServer: seconds("3s")}
		v := l.bootInit("cp-0")
		type look struct {
			State     fleet.MachineState
			Ready     string
			Available bool
		}
		for _, step := range []struct {
			after time.Duration
			want  look
		}{
			{9 * time.Second, look{fleet.MachinePending, "absent", false}},
			{1 * time.Second, look{fleet.MachineRunning, "False", false}},
			{4 * time.Second, look{fleet.MachineRunning, "True", false}},
			{4 * time.Second, look{fleet.MachineRunning, "True", false}},
			{1 * time.Second, look{fleet.MachineRunning, "True", true}},
		} {
			time.Sleep(step.after)
			synctest.Wait()
			got := look{l.machine(v.ID).State, l.ready("cp-0"), l.available()}
			if d := cmp.Diff(step.want, got); d != "" {
				t.Fatalf("%s later: %s\nconsole: %s", step.after, d, l.machine(v.ID).Message)
			}
		}
		u, _ := l.cluster().api.Get(nodeKind, "", "cp-0")
		var n corev1.Node
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &n); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff("inmemory://c/"+v.ID, n.Spec.ProviderID); d != "" {
			t.Errorf("provider id: %s", d)
		}
		if d := cmp.Diff([]corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: "NoSchedule"}}, n.Spec.Taints); d != "" {
			t.Errorf("taints: %s", d)
		}
		for label, want := range map[string]string{"example.org/pool": "cp", "kubernetes.io/hostname": "cp-0", "node-role.kubernetes.io/control-plane": ""} {
			if got, ok := n.Labels[label]; !ok || got != want {
				t.Errorf("label %s = %q, %v, want %q", label, got, ok, want)
			}
		}
		if n.Status.NodeInfo.KubeletVersion != "v1.34.1" {
			t.Errorf("kubelet version = %s", n.Status.NodeInfo.KubeletVersion)
		}
		for _, name := range []string{"etcd-cp-0", "kube-apiserver-cp-0", "kube-controller-manager-cp-0", "kube-scheduler-cp-0"} {
			if _, ok := l.cluster().api.Get(podKind, "kube-system", name); !ok {
				t.Errorf("no pod %s", name)
			}
		}
	})
}

// TestJoin joins two control planes and a worker.
func TestJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, CloudOptions{})
		l.bootInit("cp-0")
		l.token(nil)
		one, two, w := l.bootControl("cp-1"), l.bootControl("cp-2"), l.bootWorker("w-0")
		for _, v := range []VM{one, two, w} {
			if got := l.ready(v.Name); got != "True" {
				t.Errorf("%s: ready = %s; console: %s", v.Name, got, l.machine(v.ID).Message)
			}
		}
		var names []string
		for _, m := range (etcdView{l.Cloud, l.cluster()}).Members() {
			names = append(names, m.Name)
			if m.Learner || !m.Healthy || m.Leader != (m.Name == "cp-0") {
				t.Errorf("member %+v", m)
			}
		}
		if d := cmp.Diff([]string{"cp-0", "cp-1", "cp-2"}, names); d != "" {
			t.Errorf("members: %s", d)
		}
		u, _ := l.cluster().api.Get(nodeKind, "", "w-0")
		var n corev1.Node
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &n); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]corev1.Taint{{Key: "node.cluster.x-k8s.io/uninitialized", Effect: "NoSchedule"}}, n.Spec.Taints); d != "" {
			t.Errorf("taints of a worker: %s", d)
		}
	})
}

// TestClosedBackendTakesNothing: a connection does not wait for who is gone.
func TestClosedBackendTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackend(pipeAddr("a"))
		_ = b.Close()
		if end, _ := newPipe("a"); b.take(end) {
			t.Error("it was taken")
		}
	})
}
