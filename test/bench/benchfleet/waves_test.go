package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"fairlead.dev/agent/console/cli"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/providers/workload"
	"fairlead.dev/test/run/short"
)

// TestWaves: a class changes under many clusters in five stages. Never are more of them changed
// at once than may be, and none before the stages before it are done; one that fails halts
// them; once it is passed over the others go on, and mended it comes too.
func TestWaves(t *testing.T) {
	n := short.Number(t, 20, 40)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	got, err := measure(ctx, self, measurement{name: "waves", do: func(ctx context.Context, b *bench) ([]figure, error) { return b.waves(ctx, n) }}, settings{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range got {
		t.Logf("%s: %.4g %s", f.name, f.value, f.unit)
	}
}

// The observer notices what must not be.
func TestJudge(t *testing.T) {
	all := rings(40)
	ids := func(ids ...string) map[string]bool {
		out := make(map[string]bool)
		for _, id := range ids {
			out[id] = true
		}
		return out
	}
	for reason, c := range map[string]struct {
		changed map[int]map[string]bool
		wrong   bool
	}{
		"nothing happened":           {nil, false},
		"as many as may be":          {map[int]map[string]bool{0: ids("a", "b", "c")}, false},
		"one more":                   {map[int]map[string]bool{0: ids("a", "b", "c"), 1: ids("b")}, true},
		"the second stage too soon":  {map[int]map[string]bool{0: ids("x", "y"), 2: ids("x", "b")}, true},
		"the second after the first": {map[int]map[string]bool{0: ids("x", "y"), 1: ids("x", "y"), 2: ids("x", "b")}, false},
	} {
		o := &observer{rings: all, n: 40, bad: name(all[1].to), most: make([]int, len(all)), old: make(map[string]map[string]bool)}
		now := make(map[string]map[string]bool)
		for i := range 40 {
			o.old[name(i)], now[name(i)] = ids("a", "b"), ids("a", "b")
			if m, ok := c.changed[i]; ok {
				now[name(i)] = m
			}
		}
		o.judge(now)
		if err := o.err(); (err != nil) != c.wrong {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

// TestMain has the test binary be the program, where it is not told what to test.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		os.Exit(cli.Main(cli.Program{Version: "test", Built: wiring.Built{
			Providers: []providers.Factory{inmemory.Factory()},
			Distributions: func(c *workload.Client) providers.Distributions {
				return providers.Distributions{"KubeadmControlPlane": kubeadm.New(c)}
			},
		}}, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Self: cli.Self()}))
	}
	os.Exit(m.Run())
}
