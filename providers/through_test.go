package providers_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/decorators/dryrun"
	"fairlead.dev/providers/decorators/limit"
	"fairlead.dev/providers/decorators/retry"
	"fairlead.dev/providers/decorators/trace"
	"fairlead.dev/providers/driver/endpoint"
)

// plain are the abilities whose calls decorators do not stand before, and why.
func plain() map[string]string {
	return map[string]string{
		"Watcher":        "its call lasts for ever",
		"NodeIdentifier": "it asks nobody",
		"VirtualIPs":     "it asks nobody",
		"Placer":         "it asks nobody",
		"Closer":         "it asks nobody",
	}
}

// each calls f with the name and the value of each ability of a.
func each(a providers.Abilities, f func(name string, ability reflect.Value)) {
	v := reflect.ValueOf(a)
	for i := range v.NumField() {
		f(v.Type().Field(i).Name, v.Field(i))
	}
}

// TestAbilitiesAreKnown: whoever adds an ability says in Changes what of it changes
// something.
func TestAbilitiesAreKnown(t *testing.T) {
	each(providers.Abilities{}, func(name string, ability reflect.Value) {
		var got, want []string
		for method := range providers.Changes()[name] {
			got = append(got, method)
		}
		for m := range ability.Type().Methods() {
			want = append(want, m.Name)
		}
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" || ability.Type().Name() != name {
			t.Errorf("methods of %s in Changes (-wanted +there): %s", name, d)
		}
	})
}

// able has every ability, and notes which methods are called.
type able struct {
	providers.Infrastructure
	called *[]string
}

func (a able) Abilities() providers.Abilities {
	return providers.Abilities{Watcher: a, Lister: a, OrphanRemover: a, Adopter: a, Charts: a, UntaggedFinder: a, NodeIdentifier: a, VirtualIPs: a, Checker: a, Rebooter: a, EndpointKeeper: a, PoolKeeper: a, SecretAnswerer: a, Placer: a, Closer: a}
}

func (a able) note(name string) { *a.called = append(*a.called, name) }

func (a able) Watch(context.Context, func(fleet.Key)) error { a.note("Watch"); return nil }

func (a able) SwitchMachine(context.Context, fleet.OperationID, *fleet.Cluster, fleet.MachineName, fleet.ProviderID, fleet.HostPower) error {
	a.note("SwitchMachine")
	return nil
}

func (a able) LeaveEndpoint(context.Context, *fleet.Cluster, fleet.MachineName, fleet.ProviderID) error {
	a.note("LeaveEndpoint")
	return nil
}

func (a able) EnsurePool(context.Context, fleet.OperationID, *fleet.Cluster, fleet.KeptPool) error {
	a.note("EnsurePool")
	return nil
}

func (a able) DeletePool(context.Context, fleet.OperationID, *fleet.Cluster, fleet.PoolName) error {
	a.note("DeletePool")
	return nil
}

func (a able) AnswerSecrets(context.Context, *fleet.Cluster, fleet.Pool) (map[string]fleet.SecretData, error) {
	a.note("AnswerSecrets")
	return nil, nil
}

func (a able) Check(context.Context, []*fleet.Cluster) ([]providers.Finding, error) {
	a.note("Check")
	return nil, nil
}

func (a able) Clusters(context.Context, fleet.ID) ([]fleet.Key, error) {
	a.note("Clusters")
	return nil, nil
}

func (a able) Orphans(context.Context, fleet.ID, []*fleet.Cluster) ([]fleet.Orphan, error) {
	a.note("Orphans")
	return nil, nil
}

func (a able) RemoveOrphan(context.Context, fleet.ID, []*fleet.Cluster, fleet.Orphan) error {
	a.note("RemoveOrphan")
	return nil
}

func (a able) Adoptable(context.Context, *fleet.Cluster, []providers.AdoptedMachine) ([]string, error) {
	a.note("Adoptable")
	return nil, nil
}

func (a able) Adopt(context.Context, *fleet.Cluster, []providers.AdoptedMachine) error {
	a.note("Adopt")
	return nil
}

func (a able) Release(context.Context, *fleet.Cluster, []providers.AdoptedMachine) error {
	a.note("Release")
	return nil
}

func (a able) Install(context.Context, providers.Access, fleet.Release) error {
	a.note("Install")
	return nil
}

func (a able) Uninstall(context.Context, providers.Access, fleet.ReleaseRef) error {
	a.note("Uninstall")
	return nil
}

func (a able) Tries(fleet.Key) []fleet.ReleaseTry { a.note("Tries"); return nil }
func (a able) Forget(fleet.Key)                   { a.note("Forget") }
func (a able) VirtualIP(*fleet.Cluster) (*endpoint.VirtualIP, error) {
	a.note("VirtualIP")
	return nil, nil //nolint:nilnil // something else serves it
}

func (a able) Untagged(context.Context, *fleet.Cluster, []fleet.ProviderID) ([]fleet.Machine, error) {
	a.note("Untagged")
	return nil, nil
}

func (a able) PlaceOf(context.Context, *fleet.Cluster) (string, error) {
	a.note("PlaceOf")
	return "", nil
}

func (a able) NodeID() string { a.note("NodeID"); return "" }
func (a able) Close()         { a.note("Close") }

// call calls the method of x called name with the zero values of its arguments, and
// returns its error.
func call(t *testing.T, x any, name string) error {
	t.Helper()
	m := reflect.ValueOf(x).MethodByName(name)
	var in []reflect.Value
	for i := range m.Type().NumIn() {
		switch arg := m.Type().In(i); arg {
		case reflect.TypeFor[context.Context]():
			in = append(in, reflect.ValueOf(t.Context()))
		case reflect.TypeFor[*fleet.Cluster]():
			in = append(in, reflect.ValueOf(&fleet.Cluster{}))
		default:
			in = append(in, reflect.Zero(arg))
		}
	}
	for _, out := range m.Call(in) {
		if err, ok := out.Interface().(error); ok {
			return err
		}
	}
	return nil
}

// methods returns the names of the methods that a type has.
func methods(of reflect.Type) []string {
	var out []string
	for m := range of.Methods() {
		out = append(out, m.Name)
	}
	return out
}

// TestDryRunIsNotWalkedAround: whatever ability is taken out of a dry run, wherever in
// the chain it stands, changes nothing and leads to nothing else.
func TestDryRunIsNotWalkedAround(t *testing.T) {
	var called []string
	in := able{called: &called}
	for chain, p := range map[string]providers.Infrastructure{
		"alone":         dryrun.New(in),
		"as it is used": retry.New(dryrun.New(limit.New(in, limit.Options{InFlight: 1})), retry.Options{}),
		"innermost":     trace.New(limit.New(dryrun.New(in), limit.Options{}), func(context.Context, trace.Call) {}),
	} {
		each(providers.AbilitiesOf(p), func(name string, ability reflect.Value) {
			if ability.IsNil() {
				t.Errorf("%s: %s is not there", chain, name)
				return
			}
			got := ability.Interface()
			if d := cmp.Diff(methods(ability.Type()), methods(ability.Elem().Type())); d != "" {
				t.Errorf("%s: %s leads to more than its own methods (-its +there): %s", chain, name, d)
			}
			for _, method := range methods(ability.Type()) {
				called = nil
				err := call(t, got, method)
				changes := providers.Changes()[name][method]
				switch {
				case changes && len(called) > 0:
					t.Errorf("%s: %s.%s changes something in a dry run", chain, name, method)
				case changes && method != "Forget" && (!fleet.Refused(err) || !strings.HasSuffix(err.Error(), ": this is a dry run, which changes nothing")):
					t.Errorf("%s: %s.%s = %v, want it refused", chain, name, method, err)
				case !changes && !slices.Equal(called, []string{method}):
					t.Errorf("%s: %s.%s called %q of the provider inside, want it", chain, name, method, called)
				}
			}
		})
	}
}

// TestAbilitiesAreDecorated: calls of abilities are limited, told and, where they look,
// repeated, as those of the contract are.
func TestAbilitiesAreDecorated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var called, told []string
		in := able{called: &called}
		busy := limit.New(in, limit.Options{PerSecond: 1})
		tracing := trace.New(in, func(_ context.Context, c trace.Call) { told = append(told, c.Operation) })
		each(busy.Abilities(), func(name string, ability reflect.Value) {
			if plain()[name] != "" {
				return
			}
			of := func(p providers.Infrastructure) any {
				return reflect.ValueOf(providers.AbilitiesOf(p)).FieldByName(name).Interface()
			}
			limited, traced := of(busy), of(tracing)
			for _, method := range methods(ability.Type()) {
				if method == "Tries" { // asks nobody
					continue
				}
				time.Sleep(time.Second)
				start := time.Now()
				_, _ = call(t, limited, method), call(t, limited, method)
				if took := time.Since(start); took != time.Second {
					t.Errorf("two calls of %s.%s at one a second took %s", name, method, took)
				}
				told = nil
				if err := call(t, traced, method); err != nil || !slices.Equal(told, []string{method}) {
					t.Errorf("%s.%s: %v, and told of %q", name, method, err, told)
				}
				called = nil
				failing := of(retry.New(flaky{in: able{called: &called}}, retry.Options{}))
				err := call(t, failing, method)
				if attempts, changes := len(called), providers.Changes()[name][method]; method != "Forget" &&
					(err == nil || changes && attempts != 1 || !changes && attempts != 4) {
					t.Errorf("%s.%s is called %d times while it is unavailable: %v", name, method, attempts, err)
				}
			}
		})
	})
}

// flaky is a provider whose abilities are unavailable.
type flaky struct {
	providers.Infrastructure
	in able
}

func (f flaky) Abilities() providers.Abilities {
	return f.in.Abilities().Through(func(_ context.Context, u providers.Use, call func() error) error {
		_ = call()
		return fleet.Errorf(fleet.Unavailable, u.Op, "503")
	})
}
