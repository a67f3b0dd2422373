package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/test/run/race"
)

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

// await runs a program until its output matches, for at most five minutes, which a slow
// machine needs now and then. It runs again after each commit on the status branch, and less
// and less often without one, since a start of fairlead takes a tenth of a second of a processor:
// await REGEXP PROGRAM ARGS...
func await(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: [!] await REGEXP PROGRAM ARGS...")
	}
	re := regexp.MustCompile("(?m)" + args[0])
	pause := 200 * time.Millisecond
	for deadline := time.Now().Add(5 * time.Minute); ; pause = min(2*pause, 2*time.Second) {
		last := statusCommit(ts)
		err := ts.Exec(args[1], args[2:]...)
		text := ts.ReadFile("stdout") + ts.ReadFile("stderr")
		if re.MatchString(text) != neg {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%q was awaited in vain (%v); the last output was\n%s", args[0], err, text)
		}
		for end := time.Now().Add(pause); time.Now().Before(end) && statusCommit(ts) == last; {
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// statusCommit returns the newest commit of the status branch in the script's repository, or
// "" if there is none.
func statusCommit(ts *testscript.TestScript) string {
	commit, err := os.ReadFile(filepath.Join(ts.Getenv("BARE"), "refs/heads/fairlead/status"))
	if err != nil {
		return ""
	}
	return string(commit)
}

// sshd starts an ssh server for the repository: it sets $SSH to its URL, and
// writes key and known_hosts.
func sshd(ts *testscript.TestScript, neg bool, args []string) {
	dir := ts.MkAbs("sshd")
	ts.Check(os.Mkdir(dir, 0o700))
	s, err := gitserver.StartSSH(context.Background(), dir, false)
	ts.Check(err)
	ts.Defer(bounded("sshd", script{ts}.Log, s.Close))
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
		ts.Defer(bounded("the second Git server", script{ts}.Log, web.Close))
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

// fetch asks a URL until the answer is 200, for as long as await waits, and has the
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
	resp, err := client().Post(ts.Getenv("FAIRLEAD_INMEMORY_URL")+"/v1/"+path, "application/json", strings.NewReader(body))
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
