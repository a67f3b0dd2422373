package promise

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlead.dev/test/run/needs"
	"fairlead.dev/test/run/race"
	"fairlead.dev/test/run/short"
	"fairlead.dev/test/run/waits"
)

// An outsider is the module in test/rules/outside, which knows nothing of this one but its
// exported API.
type outsider struct {
	t        *testing.T
	root     string // of this module
	dir      string
	fairlead string
	shed     string
}

// newOutsider prepares to build the module with the dependencies of this one, which are here:
// nothing is fetched. Its own go.mod has the one line that a stranger begins with; `go mod tidy`
// would add the others.
func newOutsider(t *testing.T) *outsider {
	t.Helper()
	if race.Detector {
		t.Skip("all packages would be built once more, without the race detector")
	}
	for _, program := range []string{"go", "git"} {
		needs.Program(t, program, "install it")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return &outsider{t: t, root: root, dir: dir, fairlead: filepath.Join(dir, "fairlead"), shed: filepath.Join(dir, "shed")}
}

// build tests the module's provider and builds its program. The whole form builds a module of
// its own, and with it each package of this one again. In the short form its files are
// packages of this module, of which other tests have compiled all but these.
func (o *outsider) build() {
	o.t.Helper()
	if short.Form(o.t) {
		overlay, tests := o.inside(), filepath.Join(o.dir, "shed.test")
		o.must(o.root, "go", "test", overlay, "-vet=off", "-c", "-o", tests, "./test/"+insider+"/shed")
		o.must("../outside/shed", tests)
		o.must(o.root, "go", "build", overlay, "-o", o.fairlead, "./test/"+insider)
		return
	}
	modfile := o.modfile()
	o.must("../outside", "go", "test", modfile, "./...")
	o.must("../outside", "go", "build", modfile, "-o", o.fairlead, ".")
}

// insider is the folder below test in which the short form has the module be: there is none.
const insider = "outsider"

// inside returns the flag that has the files of the module be packages of this one.
func (o *outsider) inside() string {
	o.t.Helper()
	replace := make(map[string]string)
	files, err := filepath.Glob("../outside/*.go")
	below, errBelow := filepath.Glob("../outside/*/*.go")
	if err = errors.Join(err, errBelow); err != nil || len(files) == 0 || len(below) == 0 {
		o.t.Fatalf("the module has the files %q, %q: %v", files, below, err)
	}
	for i, file := range append(files, below...) {
		text, err := os.ReadFile(file)
		if err != nil {
			o.t.Fatal(err)
		}
		rel, _ := filepath.Rel("../outside", file)
		copied := filepath.Join(o.dir, fmt.Sprintf("%d.go", i))
		o.write(copied, strings.ReplaceAll(string(text), `"example.com/shed/`, `"fairlead.dev/test/`+insider+`/`))
		replace[filepath.Join(o.root, "test", insider, rel)] = copied
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		o.t.Fatal(err)
	}
	overlay := filepath.Join(o.dir, "overlay.json")
	o.write(overlay, string(text))
	return "-overlay=" + overlay
}

// modfile returns the flag that gives the module the requirements of this one.
func (o *outsider) modfile() string {
	o.t.Helper()
	read := func(file string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			o.t.Fatal(err)
		}
		return string(text)
	}
	_, rest, ok := strings.Cut(read("../../../go.mod"), "\ngo ")
	_, rest, has := strings.Cut(rest, "\n")
	if !ok || !has {
		o.t.Fatal("go.mod has no line that begins with go")
	}
	modfile := filepath.Join(o.dir, "go.mod")
	o.write(modfile, strings.Replace(read("../outside/go.mod"), "=> ../../..", "=> "+o.root, 1)+rest)
	o.write(filepath.Join(o.dir, "go.sum"), read("../../../go.sum"))
	return "-modfile=" + modfile
}

func (o *outsider) write(file, text string) {
	o.t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		o.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		o.t.Fatal(err)
	}
}

// run runs a program in dir and returns what it said.
func (o *outsider) run(dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(o.t.Context(), program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off", "GIT_CONFIG_GLOBAL="+os.DevNull, "FAIRLEAD_SHED_FOLDER="+o.shed)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// must is run, of what has to work.
func (o *outsider) must(dir, program string, args ...string) string {
	o.t.Helper()
	out, err := o.run(dir, program, args...)
	if err != nil {
		o.t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return out
}

// A provider of somebody else passes the suite, and the program that has it validates,
// plans and runs a fleet on it, up to a commit on the status branch.
func TestOutside(t *testing.T) {
	o := newOutsider(t)
	o.build()

	dir := t.TempDir()
	work, bare := filepath.Join(dir, "fleet"), filepath.Join(dir, "fleet.git")
	if err := os.CopyFS(work, os.DirFS("../outside/fleet")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(o.shed, 0o700); err != nil {
		t.Fatal(err)
	}
	o.must(work, "git", "init", "--quiet", "--initial-branch=main")
	o.must(work, "git", "add", ".")
	o.must(work, "git", "-c", "user.name=g", "-c", "user.email=g@example.com", "commit", "--quiet", "--message=a cluster in a shed")
	o.must(dir, "git", "clone", "--quiet", "--bare", work, bare)

	o.must(work, o.fairlead, "validate", ".")
	plan, err := o.run(work, o.fairlead, "plan", "--secrets", filepath.Join(dir, "none"), ".")
	if e, ok := err.(*exec.ExitError); !ok || e.ExitCode() != 2 || !strings.Contains(plan, "garden/tools") { //nolint:errorlint // it is what Run gives
		t.Fatalf("fairlead plan: %v, want exit code 2 and the cluster\n%s", err, plan)
	}
	o.agent(dir, bare)
	made, _ := filepath.Glob(filepath.Join(o.shed, "machines", "garden~garden~tools~*"))
	if len(made) != 1 {
		t.Errorf("machines in the shed: %q, want one", made)
	}
}

// agent runs an agent of the fleet in bare until its status says that a machine runs.
func (o *outsider) agent(dir, bare string) {
	o.t.Helper()
	cmd := exec.CommandContext(o.t.Context(), o.fairlead, "agent", "--source", "file://"+bare, "--name", "gardener", "--shed-folder", o.shed,
		"--secrets", filepath.Join(dir, "secrets"), "--interval", "1s", "--status-interval", "1s", "--listen", "")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		o.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var status string
	for deadline := time.Now().Add(waits.Limit); time.Now().Before(deadline); time.Sleep(time.Second) {
		status, _ = o.run(bare, "git", "show", "fairlead/status:clusters/garden/tools.yaml") // not there yet
		if strings.Contains(status, "shed:///") {
			break
		}
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := <-ended; err != nil {
		o.t.Errorf("fairlead agent: %v\n%s", err, log.String())
	}
	if !strings.Contains(status, "shed:///") {
		o.t.Errorf("the status branch tells no machine of the shed:\n%s\n%s", status, log.String())
	}
}
