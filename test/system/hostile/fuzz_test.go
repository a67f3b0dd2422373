package hostile

import (
	"errors"
	"strings"
	"testing"
	"unicode"

	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/hosts/host"
	"fairlead.dev/render"
)

// seeds are texts to begin with.
func seeds(f *testing.F) {
	f.Helper()
	for _, text := range []string{
		goodReport, goodOwner, goodScale, goodWish, goodIndex, goodChart, values,
		"a: &a xxxx\nb: [*a, *a, *a]\n", "a: &a {b: 1}\nc: {<<: *a}\n", "&a [*a]", "- - - - a", "a: |\n  b\n---\nc: d\n",
		header + "Fleet\nmetadata: {name: a}\nspec: {clusters: {include: ['clusters/*']}}\n",
		header + "ClusterReport\nmetadata: {namespace: prod, name: eu-2}\n---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: Machine\nmetadata: {name: a}\n",
		"version: 1\nfleet: a\nentries: [{kind: cluster, name: prod/eu-1, digest: a, sum: b}]\n",
		"begin\nboot 1\nclaim {\"id\":\"a\",\"tags\":{\"fairlead.dev/fleet\":\"f\",\"fairlead.dev/cluster\":\"a/b\"}}\nend\n",
	} {
		f.Add(text)
	}
}

// FuzzStatusBranch: whatever a file of the branch is, all others are read.
func FuzzStatusBranch(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		for _, file := range []string{"clusters/prod/eu-2.yaml", "fleet.yaml", "owner.yaml", "requests/prod/eu-1/rotate-etcd.yaml", "scales/prod/eu-1/md-1.yaml"} {
			if err, others := statusBranch(t, file, text); err != nil && !others {
				t.Errorf("%s keeps others from being read: %v", file, err)
			}
		}
	})
}

// FuzzEscrowIndex: an index is an escrow, or one error that people can read.
func FuzzEscrowIndex(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		if err := escrowIndex(t, text); err != nil {
			readable(t, err.Error())
		}
	})
}

// readable fails t where a problem is not a line that is shown as it is.
func readable(t *testing.T, problem string) {
	t.Helper()
	if problem == "" || len(problem) > 4000 || strings.ContainsFunc(problem, unicode.IsControl) {
		t.Errorf("%.300q is not what people read", problem)
	}
}

// FuzzHost: what a host says is bounded, and one line.
func FuzzHost(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := host.Parse([]byte("begin\n" + text + "\nend\n"))
		if err != nil {
			return
		}
		if s.Claim != nil && s.Claim.Damage() == "" && strings.ContainsAny(s.Claim.ID+s.Claim.Host+s.Claim.Pool, "\n\x1b/") {
			t.Errorf("a claim that is whole has %+v", *s.Claim)
		}
		if len(s.Hostname) > 1024 || strings.ContainsAny(s.Hostname, "\x1b") {
			t.Errorf("a hostname of %q", s.Hostname)
		}
	})
}

// FuzzKubeconfig: kubeconfigs and credentials that people give.
func FuzzKubeconfig(f *testing.F) {
	seeds(f)
	f.Fuzz(func(_ *testing.T, text string) {
		_ = kubeconfig(text)
		_ = credentials(text)
	})
}

// FuzzFleetYAML: a fleet.yaml is one, or its problems name it.
func FuzzFleetYAML(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		b, err := wiring.Settings{Built: builtIn(), FleetID: "hostile"}.NewRenderer(wiring.RenderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		out, err := b.Render(t.Context(), fleet.Revision{}, treeOf(map[string]string{"fleet.yaml": text}))
		if c, ok := errors.AsType[*render.ConfigError](err); ok {
			out.Problems = c.Problems
		} else if err != nil {
			t.Errorf("%v is no problem of the file", err)
		}
		for _, p := range out.Problems {
			if p.File != "fleet.yaml" {
				t.Errorf("%s does not name the file", p)
			}
			readable(t, p.Message)
		}
	})
}
