package decode_test

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/render/decode"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func decodeYards(manifests string) ([]fleet.Cluster, []fleet.Problem) {
	return decode.New("f1", yardKinds()).Decode("prod", objects(manifests))
}

func mustDecodeYards(t *testing.T, manifests string) fleet.Cluster {
	t.Helper()
	clusters, problems := decodeYards(manifests)
	if len(clusters) != 1 || len(problems) > 0 {
		t.Fatalf("got %d clusters and problems %v, want one cluster", len(clusters), problems)
	}
	return clusters[0]
}

// contents shows which Secrets an object came with.
func contents(o fleet.Object) map[string]string {
	out := map[string]string{}
	for k, data := range o.Secrets {
		out[k.String()] = string(data["clouds.yaml"].Reveal())
	}
	return out
}

func TestCompanions(t *testing.T) {
	c := mustDecodeYards(t, yards(t))
	var got []string
	for _, o := range c.Companions {
		got = append(got, o.GVK.Kind+" "+o.Namespace+"/"+o.Name+" "+string(o.Spec))
	}
	want := []string{
		`YardIdentity /shared {"secretRef":{"name":"shared","namespace":"vault"}}`,
		`YardPool prod/north {"secretRef":{"name":"login"},"size":2}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("companions: -want +got:\n%s", diff)
	}
	for name, s := range map[string]struct {
		object fleet.Object
		want   map[string]string
	}{
		"the shared infrastructure":          {c.Infrastructure, map[string]string{"prod/login": "one"}},
		"a companion":                        {c.Companions[1], map[string]string{"prod/login": "one"}},
		"a companion of no namespace":        {c.Companions[0], map[string]string{"vault/shared": "two"}},
		"a template: Git does not hold this": {c.ControlPlane.Infrastructure, map[string]string{}},
	} {
		if diff := cmp.Diff(s.want, contents(s.object)); diff != "" {
			t.Errorf("secrets of %s: -want +got:\n%s", name, diff)
		}
	}
	if diff := cmp.Diff([]fleet.Key{{Namespace: "prod", Name: "spare"}}, c.StoredSecrets()); diff != "" {
		t.Errorf("Secrets that Git does not hold: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"team": "blue", "kubernetes.io/metadata.name": "prod"}, c.NamespaceLabels); diff != "" {
		t.Errorf("labels of the namespace: -want +got:\n%s", diff)
	}
}

func TestSecretOfAMachineTemplate(t *testing.T) {
	c := mustDecodeYards(t, replaced(t, yards(t), "{name: spare}", "{name: login}"))
	for _, p := range c.Pools() {
		if diff := cmp.Diff(map[string]string{"prod/login": "one"}, contents(p.Infrastructure)); diff != "" {
			t.Errorf("pool %s: -want +got:\n%s", p.Name, diff)
		}
	}
}

func TestSecretsOfObjectsChangeDigestsAndRollNothing(t *testing.T) {
	base := replaced(t, yards(t), "{name: spare}", "{name: login}")
	before := mustDecodeYards(t, base)
	for name, c := range map[string]struct {
		change []string
		same   bool
	}{
		"a secret of the namespace":     {change: []string{"clouds.yaml: one", "clouds.yaml: new"}},
		"a secret elsewhere":            {change: []string{"clouds.yaml: two", "clouds.yaml: new"}},
		"a companion":                   {change: []string{"{size: 2,", "{size: 4,"}},
		"a label of the namespace":      {change: []string{"team: blue", "team: green"}},
		"a companion of another":        {change: []string{"kind: OtherPool\nmetadata: {name: north, namespace: prod}", "kind: OtherPool\nmetadata: {name: north, namespace: prod}\nspec: {size: 4}"}, same: true},
		"a label of another namespace":  {change: []string{"team: red", "team: green"}, same: true},
		"a namespace on one without it": {change: []string{"put-there-by-kustomize", "another"}, same: true},
	} {
		t.Run(name, func(t *testing.T) {
			after := mustDecodeYards(t, replaced(t, base, c.change...))
			if same := after.Digest == before.Digest; same != c.same {
				t.Errorf("the digest is the same: %t, want %t", same, c.same)
			}
			for i, p := range after.Pools() {
				if p.Template != before.Pools()[i].Template {
					t.Errorf("pool %s rolls", p.Name)
				}
			}
		})
	}
}

func TestDigestOfMovedCompanions(t *testing.T) {
	in := objects(yards(t))
	for i := range in {
		in[i].File = "elsewhere.yaml"
	}
	clusters, _ := decode.New("f1", yardKinds()).Decode("prod", in)
	if len(clusters) != 1 || clusters[0].Digest != mustDecodeYards(t, yards(t)).Digest {
		t.Error("the digest depends on the names of files")
	}
}

// TestProblemsOfCompanions has two clusters, of which us is on another provider.
func TestProblemsOfCompanions(t *testing.T) {
	us := strings.NewReplacer("name: eu", "name: us", "clusterName: eu", "clusterName: us", "deployment-name: eu", "deployment-name: us",
		"{name: m,", "{name: us-m,", "name: m}", "name: us-m}", "{name: w,", "{name: us-w,", "name: w}", "name: us-w}").Replace(newest)
	both := yards(t) + "\n---\n" + us
	for name, c := range map[string]struct {
		reason   string
		change   []string
		object   string
		clusters []string // that are held back; "/" stands for all
	}{
		"companion":                 {"clusters of its provider may refer to it", []string{"{size: 2,", "{size: -2,"}, "YardPool prod/north", []string{"prod/eu"}},
		"companion of no namespace": {"it is named without one", []string{"spec: {secretRef: {name: shared, namespace: vault}}", "spec: {size: -1}"}, "YardIdentity shared", []string{"prod/eu"}},
		"secret elsewhere":          {"a companion refers to it", []string{"clouds.yaml: two", "a/b: two"}, "Secret vault/shared", []string{"prod/eu"}},
		"namespace":                 {"both clusters are in it", []string{"labels: {team: blue}", "labels: {team: 1}"}, "Namespace prod", []string{"prod/eu", "prod/us"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := decodeYards(replaced(t, both, c.change...))
			var got []string
			for _, p := range problems {
				if p.Object != c.object {
					t.Errorf("%s: problem of %q, want %q: %s", c.reason, p.Object, c.object, p)
				}
				got = append(got, p.Cluster.String())
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.clusters, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s\n%v", c.reason, diff, problems)
			}
		})
	}
}

// TestResolve: what a companion of the namespace says is part of the template that
// refers to it, and of its hash; what is wrong with that is told of object and field.
func TestResolve(t *testing.T) {
	kinds := yardKinds()
	for i := range kinds {
		if kinds[i].Kind != "YardMachineTemplate" {
			continue
		}
		kinds[i].Resolve = func(spec any, companions func(string) map[string]any) (any, field.ErrorList) {
			out := spec.(yardSpec)
			for name, c := range companions("YardPool") {
				if c.(yardSpec).Size == 7 {
					return nil, field.ErrorList{field.Invalid(field.NewPath("spec", "template", "spec", "size"), out.Size, "does not fit "+name)}
				}
				out.Size += 10 * c.(yardSpec).Size
				out.Identity += name
			}
			return out, nil
		}
	}
	read := func(manifests string) ([]fleet.Cluster, []fleet.Problem) {
		return decode.New("f1", kinds).Decode("prod", objects(manifests))
	}
	clusters, problems := read(yards(t))
	if len(clusters) != 1 || len(problems) > 0 {
		t.Fatalf("%d clusters, problems %v", len(clusters), problems)
	}
	first := clusters[0].Workers[0]
	if got, want := string(first.Infrastructure.Spec), `{"identity":"north","secretRef":{"name":"spare"},"size":21}`; got != want {
		t.Errorf("spec = %s, want %s", got, want)
	}
	clusters, _ = read(replaced(t, yards(t), "{size: 2,", "{size: 3,"))
	if len(clusters) != 1 || clusters[0].Workers[0].Template == first.Template {
		t.Error("another companion replaces no machine")
	}
	clusters, problems = read(replaced(t, yards(t), "{size: 2,", "{size: 7,"))
	if len(clusters) != 0 || len(problems) == 0 {
		t.Fatalf("%d clusters, problems %v", len(clusters), problems)
	}
	p := problems[0]
	if !strings.HasPrefix(p.Object, "YardMachineTemplate ") || p.Field != "spec.template.spec.size" || !strings.Contains(p.Message, "does not fit north") {
		t.Errorf("problem = %+v", p)
	}
}
