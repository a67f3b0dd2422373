package decode_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

// annotated returns newest with annotations on its MachineDeployment, and with
// replicas as its number of machines.
func annotated(t *testing.T, replicas string, annotations ...string) string {
	t.Helper()
	notes := "metadata: {name: eu-md-0, namespace: prod, annotations: {" + strings.Join(annotations, ", ") + "}}"
	return replaced(t, newest, "  replicas: 3\n", replicas, "metadata: {name: eu-md-0, namespace: prod}", notes)
}

const (
	least   = `cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: "2"`
	most    = `cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: "10"`
	managed = `cluster.x-k8s.io/replicas-managed-by: autoscaler`
	ours    = `cluster.x-k8s.io/replicas-managed-by: "false"`
	three   = "  replicas: 3\n"
)

// TestScaling says who decides on numbers of machines.
func TestScaling(t *testing.T) {
	type number struct {
		Scaled        bool
		Min, Max, Has int
	}
	for name, c := range map[string]struct {
		reason   string
		replicas string
		notes    []string
		want     number
	}{
		"a number":             {"", three, nil, number{false, 0, 0, 3}},
		"none":                 {"one is Cluster API's default", "", nil, number{false, 0, 0, 1}},
		"bounds":               {"", "", []string{least, most}, number{true, 2, 10, 2}},
		"bounds and a number":  {"a number in Git is meant", three, []string{least, most}, number{false, 0, 0, 3}},
		"managed":              {"the number is what it begins with", three, []string{managed}, number{true, 0, 0, 3}},
		"managed in bounds":    {"", three, []string{managed, least, most}, number{true, 2, 10, 3}},
		"managed out of them":  {"bounds are kept", "  replicas: 30\n", []string{managed, least, most}, number{true, 2, 10, 10}},
		"managed by nobody":    {"", three, []string{ours}, number{false, 0, 0, 3}},
		"by nobody, in bounds": {"", "", []string{ours, least, most}, number{false, 0, 0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustDecode(t, annotated(t, c.replicas, c.notes...)).Workers[0]
			got := number{Has: p.Replicas}
			if p.Scaling != nil {
				got = number{true, p.Scaling.Min, p.Scaling.Max, p.Replicas}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
		})
	}
}

// TestScaledRollout resolves percentages for each number anew.
func TestScaledRollout(t *testing.T) {
	c := mustDecode(t, annotated(t, "", least, most))
	k := c.Key
	for n, want := range map[int][2]int{2: {1, 1}, 8: {4, 4}, 99: {5, 5}} {
		p := c.WithScales([]fleet.Scale{{Cluster: k, Pool: "eu-md-0", Replicas: n}}).Workers[0]
		if got := [2]int{p.MaxSurge, p.MaxUnavailable}; got != want {
			t.Errorf("with %d machines maxSurge and maxUnavailable are %v, want %v", n, got, want)
		}
	}
	if c.Workers[0].Scaling.Decided {
		t.Error("the definition itself was changed")
	}
}

// TestScalingFromNothing reads what a new Node is like.
func TestScalingFromNothing(t *testing.T) {
	const prefix = "capacity.cluster-autoscaler.kubernetes.io/"
	s := mustDecode(t, annotated(t, "", least, most,
		prefix+`cpu: "4"`, prefix+"memory: 16Gi", prefix+`gpu-type: nvidia.com/gpu`, prefix+`gpu-count: "2"`, prefix+`maxPods: "50"`, prefix+"ephemeral-disk: 100Gi",
		prefix+`labels: "disk=ssd,zone=a"`, prefix+`taints: "gpu=yes:NoSchedule,slow:PreferNoSchedule"`,
		`cluster.x-k8s.io/autoscaling-options-scaledownunneededtime: 7m`, `cluster.x-k8s.io/autoscaling-options-scaledownutilizationthreshold: "0.4"`)).Workers[0].Scaling
	got := map[string]string{}
	for name, q := range s.Capacity {
		got[string(name)] = q.String()
	}
	want := map[string]string{"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "2", "pods": "50", "ephemeral-storage": "100Gi"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"disk": "ssd", "zone": "a"}, s.Labels); diff != "" {
		t.Error(diff)
	}
	if len(s.Taints) != 2 || s.Taints[0].Value != "yes" || s.Taints[1].Key != "slow" || s.Taints[1].Effect != "PreferNoSchedule" {
		t.Errorf("taints %v", s.Taints)
	}
	if *s.Options.UnneededTime != 7*time.Minute || *s.Options.UtilizationThreshold != 0.4 {
		t.Errorf("options %+v", s.Options)
	}
}

// TestBadScaling names the annotation and what to do.
func TestBadScaling(t *testing.T) {
	for name, c := range map[string]struct {
		notes []string
		want  string
	}{
		"one bound":        {[]string{least}, "needs cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size beside it"},
		"the other bound":  {[]string{most}, "needs cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size beside it"},
		"crossed":          {[]string{`cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: "11"`, most}, "must not be more than"},
		"no number":        {[]string{`cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: some`, most}, "must be a whole number from 0"},
		"no quantity":      {[]string{"capacity.cluster-autoscaler.kubernetes.io/cpu: many"}, "must be a quantity"},
		"unknown capacity": {[]string{"capacity.cluster-autoscaler.kubernetes.io/csi-driver: x=1"}, "is not known here: cpu"},
		"unknown option":   {[]string{"cluster.x-k8s.io/autoscaling-options-zero: x"}, "is not known here: scaledown"},
		"count alone":      {[]string{`capacity.cluster-autoscaler.kubernetes.io/gpu-count: "1"`}, "gpu-type beside it"},
		"type alone":       {[]string{"capacity.cluster-autoscaler.kubernetes.io/gpu-type: nvidia.com/gpu"}, "gpu-count beside it"},
		"no label":         {[]string{"capacity.cluster-autoscaler.kubernetes.io/labels: x"}, `"x" is none`},
		"no taint":         {[]string{`capacity.cluster-autoscaler.kubernetes.io/taints: "x:Never"`}, `"x:Never" is none`},
		"no share":         {[]string{`cluster.x-k8s.io/autoscaling-options-scaledownutilizationthreshold: "40"`}, "must be a number from 0 to 1"},
		"no duration":      {[]string{`cluster.x-k8s.io/autoscaling-options-maxnodeprovisiontime: "40"`}, "must be a duration"},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := decodeAll(annotated(t, "", c.notes...))
			if len(problems) != 1 || !strings.Contains(problems[0].Message, c.want) || !strings.HasPrefix(problems[0].Field, "metadata.annotations[") {
				t.Errorf("problems %v; want one with %q", problems, c.want)
			}
		})
	}
}
