package install_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"fairlead.dev/agent/ownership/pivot"
	"fairlead.dev/agent/ownership/pivot/install"
	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/providers/workload/helm"
	"fairlead.dev/sources"
	"fairlead.dev/test/lab/kube"
)

// A release of another fleet is neither replaced nor removed, whoever installed it.
func TestAgentOfAnotherFleet(t *testing.T) {
	k := kube.Start(t)
	for _, c := range []struct {
		reason string
		there  func(o *install.Options) // how the release that exists was installed
		want   string                   // text of the error; empty: the release is this fleet's
	}{
		{"another fleet moved in", func(o *install.Options) { *o = options(t, k, o.Release.Namespace, "staging") }, "is the agent of the fleet staging"},
		{"the same fleet did", func(*install.Options) {}, ""},
		{"people installed one of another fleet", func(o *install.Options) {
			*o = options(t, k, o.Release.Namespace, "staging")
			o.Fleet = ""
		}, "is the agent of https://git.example.com/staging"},
		{"people installed the one of this fleet", func(o *install.Options) { o.Fleet = "" }, ""},
		{"something else has the name", func(o *install.Options) {
			o.Fleet, o.Release.Values = "", map[string]any{"source": map[string]any{}}
		}, "is not an agent of Fairlead"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			ctx := t.Context()
			o := options(t, k, k.Namespace(), "prod")
			there := o
			c.there(&there)
			theirs := open(t, there)
			if err := theirs.Install(ctx); err != nil {
				t.Fatal(err)
			}
			ours := open(t, o)
			err := ours.Install(ctx)
			if c.want == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "spec.home.release") {
				t.Errorf("got %v, want %q and what to do", err, c.want)
			}
			installed(t, "ours", ours, false)
			old := o
			old.Release = helm.Release{Namespace: o.Release.Namespace, Name: "fairlead"}
			installed(t, "ours, of an old home", open(t, old), false)
			if err := open(t, old).Uninstall(ctx); err != nil {
				t.Fatal(err)
			}
			installed(t, "theirs, after ours is removed", theirs, true)
		})
	}
}

// Two agents in one namespace have separate credentials.
func TestAgentsBesideEachOther(t *testing.T) {
	k := kube.Start(t)
	ctx, ns := t.Context(), k.Namespace()
	for _, id := range []string{"prod", "staging"} {
		o := options(t, k, ns, id)
		o.Release.Name = "fairlead-" + id
		if err := open(t, o).Install(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"prod", "staging"} {
		s, err := kubernetes.NewForConfigOrDie(k.Config).CoreV1().Secrets(ns).Get(ctx, "fairlead-"+id+"-git", metav1.GetOptions{})
		if err != nil || string(s.Data["value"]) != "token of "+id {
			t.Errorf("%s has %q, %v", id, s.Data["value"], err)
		}
	}
}

// succession is an arbiter whose agents agree at once.
type succession struct {
	sources.Arbiter
	owner fleet.Owner
	next  fleet.Succession
}

func (s *succession) Succession(context.Context) (fleet.Owner, fleet.Succession, error) {
	return s.owner, s.next, nil
}

func (s *succession) Succeed(_ context.Context, _ fleet.Owner, _, to fleet.Succession) error {
	s.next = to.At(fleet.StepGranted)
	if to.Step == fleet.StepMoved {
		s.owner, s.next = fleet.Owner{Agent: to.To, Epoch: s.owner.Epoch + 1}, fleet.Succession{}
	}
	return nil
}

// Safety: fleets that share a home do not interfere. Secrets of the other fleet are neither
// copied nor removed, on the way in and out. Secrets of no fleet are copied, and stay.
func TestFleetsDoNotInterfere(t *testing.T) {
	k := kube.Start(t)
	ctx, ns := t.Context(), k.Namespace()
	key := func(name string) fleet.Key { return fleet.Key{Namespace: ns, Name: name} }
	ours, theirs := open(t, options(t, k, ns, "prod")).Secrets(), open(t, options(t, k, ns, "staging")).Secrets()
	all := options(t, k, ns, "")
	anybody := open(t, all).Secrets()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(theirs.SetSecret(ctx, key("cloud"), text("theirs")))
	must(anybody.SetSecret(ctx, key("shared"), text("anybody's")))
	laptop := secrets.NewMemory()
	must(laptop.SetSecret(ctx, key("dns"), text("ours")))
	ca := fleet.SecretData{fleet.TLSCertKey: fleet.NewSecret([]byte("c")), fleet.TLSKeyKey: fleet.NewSecret([]byte("k"))}
	_, err := laptop.Create(ctx, key("eu-1"), fleet.ClusterCA, ca)
	must(err)
	move := func(to string, from, into secrets.Store) error {
		return pivot.New(pivot.Destination{To: to}, pivot.Parts{
			Arbiter: &succession{owner: fleet.Owner{Agent: "me", Epoch: 1}}, From: from, To: into, ID: func() string { return "1" },
			Clusters: func(context.Context) ([]fleet.Key, error) { return []fleet.Key{key("eu-1")}, nil },
		}).Run(ctx)
	}

	must(move("home", laptop, ours))
	labelled := func(name string) string {
		s, err := kubernetes.NewForConfigOrDie(k.Config).CoreV1().Secrets(ns).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "gone"
		}
		return s.Labels["fairlead.dev/fleet"]
	}
	for name, want := range map[string]string{"dns": "prod", "eu-1-ca": "prod", "cloud": "staging", "shared": ""} {
		if got := labelled(name); got != want {
			t.Errorf("in the home %s is of %q, not of %q", name, got, want)
		}
	}

	// And out of the home again.
	must(move("laptop", ours, laptop))
	got, err := laptop.ListSecrets(ctx)
	must(err)
	if want := []fleet.Key{key("dns"), key("shared")}; !slices.Equal(got, want) {
		t.Errorf("the laptop got %v, not %v", got, want)
	}
	for name, want := range map[string]string{"dns": "gone", "eu-1-ca": "gone", "cloud": "staging", "shared": ""} {
		if got := labelled(name); got != want {
			t.Errorf("after the fleet left, %s is of %q, not of %q", name, got, want)
		}
	}

	// A Secret of no fleet that both sides have is no copy that undo may remove.
	must(pivot.New(pivot.Destination{To: "home", Home: key("eu-1")}, pivot.Parts{
		Arbiter: &succession{owner: fleet.Owner{Agent: "me", Epoch: 1}}, From: laptop,
		Home:     func(context.Context) (pivot.Home, error) { return open(t, options(t, k, ns, "prod")), nil },
		Clusters: func(context.Context) ([]fleet.Key, error) { return nil, nil },
	}).Undo(ctx))
	for name, want := range map[string]string{"cloud": "staging", "shared": ""} {
		if got := labelled(name); got != want {
			t.Errorf("after it was undone, %s is of %q, not of %q", name, got, want)
		}
	}

	// The destination has a Secret of this name already: of the other fleet, or of no
	// fleet.
	must(laptop.SetSecret(ctx, key("cloud"), text("ours")))
	for _, name := range []string{"cloud", "shared"} {
		must(laptop.SetSecret(ctx, key("shared"), text("ours")))
		before := labelled(name)
		bounded, cancel := context.WithCancel(ctx)
		p := pivot.New(pivot.Destination{To: "home"}, pivot.Parts{
			Arbiter: &succession{owner: fleet.Owner{Agent: "me", Epoch: 1}}, From: laptop, To: ours, ID: func() string { return "1" },
			Clusters: func(context.Context) ([]fleet.Key, error) { return []fleet.Key{key("eu-1")}, nil },
			Show: func(list []pivot.Step) { // an error that may pass is tried again
				if last := list[len(list)-1]; last.Name == pivot.Retrying && strings.Contains(last.Why, "it is of the fleet staging") {
					cancel()
				}
			},
		})
		err := p.Run(bounded)
		cancel()
		if name == "shared" && (fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), ns+"/shared")) {
			t.Errorf("a Secret of any fleet: %v", err)
		}
		if err == nil || labelled(name) != before {
			t.Errorf("%s became of %q: %v", name, labelled(name), err)
		}
		must(laptop.DeleteSecret(ctx, key("cloud")))
	}
}
