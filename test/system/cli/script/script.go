// Package script runs scripts of testscript against the program, real Git over http, ssh
// and files, and an in-memory cloud in a process of its own.
package script

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"fairlead.dev/agent/console/cli"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet-examples/inmemory"
	"fairlead.dev/providers/all"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/test/run/ports"
	"fairlead.dev/test/run/short"
	"fairlead.dev/test/run/waits"
)

// Main is the main function of a package that runs scripts: it is the program itself where a
// script calls it.
func Main(m *testing.M) {
	// Scripts wait for agents half of their time: twice as many at once as processors.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){
		"fairlead": func() {
			os.Exit(cli.Main(cli.Program{Version: "test", Built: wiring.Built{Providers: all.Factories(), Distributions: all.Distributions, Kinds: all.Kinds(), ControlPlanes: all.ControlPlanes, Helm: all.Helm}}, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Self: cli.Self()}))
		},
		"ask": ask,
	})
}

// Run runs the scripts of a folder. Each script has
//
//	fleet        a clone of the example fleet, quick to start, not pushed yet
//	$URL         its empty bare repository over http, $FILE the same as a file URL
//	$LISTEN      a free address, $HOOK another, and $FAIRLEAD_INMEMORY_URL one for a cloud
//	$EVERYWHERE  the port of $LISTEN on all addresses
//	$FAIRLEAD_SECRETS, and XDG_STATE_HOME, within the script's folder
//	[all]        true in the whole form, see package short; where it is not, short says so
func Run(t *testing.T, dir string) {
	testscript.Run(t, testscript.Params{
		Dir:      dir,
		Setup:    setup,
		Deadline: time.Now().Add(2 * waits.Limit), // a script that hangs fails before the time of all tests is over
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"push":       push,
			"short":      func(ts *testscript.TestScript, _ bool, _ []string) { short.Log(script{ts}) },
			"exits":      exits,
			"await":      await,
			"fetch":      fetch,
			"machines":   machines,
			"guide":      runGuide,
			"keygen":     ageKeygen,
			"putback":    putBack,
			"signed":     signed,
			"autoscaler": autoscaler,
			"destroy":    destroy,
			"peak":       peak,
			"sshd":       sshd,
			"sub":        substitute,
			"registry":   registry,
			"artifact":   artifact,
			"cosign":     cosign,
			"movetag":    movetag,
			"platform":   platform,
			"receiver":   receiver,
			"editor":     editor,
			"vcenter":    vCenter,
		},
		Condition: func(name string) (bool, error) {
			if name == "all" {
				return short.Whole(), nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		RequireExplicitExec: true,
	})
}

func setup(env *testscript.Env) error {
	root := filepath.Join(env.WorkDir, "git")
	if err := os.Mkdir(root, 0o755); err != nil {
		return err
	}
	server, err := gitserver.New(root, gitserver.Options{})
	if err != nil {
		return err
	}
	bare, err := server.Init("fleet.git")
	if err != nil {
		return err
	}
	web := httptest.NewServer(server)
	env.Defer(bounded("the Git server", env.T().Log, web.Close))
	fleet := filepath.Join(env.WorkDir, "fleet")
	if err := example(fleet); err != nil {
		return err
	}
	env.Values[guideOf{}], env.Values[placeOf{}] = &guide{}, &place{}
	env.Values[platformOf{}], env.Values[vCenterOf{}] = &atomic.Bool{}, new(*vspheretest.VCenter)
	cloud, err := ports.Free()
	if err != nil {
		return err
	}
	listen, err := ports.Free()
	if err != nil {
		return err
	}
	hook, err := ports.Free()
	if err != nil {
		return err
	}
	for k, v := range map[string]string{
		"URL": web.URL + "/fleet.git", "FILE": "file://" + bare, "BARE": bare,
		"EVERYWHERE": strings.Replace(listen, "127.0.0.1", "0.0.0.0", 1),
		"CLOUD":      cloud, "FAIRLEAD_INMEMORY_URL": "http://" + cloud, "LISTEN": listen, "HOOK": hook,
		"FAIRLEAD_SECRETS": filepath.Join(env.WorkDir, "secrets"), "XDG_STATE_HOME": filepath.Join(env.WorkDir, "state"),
		"AUTOSCALER": os.Getenv("FAIRLEAD_CLUSTER_AUTOSCALER"),
		"HOME":       env.WorkDir, "GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull,
		"GIT_AUTHOR_NAME": "You", "GIT_AUTHOR_EMAIL": "you@example.com",
		"GIT_COMMITTER_NAME": "You", "GIT_COMMITTER_EMAIL": "you@example.com",
	} {
		env.Setenv(k, v)
	}
	if v, ok := os.LookupEnv("GOGC"); ok { // `make test` sets it
		env.Setenv("GOGC", v)
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main", fleet},
		{"-C", fleet, "remote", "add", "origin", bare},
	} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			return errors.New(string(out))
		}
	}
	return nil
}

var startup = regexp.MustCompile(`startupDuration: "?[0-9a-z]+"?`)

// example writes the example fleet, with machines that start at once.
func example(dir string) error {
	if err := os.CopyFS(dir, inmemory.Files()); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "bases", "cluster", "*.yaml"))
	if err != nil {
		return err
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		if err := os.WriteFile(f, startup.ReplaceAll(b, []byte("startupDuration: 10ms")), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// bounded returns a function that ends a server, and goes on without its end after a while: a
// request that hangs must not take the results of all scripts with it.
func bounded(what string, log func(...any), end func()) func() {
	return func() {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			end()
		}()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			log(what + " still has requests a minute after its end")
		}
	}
}

// client returns one that asks the programs of a script.
func client() *http.Client { return &http.Client{Timeout: waits.Limit} }

// push commits all that is in the clone and pushes it: push MESSAGE
func push(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: push MESSAGE")
	}
	fleet := ts.MkAbs("fleet")
	for _, a := range [][]string{
		{"-C", fleet, "add", "--all"},
		{"-C", fleet, "commit", "--quiet", "--message", args[0]},
		{"-C", fleet, "push", "--quiet", "origin", "HEAD"},
	} {
		ts.Check(ts.Exec("git", a...))
	}
}

// sub replaces text in a file, which must have it: sub FILE OLD NEW
func substitute(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: sub FILE OLD NEW")
	}
	re := regexp.MustCompile(regexp.QuoteMeta(args[1]))
	text := ts.ReadFile(args[0])
	if !re.MatchString(text) {
		ts.Fatalf("%s has no %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(re.ReplaceAllLiteralString(text, args[2])), 0o644))
}
