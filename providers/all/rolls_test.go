package all_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/all"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
	"fairlead.dev/test/run/short"
)

// A configured pool is a bootstrap configuration that says much, and where it stands.
type configured struct {
	distribution string
	version      string // of Kubernetes; empty: the older of the distribution
	plane        bool   // it is that of the control plane
	spec         string
}

// A made machine is what a machine that joins is made of: its template hash, and its user data.
type madeMachine struct {
	hash fleet.TemplateHash
	data string
}

// A rolling decodes definitions that differ in one bootstrap configuration.
type rolling struct {
	configured
	d       distribution
	impl    providers.Distribution
	decoder *decode.Decoder
	secrets map[fleet.SecretName]fleet.SecretData
	v1beta1 bool // the configuration is in that version
}

func newRolling(t *testing.T, c configured, k []fleet.Kind) *rolling {
	r := &rolling{configured: c, d: distributions()[c.distribution], decoder: decode.New("f", k)}
	if r.version == "" {
		r.version = r.d.older
	}
	r.impl = all.Distributions(nil)[r.d.kind]
	cluster := r.d.cluster(t)
	var err error
	if r.secrets, err = r.impl.NewSecrets(&cluster, time.Unix(1_700_000_000, 0)); err != nil {
		t.Fatal(err)
	}
	return r
}

// made returns what the machines of the pool are made of if its configuration is spec, or why it
// is refused.
func (r *rolling) made(spec map[string]any) (_ madeMachine, refused string) {
	text := fmt.Sprintf(clusterManifests, r.d.kind, r.version, r.d.bootstrap) + strings.ReplaceAll(r.d.manifests, r.d.older, r.version)
	text += "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: prod}\nstringData: {k: secret}\n"
	kind := r.d.bootstrap
	if r.plane {
		kind = r.d.kind
	}
	var objects []render.Object
	for doc := range strings.SplitSeq(text, "\n---\n") {
		data := []byte(doc)
		if strings.Contains(doc, "kind: "+kind+"\n") {
			data = r.put(data, spec)
		}
		objects = append(objects, render.Object{File: "all.yaml", YAML: data})
	}
	clusters, problems := r.decoder.Decode("clusters/eu-1", objects)
	if len(problems) > 0 || len(clusters) != 1 {
		return madeMachine{}, fmt.Sprint(problems)
	}
	c := &clusters[0]
	if !r.plane {
		p := c.Workers[0]
		data, refused := r.data(c, p, fleet.JoinWorker)
		return madeMachine{p.Template, data}, refused
	}
	p := c.ControlPlane
	joining, refused := r.data(c, p, fleet.JoinControlPlane)
	// kubeadm reads the configuration of the cluster in the cluster, where it is as the first
	// machine would have it. What that machine alone reads is left out.
	var parts map[string]json.RawMessage
	_ = json.Unmarshal(p.Bootstrap.Spec, &parts)
	delete(parts, "initConfiguration")
	p.Bootstrap.Spec, _ = json.Marshal(parts)
	first, also := r.data(c, p, fleet.JoinInit)
	return madeMachine{p.Template, joining + first}, cmp.Or(refused, also)
}

func (r *rolling) data(c *fleet.Cluster, p fleet.Pool, join fleet.Join) (data, refused string) {
	d, err := r.impl.UserData(providers.BootstrapInput{
		Cluster: c, Pool: p, Machine: "m", Join: join, Endpoint: fleet.Endpoint{Host: "192.0.2.1", Port: 6443}, Secrets: r.secrets,
	})
	if err != nil {
		return "", err.Error()
	}
	return string(d.Content.Reveal()), ""
}

// put returns the object with spec as its bootstrap configuration.
func (r *rolling) put(object []byte, spec map[string]any) []byte {
	var o map[string]any
	if err := yaml.Unmarshal(object, &o); err != nil {
		panic(err)
	}
	at := o["spec"].(map[string]any)
	if r.v1beta1 {
		spec = inV1Beta1(spec).(map[string]any)
		o["apiVersion"] = strings.Replace(o["apiVersion"].(string), "v1beta2", "v1beta1", 1)
		if r.plane {
			at["machineTemplate"] = map[string]any{"infrastructureRef": map[string]any{
				"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevMachineTemplate", "name": "m",
			}}
		}
	}
	switch r.d.kind + fmt.Sprint(r.plane) {
	case "KubeadmControlPlanetrue":
		at["kubeadmConfigSpec"] = spec
	case "KThreesControlPlanetrue":
		at["kthreesConfigSpec"] = spec
	case "RKE2ControlPlanetrue":
		maps.Copy(at, spec)
	default:
		at["template"] = map[string]any{"spec": spec}
	}
	out, err := yaml.Marshal(o)
	if err != nil {
		panic(err)
	}
	return out
}

// A variant is a configuration with one place changed.
type variant struct {
	at   string
	spec map[string]any
	madeMachine
}

// variants returns spec with each of its places changed in each way: taken out, empty, false,
// another value, and lists in another order or with an item twice.
func variants(spec map[string]any) []variant {
	var out []variant
	var walk func(at string, v any, with func(any) map[string]any)
	walk = func(at string, v any, with func(any) map[string]any) {
		add := func(how string, v any) { out = append(out, variant{at: at + " " + how, spec: with(v)}) }
		switch v := v.(type) {
		case map[string]any:
			add("empty", map[string]any{})
			for _, key := range slices.Sorted(maps.Keys(v)) {
				inner := func(v2 any) map[string]any {
					o := maps.Clone(v)
					if o[key] = v2; v2 == nil {
						delete(o, key)
					}
					return with(o)
				}
				out = append(out, variant{at: at + "." + key + " taken out", spec: inner(nil)})
				walk(at+"."+key, v[key], inner)
			}
		case []any:
			add("empty", []any{})
			if len(v) == 0 {
				return
			}
			add("shorter", v[1:])
			add("with an item twice", slices.Concat(v, v[:1]))
			if len(v) > 1 {
				turned := slices.Clone(v)
				slices.Reverse(turned)
				add("reversed", turned)
			}
			for i := range v {
				walk(fmt.Sprintf("%s[%d]", at, i), v[i], func(v2 any) map[string]any {
					o := slices.Clone(v)
					o[i] = v2
					return with(o)
				})
			}
		case string:
			add("another", v+"1")
			add("empty", "")
		case bool:
			add("turned", !v)
		case float64:
			add("another", v+1)
			add("zero", 0)
		}
	}
	walk("", spec, func(v any) map[string]any { return v.(map[string]any) })
	return out
}

// TestWhatRollsIsUserData: among configurations that differ in one place, those with the same user
// data, byte by byte, have the same template hash, and those with other user data have another.
// Exceptions have a reason each.
func TestWhatRollsIsUserData(t *testing.T) {
	k, used := kinds(t), map[string]bool{}
	whole := true
	for name, c := range configurations() {
		t.Run(name, func(t *testing.T) {
			r := newRolling(t, c, k)
			var spec map[string]any
			if err := yaml.Unmarshal([]byte(c.spec), &spec); err != nil {
				t.Fatal(err)
			}
			base, why := r.made(spec)
			if why != "" {
				t.Fatal(why)
			}
			all, refused := variants(spec), 0
			some := short.Of(t, 20, all)
			if whole = whole && len(some) == len(all); !whole {
				some = append(some, slices.DeleteFunc(slices.Clone(all), func(v variant) bool { return !slices.Contains(spellings(), v.at) })...)
			}
			hashOf, dataOf := map[string]variant{base.data: {madeMachine: base}}, map[fleet.TemplateHash]variant{base.hash: {madeMachine: base}}
			for _, v := range some {
				now, why := r.made(v.spec)
				if why != "" {
					refused++
					continue
				}
				v.madeMachine = now
				var problem string
				if was, ok := hashOf[v.data]; ok && was.hash != v.hash {
					problem = "machines are replaced by machines with the same user data as without it or with" + was.at
				}
				if was, ok := dataOf[v.hash]; ok && was.data != v.data {
					problem = "user data changes, and no machine is replaced, as without it or with" + was.at
				}
				if e := exception(name, v.at); problem != "" && e != "" {
					used[e] = true
					continue
				}
				if problem != "" {
					t.Errorf("%s: %s", v.at, problem)
				}
				if _, ok := hashOf[v.data]; !ok {
					hashOf[v.data] = v
				}
				if _, ok := dataOf[v.hash]; !ok {
					dataOf[v.hash] = v
				}
			}
			t.Logf("%d variants, %d refused", len(some), refused)
		})
	}
	for e := range exceptions() {
		if whole && !used[e] {
			t.Errorf("the exception %q is for nothing", e)
		}
	}
}

// TestOlderVersionRollsNothing: a configuration of kubeadm in v1beta1 has the template hash of the
// same in v1beta2. It has no order of arguments, so that its user data may have another.
func TestOlderVersionRollsNothing(t *testing.T) {
	k := kinds(t)
	for name, c := range configurations() {
		if c.distribution != "kubeadm" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			now := newRolling(t, c, k)
			before := *now
			before.v1beta1 = true
			var spec map[string]any
			if err := yaml.Unmarshal([]byte(c.spec), &spec); err != nil {
				t.Fatal(err)
			}
			spec = without(spec, "timeouts", "encryptionAlgorithm", "certificateValidityPeriodDays", "caCertificateValidityPeriodDays").(map[string]any)
			compared := 0
			var all []variant
			for i, v := range variants(spec) {
				if i%4 == 0 { // the places are tried in the other test
					all = append(all, v)
				}
			}
			for _, v := range append([]variant{{spec: spec}}, short.Of(t, 10, all)...) {
				want, refused := now.made(v.spec)
				got, also := before.made(v.spec)
				if refused != "" {
					continue
				}
				if also != "" {
					t.Errorf("%s: good in v1beta2, refused in v1beta1: %s", v.at, also)
					continue
				}
				if compared++; got.hash != want.hash {
					t.Errorf("%s: the hash is %s in v1beta2 and %s in v1beta1", v.at, want.hash, got.hash)
				}
			}
			t.Logf("%d compared", compared)
		})
	}
}

// without returns v without the fields called so.
func without(v any, names ...string) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			if !slices.Contains(names, key) {
				out[key] = without(value, names...)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = without(v[i], names...)
		}
		return out
	}
	return v
}

// inV1Beta1 returns v as v1beta1 has it: arguments are a mapping there.
func inV1Beta1(v any) any {
	o, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for key, value := range o {
		list, ok := value.([]any)
		if !ok || key != "extraArgs" && key != "kubeletExtraArgs" {
			out[key] = inV1Beta1(value)
			continue
		}
		args := map[string]any{}
		for _, a := range list {
			arg := a.(map[string]any)
			args[fmt.Sprint(arg["name"])] = arg["value"]
		}
		out[key] = args
	}
	return out
}

// exception returns the entry of exceptions for the place at of the configuration called name.
func exception(name, at string) string {
	for e := range exceptions() {
		of, place, _ := strings.Cut(e, ": ")
		if strings.HasPrefix(name, of) && (strings.HasPrefix(at, place) || strings.HasPrefix(place, "*") && strings.HasSuffix(at, place[1:])) {
			return e
		}
	}
	return ""
}
