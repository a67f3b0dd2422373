package replicas

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// fill gives each field of v, however deep, a value that is not its zero, so
// that a field that is not sent is seen to be missing.
func fill(v reflect.Value, depth int) {
	if depth > 12 {
		return
	}
	switch x := v.Addr().Interface().(type) {
	case *fleet.Secret:
		*x = fleet.NewSecret([]byte("secret\x00\xff"))
		return
	case *json.RawMessage:
		*x = json.RawMessage(`{"a":1}`)
		return
	case *bootstrapv1.BootstrapTokenString:
		x.ID, x.Secret = "abcdef", "0123456789abcdef"
		return
	case *metav1.FieldsV1:
		x.SetRawBytes([]byte(`{"f:a":{}}`))
		return
	case *metav1.Time:
		*x = metav1.Unix(1700000000, 0)
		return
	case *intstr.IntOrString:
		*x = intstr.FromString("30%")
		return
	case *metav1.Duration:
		x.Duration = time.Minute
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Int16, reflect.Int8:
		v.SetInt(7)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(k, depth+1)
		fill(e, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(k, e)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), depth+1)
			}
		}
	}
}

var revealed = cmp.Comparer(func(a, b fleet.Secret) bool { return string(a.Reveal()) == string(b.Reveal()) })

// TestNothingIsLost sends a cluster that has a value in each field there is.
func TestNothingIsLost(t *testing.T) {
	var full message
	fill(reflect.ValueOf(&full.Cluster).Elem(), -1)
	full.Cluster.Cluster.Residence = fleet.Residence{} // the memory has it
	full.Cluster.Cluster.Rebooting = nil               // and this
	full.Cluster.Cluster.Removals = nil                // and this
	full.Cluster.Cluster.Made = nil                    // it is observed
	full.Cluster.Cluster.APIElsewhere = false          // it is of views alone
	for name, m := range map[string]message{"Full": full, "Empty": {}} {
		c, known := &m.Cluster.Cluster, m.Cluster.Memory
		b, err := encode(c, known, name)
		if err != nil {
			t.Fatal(err)
		}
		got, remembered, frozen, err := decode(b)
		if err != nil || frozen != name {
			t.Fatalf("frozen %q, %v", frozen, err)
		}
		// Hashes are made where a cluster is decoded, and identities and networks compared where a fleet is
		// put together: none is sent.
		if diff := cmp.Diff(c, got, revealed, cmpopts.IgnoreFields(fleet.Bootstrap{}, "Hashed", "Settled"), cmpopts.IgnoreFields(fleet.Object{}, "Identities", "Networks")) + cmp.Diff(known, remembered); diff != "" {
			t.Errorf("%s (-sent +received):\n%s", name, diff)
		}
	}
}

// TestWireOfReleased reads what a replica of a released version sent, and sends the
// same: while replicas are upgraded, both versions work. The file is never written again.
func TestWireOfReleased(t *testing.T) {
	sent, err := os.ReadFile("testdata/released.json")
	if err != nil {
		t.Fatal(err)
	}
	c, known, frozen, err := decode(sent)
	if err != nil || frozen != "" {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	want := fleet.Memory{
		Fingerprint: "f", Remediation: fleet.Remediation{Machine: "m", At: at, Retry: 2}, ObservedConditions: []fleet.ObservedCondition{{Machine: "m", Condition: "Ready", Since: at}},
		Milestones: fleet.Milestones{Began: at}, Residence: fleet.Residence{Provider: "p", Places: []fleet.Place{{ID: "a"}}}, Clock: fleet.Clock{Ahead: time.Hour, Since: at},
	}
	if d := cmp.Diff(want, known); d != "" {
		t.Errorf("what is known of the cluster (-want +got):\n%s", d)
	}
	again, err := encode(c, known, "")
	if err != nil {
		t.Fatal(err)
	}
	var released, now any
	if err := errors.Join(json.Unmarshal(sent, &released), json.Unmarshal(again, &now)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(released, now); d != "" {
		t.Errorf("what is sent (-released +now):\n%s", d)
	}
}

// TestOutcome sends a result that has a value in each field there is, but for
// what the leader does without.
func TestOutcome(t *testing.T) {
	sent := reconcile.Result{After: time.Minute, Err: errors.Join(fleet.Errorf(fleet.Exhausted, "create machine", "no room"))}
	fill(reflect.ValueOf(&sent.Report).Elem(), 0)
	fill(reflect.ValueOf(&sent.Plan.Actions).Elem(), 0)
	fill(reflect.ValueOf(&sent.Observed).Elem(), 0)
	sent.Observed.Workload.Nodes, sent.Observed.Infrastructure.Machines = nil, nil
	b, err := json.Marshal(outcomeOf(sent))
	if err != nil {
		t.Fatal(err)
	}
	var o outcome
	if err := json.Unmarshal(b, &o); err != nil {
		t.Fatal(err)
	}
	got := o.result()
	if got.Err == nil || got.Err.Error() != sent.Err.Error() || fleet.KindOf(got.Err) != fleet.Exhausted {
		t.Errorf("error %v of kind %s", got.Err, fleet.KindOf(got.Err))
	}
	got.Err, sent.Err = nil, nil
	if diff := cmp.Diff(sent, got); diff != "" {
		t.Errorf("(-sent +received):\n%s", diff)
	}
}
