package providers_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/dryrun"
	"fairlead.dev/providers/limit"
	"fairlead.dev/providers/retry"
	"fairlead.dev/providers/trace"
)

// An ability is one of package providers, and what is known of it.
type ability struct {
	get func(providers.Infrastructure) (any, bool) // As
	is  func(any) bool
	// plain says why decorators do not stand before its calls; empty: they do.
	plain string
}

func as[T any](p providers.Infrastructure) (any, bool) { return providers.As[T](p) }

func is[T any](x any) bool { _, ok := x.(T); return ok }

func abilities() map[string]ability {
	return map[string]ability{
		"Watcher":        {as[providers.Watcher], is[providers.Watcher], "its call lasts for ever"},
		"Lister":         {as[providers.Lister], is[providers.Lister], ""},
		"Sweeper":        {as[providers.Sweeper], is[providers.Sweeper], ""},
		"Adopter":        {as[providers.Adopter], is[providers.Adopter], ""},
		"Charts":         {as[providers.Charts], is[providers.Charts], ""},
		"NodeIdentifier": {as[providers.NodeIdentifier], is[providers.NodeIdentifier], "it asks nobody"},
		"Closer":         {as[providers.Closer], is[providers.Closer], "it asks nobody"},
	}
}

// contracts are the interfaces of package providers that are no abilities.
func contracts() []string {
	return []string{"Bootstrap", "Decorator", "Infrastructure", "Observer", "Workload", "WorkloadObserver"}
}

// TestAbilitiesAreKnown: whoever adds an interface to the package says here what of it
// changes something, or that it is no ability.
func TestAbilitiesAreKnown(t *testing.T) {
	packages, err := parser.ParseDir(token.NewFileSet(), ".", nil, parser.SkipObjectResolution) //nolint:staticcheck // one folder without build tags
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range packages["providers"].Files {
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if ok && spec.Name.IsExported() {
				if _, ok := spec.Type.(*ast.InterfaceType); ok && !slices.Contains(contracts(), spec.Name.Name) {
					got = append(got, spec.Name.Name)
				}
			}
			return true
		})
	}
	slices.Sort(got)
	got = slices.Compact(got) // files of tests are parsed as well
	var want []string
	for name := range abilities() {
		want = append(want, name)
	}
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("interfaces that are neither abilities nor contracts (-known +there): %s", d)
	}
}

// able has every ability, and notes which methods are called.
type able struct {
	providers.Infrastructure
	called *[]string
}

func (a able) note(name string) { *a.called = append(*a.called, name) }

func (a able) Watch(context.Context, func(fleet.Key)) error { a.note("Watch"); return nil }

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
func (a able) NodeID() string                     { a.note("NodeID"); return "" }
func (a able) Close()                             { a.note("Close") }

// newer is an ability that no decorator knows.
type newer interface{ Reboot() }

func (a able) Reboot() { a.note("Reboot") }

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

// methods returns the names of the methods that the type of x has.
func methods(x any) []string {
	var out []string
	for m := range reflect.TypeOf(x).Methods() {
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
		for name, a := range abilities() {
			got, ok := a.get(p)
			if !ok {
				t.Errorf("%s: %s is not found", chain, name)
				continue
			}
			for other, b := range abilities() {
				if other != name && b.is(got) {
					t.Errorf("%s: what is found as %s is %s as well", chain, name, other)
				}
			}
			if is[providers.Infrastructure](got) {
				t.Errorf("%s: what is found as %s is an Infrastructure as well", chain, name)
			}
			for _, method := range methods(got) {
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
		}
		if _, ok := providers.As[newer](p); ok {
			t.Errorf("%s: an ability that nobody knows is found", chain)
		}
		if _, ok := providers.As[able](p); ok {
			t.Errorf("%s: the provider inside is found", chain)
		}
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
		for name, a := range abilities() {
			if a.plain != "" {
				continue
			}
			limited, _ := a.get(busy)
			traced, _ := a.get(tracing)
			for _, method := range methods(limited) {
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
				failing, _ := a.get(retry.New(flaky{in: able{called: &called}}, retry.Options{}))
				err := call(t, failing, method)
				if attempts, changes := len(called), providers.Changes()[name][method]; method != "Forget" &&
					(err == nil || changes && attempts != 1 || !changes && attempts != 4) {
					t.Errorf("%s.%s is called %d times while it is unavailable: %v", name, method, attempts, err)
				}
			}
		}
	})
}

// flaky is a provider whose abilities are unavailable.
type flaky struct {
	providers.Infrastructure
	in able
}

// Ability implements providers.Decorator.
func (f flaky) Ability(target any) bool {
	return providers.Through(f.in, target, func(_ context.Context, u providers.Use, call func() error) error {
		_ = call()
		return fleet.Errorf(fleet.Unavailable, u.Op, "503")
	})
}
