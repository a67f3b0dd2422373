// Package cli tests the program from outside: scripts run fairlead against real
// Git over http, ssh and files, and against an in-memory cloud in a process of
// its own.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"fairlead.dev/agent/cli"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet-examples/inmemory"
	"fairlead.dev/providers/all"
	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/test/race"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"fairlead": func() {
			os.Exit(cli.Main(cli.Program{Version: "test", Built: wiring.Built{Providers: all.Factories(), Distributions: all.Distributions, Kinds: all.Kinds(), ControlPlanes: all.ControlPlanes, Helm: all.Helm}}, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Self: cli.Self()}))
		},
		"ask": ask,
	})
}

// TestScripts runs testdata/script. Each script has
//
//	fleet        a clone of the example fleet, quick to start, not pushed yet
//	$URL         its empty bare repository over http, $FILE the same as a file URL
//	$LISTEN      a free address, $HOOK another, and $FAIRLEAD_INMEMORY_URL one for a cloud
//	$EVERYWHERE  the port of $LISTEN on all addresses
//	$FAIRLEAD_SECRETS, and XDG_STATE_HOME, within the script's folder
func TestScripts(t *testing.T) {
	scripts(t, "testdata/script")
}

// TestAutoscaler runs the cluster-autoscaler that $FAIRLEAD_CLUSTER_AUTOSCALER names
// against an agent: `make test-autoscaler`. docs/autoscaler.md says how it is built.
func TestAutoscaler(t *testing.T) {
	if os.Getenv("FAIRLEAD_CLUSTER_AUTOSCALER") == "" {
		t.Skip("FAIRLEAD_CLUSTER_AUTOSCALER names no cluster-autoscaler")
	}
	scripts(t, "testdata/autoscaler")
}

func scripts(t *testing.T, dir string) {
	testscript.Run(t, testscript.Params{
		Dir:   dir,
		Setup: setup,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"push":       push,
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
	env.Defer(web.Close)
	fleet := filepath.Join(env.WorkDir, "fleet")
	if err := example(fleet); err != nil {
		return err
	}
	env.Values[guideOf{}], env.Values[placeOf{}] = &guide{}, &place{}
	env.Values[platformOf{}] = &atomic.Bool{}
	cloud, err := freeAddress()
	if err != nil {
		return err
	}
	listen, err := freeAddress()
	if err != nil {
		return err
	}
	hook, err := freeAddress()
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

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

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

// exits runs a program that must end with that code: exits CODE PROGRAM ARGS...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		got = e.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("the exit code is %d, not %d", got, want)
	}
}

// await runs a program until its output matches, for at most a minute:
// await REGEXP PROGRAM ARGS...
func await(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: [!] await REGEXP PROGRAM ARGS...")
	}
	re := regexp.MustCompile("(?m)" + args[0])
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		err := ts.Exec(args[1], args[2:]...)
		text := ts.ReadFile("stdout") + ts.ReadFile("stderr")
		if re.MatchString(text) != neg {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%q was awaited in vain (%v); the last output was\n%s", args[0], err, text)
		}
	}
}

// sshd starts an ssh server for the repository: it sets $SSH to its URL, and
// writes key and known_hosts.
func sshd(ts *testscript.TestScript, neg bool, args []string) {
	dir := ts.MkAbs("sshd")
	ts.Check(os.Mkdir(dir, 0o700))
	s, err := gitserver.StartSSH(context.Background(), dir, false)
	ts.Check(err)
	ts.Defer(s.Close)
	ts.Setenv("SSH", s.URL+ts.Getenv("BARE"))
	ts.Check(os.WriteFile(ts.MkAbs("key"), s.Key, 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("known_hosts"), s.KnownHosts, 0o600))
}

// platformOf is the key of the second server of a script.
type platformOf struct{}

// platform serves a repository of bases that needs a password: platform start sets
// $PLATFORM to its URL; platform push commits all that is in the folder platform, and sets
// $PIN to the commit; platform away has it answer nothing, platform back as before.
func platform(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: platform start|push|away|back")
	}
	work := ts.MkAbs("platform")
	switch away, _ := ts.Value(platformOf{}).(*atomic.Bool); args[0] {
	case "start":
		server, err := gitserver.New(ts.MkAbs("git"), gitserver.Options{Password: "hunter2", Before: func(http.ResponseWriter, *http.Request) bool {
			if away.Load() {
				panic(http.ErrAbortHandler)
			}
			return false
		}})
		ts.Check(err)
		_, err = server.Init("platform.git")
		ts.Check(err)
		web := httptest.NewServer(server)
		ts.Defer(web.Close)
		ts.Setenv("PLATFORM", web.URL+"/platform.git")
		ts.Check(ts.Exec("git", "init", "--quiet", "--initial-branch=main", work))
	case "push":
		for _, a := range [][]string{{"add", "--all"}, {"commit", "--quiet", "--message", "bases"}, {"push", "--quiet", ts.MkAbs("git/platform.git"), "HEAD:main"}, {"rev-parse", "HEAD"}} {
			ts.Check(ts.Exec("git", append([]string{"-C", work}, a...)...))
		}
		ts.Setenv("PIN", strings.TrimSpace(ts.ReadFile("stdout")))
	default:
		away.Store(args[0] == "away")
	}
}

// fetch asks a URL until the answer is 200, for at most a minute, and has the
// answer as its output: fetch URL
func fetch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: fetch URL")
	}
	await(ts, false, []string{"HTTP/1.1 200", "ask", args[0]})
}

// peak MIB fails where a program that runs in the background had more resident memory
// than so many MiB at a time.
func peak(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: peak MIB")
	}
	limit, err := strconv.Atoi(args[0])
	ts.Check(err)
	for _, cmd := range ts.BackgroundCmds() {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		ts.Check(err)
		_, rest, _ := strings.Cut(string(data), "VmHWM:")
		kib, err := strconv.Atoi(strings.Fields(rest + " ?")[0])
		ts.Check(err)
		ts.Logf("%q took %d MiB", cmd.Args, kib>>10)
		if kib>>10 > limit && !race.Detector {
			ts.Fatalf("it is more than %d MiB", limit)
		}
	}
}

// ask is a program that prints the status and the body of an HTTP answer, and fails
// where that is an error. It posts what it is given besides: ask URL [JSON]
func ask() {
	method, body := http.MethodGet, ""
	if len(os.Args) > 2 {
		method, body = http.MethodPost, os.Args[2]
	}
	req, err := http.NewRequestWithContext(context.Background(), method, os.Args[1], strings.NewReader(body))
	if err == nil {
		err = tell(req)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func tell(req *http.Request) error {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	fmt.Printf("%s %s\n\n", resp.Proto, resp.Status)
	if _, err := io.Copy(os.Stdout, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return errors.New(resp.Status)
	}
	return nil
}

// machines writes the ids of all machines of the cloud to a file, sorted:
// machines FILE
func machines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: machines FILE")
	}
	var list []struct{ ID string }
	ts.Check(json.Unmarshal(call(ts, "vms/list", "{}"), &list))
	var ids []string
	for _, m := range list {
		if m.ID == "" {
			ts.Fatalf("a machine of the cloud has no id")
		}
		ids = append(ids, m.ID+"\n")
	}
	slices.Sort(ids)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Join(ids, "")), 0o644))
}

// destroy removes all machines and networks of a cluster from the cloud, as a
// cloud that is lost does: destroy NAMESPACE/NAME
func destroy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: destroy NAMESPACE/NAME")
	}
	removed := 0
	for _, kind := range []string{"vms", "networks"} {
		var list []struct {
			ID   string
			Tags map[string]string
		}
		ts.Check(json.Unmarshal(call(ts, kind+"/list", "{}"), &list))
		for _, thing := range list {
			if thing.Tags["fairlead.dev/cluster"] == args[0] {
				call(ts, kind+"/delete", fmt.Sprintf(`{"id": %q}`, thing.ID))
				removed++
			}
		}
	}
	if removed == 0 {
		ts.Fatalf("the cloud has nothing of %s", args[0])
	}
}

// call makes a call of the cloud and returns its answer.
func call(ts *testscript.TestScript, path, body string) []byte {
	resp, err := http.Post(ts.Getenv("FAIRLEAD_INMEMORY_URL")+"/v1/"+path, "application/json", strings.NewReader(body))
	ts.Check(err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	ts.Check(err)
	if resp.StatusCode != http.StatusOK {
		ts.Fatalf("%s: %s", path, answer)
	}
	return answer
}

// putBack makes the status branch what the commit in a file says: putback FILE
func putBack(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: putback FILE")
	}
	ts.Check(ts.Exec("git", "-C", ts.Getenv("BARE"), "update-ref", "refs/heads/fairlead/status", strings.TrimSpace(ts.ReadFile(args[0]))))
}
