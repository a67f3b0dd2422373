package worker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	yaml "go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet-examples/inmemory"
	"fairlead.dev/render/kustomize"
	"fairlead.dev/render/worker"
)

// The test binary is also the program that builds overlays.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 3 && os.Args[1] == "serve":
		memory, _ := strconv.ParseInt(os.Args[2], 10, 64)
		if err := worker.Serve(os.Stdin, os.Stdout, memory); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case len(os.Args) == 3 && os.Args[1] == "environment":
		fmt.Fprintln(os.Stderr, os.Environ())
		os.Exit(1)
	case len(os.Args) == 4 && os.Args[1] == "end":
		end(os.Args[2])
	}
	os.Exit(m.Run())
}

// end is a program that becomes ready, and ends in one way as soon as it has to build.
func end(how string) {
	if how == "other" {
		_ = worker.Serve(renamed{os.Stdin}, os.Stdout, 1<<30)
		os.Exit(0)
	}
	os.Stdout.Write(ready())
	_, _ = os.Stdin.Read(make([]byte, 1))
	switch how {
	case "killed":
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Kill()
		select {}
	case "collector":
		// What Go 1.26 says where the garbage collector gets no memory for its queue.
		fmt.Fprint(os.Stderr, "SIGSEGV: segmentation violation\nPC=0x4375dd m=6 sigcode=1 addr=0x0\n\n"+
			"goroutine 0 gp=0x19afdfef92c0 m=6 mp=0x19afdff45808 [idle]:\nruntime.(*spanQueue).tryDrain(0x19af00000800?, 0x4380be?, 0xe09f0000?)\n")
	case "panic":
		fmt.Fprint(os.Stderr, "panic: a defect\n\ngoroutine 1 [running]:\n")
	case "garbage":
		fmt.Print("\x01\x00")
		select {}
	}
	os.Exit(2)
}

// renamed reads requests for overlay-one as if they were for overlay-two.
type renamed struct{ io.Reader }

func (r renamed) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	copy(b, bytes.ReplaceAll(b[:n], []byte("overlay-one"), []byte("overlay-two")))
	return n, err
}

// ready is the answer of a process that has started.
func ready() []byte {
	in, out := strings.NewReader(""), &bytes.Buffer{}
	if err := worker.Serve(in, out, 1<<30); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// patient has no limits of time, since computers that run tests are busy.
var patient = worker.Limits{Time: time.Hour, Clock: time.Hour}

func pool(t *testing.T, l worker.Limits) *worker.Pool {
	t.Helper()
	p := worker.NewPool([]string{self(t), "serve"}, l)
	t.Cleanup(p.Rest)
	return p
}

func self(t *testing.T) string {
	t.Helper()
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func scan(t *testing.T, tree fs.FS, overlay string) *kustomize.Scan {
	t.Helper()
	s, problem := kustomize.New(kustomize.DefaultLimits()).Scan(tree, overlay)
	if problem != nil {
		t.Fatal(problem)
	}
	return s
}

func archive(text string) fs.FS {
	out := fstest.MapFS{}
	for _, f := range txtar.Parse([]byte(text)).Files {
		out[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	return out
}

// text returns objects as they would be written.
func text(t *testing.T, objects []kustomize.Object) string {
	t.Helper()
	var b strings.Builder
	for _, o := range objects {
		data, err := yaml.Marshal(o.Node)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "# %s\n%s---\n", o.File, data)
	}
	return b.String()
}

const small = `
-- x/kustomization.yaml --
resources: [c.yaml]
patches:
- target: {kind: ConfigMap}
  patch: '[{"op": "add", "path": "/data/b", "value": "${B}"}]'
-- x/c.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {a: "${A}", b: ''}
`

// keyed is an overlay with a list that is merged by key, whose former order was another one.
const keyed = `
-- x/kustomization.yaml --
resources: [c.yaml]
patches:
- patch: |
    apiVersion: cluster.x-k8s.io/v1beta2
    kind: Machine
    metadata: {name: m}
    spec: {taints: [{key: b, effect: e, value: v}]}
-- x/c.yaml --
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: m}
spec: {taints: [{key: a, effect: e}, {key: b, effect: e}]}
`

// Another process builds the same objects, including the style of each scalar.
func TestSame(t *testing.T) {
	p := pool(t, patient)
	here := kustomize.New(kustomize.DefaultLimits())
	for name, c := range map[string]struct {
		tree    fs.FS
		overlay string
	}{
		"inmemory":     {inmemory.Files(), "clusters/prod/eu-1"},
		"clusterclass": {os.DirFS("../../fleet-examples/clusterclass"), "clusters/prod/eu-1"},
		"quotes":       {archive(small), "x"},
		"keyed lists":  {archive(keyed), "x"},
	} {
		s := scan(t, c.tree, c.overlay)
		want, problem := here.Build(s)
		if problem != nil {
			t.Fatal(name, problem)
		}
		got, problem, err := p.Build(t.Context(), s.Input())
		if err != nil || problem != nil {
			t.Fatal(name, problem, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", name, diff)
		}
		if diff := cmp.Diff(text(t, want), text(t, got)); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", name, diff)
		}
	}
}

// An error of kustomize is the same problem in another process.
func TestProblem(t *testing.T) {
	s := scan(t, archive("-- x/kustomization.yaml --\nresources: [c.yaml, c.yaml]\n-- x/c.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"), "x")
	_, want := kustomize.New(kustomize.DefaultLimits()).Build(s)
	_, got, err := pool(t, patient).Build(t.Context(), s.Input())
	if err != nil || want == nil {
		t.Fatal(want, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// large is an overlay that passes the scan and takes hundreds of MiB.
func large() fs.FS {
	var b strings.Builder
	b.WriteString("-- x/kustomization.yaml --\nnamePrefix: a-\nresources: [")
	for i := range 7 {
		fmt.Fprintf(&b, "f%d.yaml, ", i)
	}
	b.WriteString("]\n")
	for i := range 7 {
		fmt.Fprintf(&b, "-- x/f%d.yaml --\n", i)
		for j := range 100 {
			fmt.Fprintf(&b, "---\napiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t-%d-%d}\nspec:\n  list: [%s0]\n", i, j, strings.Repeat("0,", 450))
		}
	}
	return archive(b.String())
}

// An overlay that exceeds the memory limit is over budget. The next one is built.
func TestMemory(t *testing.T) {
	p := pool(t, worker.Limits{Memory: 64 << 20, Time: time.Hour, Clock: time.Hour, Processes: 1})
	builds := func() {
		t.Helper()
		if _, problem, err := p.Build(t.Context(), scan(t, archive(small), "x").Input()); err != nil || problem != nil {
			t.Fatal(problem, err)
		}
	}
	builds()
	_, _, err := p.Build(t.Context(), scan(t, large(), "x").Input())
	over, ok := errors.AsType[*kustomize.OverBudget](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	want := fleet.Problem{
		Overlay: "x", File: "x/kustomization.yaml", Message: "building it takes more than 64 MiB of memory",
		Hint: "split the overlay, or let kustomize do less in it; the limits are the flags --render-memory and --render-time",
	}
	if diff := cmp.Diff(want, over.Problem); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	builds()
}

// Whoever reads the problem learns how the process ended.
func TestEnding(t *testing.T) {
	for how, want := range map[string]string{
		"killed":    "the process that built it ended without an answer: signal: killed",
		"collector": "building it takes more than 64 MiB of memory",
		"panic":     "the process that built it ended without an answer: panic: a defect",
		"garbage":   "the process that built it ended without an answer: gob: ",
		"silent":    "the process that built it ended without an answer: exit status 2",
	} {
		p := worker.NewPool([]string{self(t), "end", how}, worker.Limits{Memory: 64 << 20, Time: time.Hour, Clock: time.Hour})
		_, _, err := p.Build(t.Context(), scan(t, archive(small), "x").Input())
		over, ok := errors.AsType[*kustomize.OverBudget](err)
		if !ok || !strings.HasPrefix(over.Problem.Message, want) {
			t.Errorf("%s: got %v, want %s", how, err, want)
		}
	}
}

// Safety: an answer for one overlay is not taken for another.
func TestAnswerForAnother(t *testing.T) {
	p := worker.NewPool([]string{self(t), "end", "other"}, worker.Limits{Memory: 64 << 20, Time: time.Hour, Clock: time.Hour})
	got, _, err := p.Build(t.Context(), scan(t, archive("-- overlay-one/kustomization.yaml --\nnamePrefix: a\n"), "overlay-one").Input())
	if err == nil || !strings.Contains(err.Error(), `it answered for "overlay-two", and was asked for "overlay-one"`) || got != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

// bomb is an overlay that passes the scan and takes kustomize minutes: each of many fields
// of many objects may refer to any object.
func bomb() fs.FS {
	const objects, fields = 1900, 50
	var b strings.Builder
	b.WriteString("-- x/kustomization.yaml --\nresources: [m0.yaml, m1.yaml, m2.yaml, m3.yaml, m4.yaml]\nconfigurations: [c.yaml]\nnamePrefix: a\n-- x/c.yaml --\nnameReference:\n- kind: Thing\n  fieldSpecs:\n")
	for i := range fields {
		fmt.Fprintf(&b, "  - {path: s/a%d}\n", i)
	}
	for i := range objects {
		if i%(objects/5) == 0 {
			fmt.Fprintf(&b, "-- x/m%d.yaml --\n", i/(objects/5))
		}
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Thing\nmetadata: {name: c%d}\ns: {", i)
		for j := range fields {
			fmt.Fprintf(&b, "a%d: c%d, ", j, i)
		}
		b.WriteString("z: z}\n")
	}
	return archive(b.String())
}

// An overlay that exceeds a time limit is over budget, and its process ends: the limit of
// processor time, and that of elapsed time where it does nothing.
func TestTime(t *testing.T) {
	for name, l := range map[string]worker.Limits{
		"Processor": {Time: time.Second, Clock: time.Hour},
		"Clock":     {Time: time.Second, Clock: time.Millisecond},
	} {
		_, _, err := pool(t, l).Build(t.Context(), scan(t, bomb(), "x").Input())
		over, ok := errors.AsType[*kustomize.OverBudget](err)
		if !ok || over.Problem.Message != "building it takes more than 1s" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A build ends with its context, and so does the process.
func TestContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	_, _, err := pool(t, patient).Build(ctx, scan(t, bomb(), "x").Input())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A program that does not start is not the overlay's problem, and is tried again.
func TestNoProgram(t *testing.T) {
	for _, command := range [][]string{{"/nowhere/fairlead"}, {self(t), "environment"}, nil} {
		_, _, err := worker.NewPool(command, patient).Build(t.Context(), scan(t, archive(small), "x").Input())
		if fleet.KindOf(err) != fleet.Unavailable {
			t.Errorf("%q: got %v", command, err)
		}
	}
}

// A process does not get the environment of its parent, which has credentials.
func TestNoEnvironment(t *testing.T) {
	t.Setenv("FAIRLEAD_SOMETHING", "hidden")
	_, _, err := worker.NewPool([]string{self(t), "environment"}, patient).Build(t.Context(), scan(t, archive(small), "x").Input())
	if err == nil || !strings.Contains(err.Error(), "[GOTRACEBACK=none]") {
		t.Errorf("got %v", err)
	}
}
