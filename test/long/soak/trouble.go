package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// trouble does to the status branch, and to the processes of the agent, what people and servers
// do to them.
func (w *world) trouble(ctx context.Context, r *rand.Rand, f *fleet) error {
	w.troubles++
	if w.keys != nil && r.IntN(3) == 0 {
		return w.withdraw(ctx, r, f)
	}
	switch r.IntN(6) {
	case 0:
		return w.deleteStatus(ctx)
	case 1:
		w.empty.Store(true)
		defer w.empty.Store(false)
		return wait(ctx, time.Duration(500+r.IntN(3000))*time.Millisecond)
	case 2:
		if err := w.damageStatus(r); err != nil {
			return err
		}
		return w.restart()
	case 3:
		return w.startTwice(ctx, r, f)
	case 4:
		return w.lag(ctx, r)
	}
	return w.renameStatus(f)
}

// restart kills the agent, and starts it again.
func (w *world) restart() error {
	if err := w.kill(); err != nil {
		return err
	}
	return w.startAgent()
}

// deleteStatus deletes the status branch, and waits until the agent has written it again. An agent
// that has not read the branch, or goes on with a former one, has nothing to write.
func (w *world) deleteStatus(ctx context.Context) error {
	if acts, err := w.actsHere(); err != nil || !acts {
		return err
	}
	if err := w.inBare("update-ref", "-d", w.statusRef()); err != nil {
		return err
	}
	return w.await(ctx, "the status branch was deleted, and is not written again", w.hasStatus)
}

// actsHere reports whether the status branch names the process that runs.
func (w *world) actsHere() (bool, error) {
	log, err := os.ReadFile(filepath.Join(w.dir, "agent.log"))
	if err != nil {
		return false, err
	}
	last := log[max(0, bytes.LastIndex(log, []byte("msg=starting "))):]
	owning := regexp.MustCompile(`msg="owning the fleet" .* process=(\d+)\n`).FindSubmatch(last)
	if owning == nil || !w.hasStatus() {
		return false, nil
	}
	cmd := exec.CommandContext(context.Background(), "git", "show", w.statusRef()+":incarnation.yaml")
	cmd.Dir = w.bare
	out, _ := cmd.Output() // the file may be missing
	return bytes.Contains(out, []byte("\nnumber: "+string(owning[1])+"\n")), nil
}

func (w *world) statusRef() string { return "refs/heads/" + w.branch }

func (w *world) hasStatus() bool {
	return w.inBare("rev-parse", "--verify", "--quiet", w.statusRef()) == nil
}

// behind is the repository that a server that lags answers reads from.
const behind = "behind.git"

// lag has the server answer reads as of now for some time, in which people push and the agent may
// start again.
func (w *world) lag(ctx context.Context, r *rand.Rand) error {
	to := filepath.Join(filepath.Dir(w.bare), behind)
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := w.inBare("clone", "--quiet", "--mirror", "--no-local", "--config", "uploadpack.allowAnySHA1InWant=true", ".", to); err != nil { // a push may be under way
		return fmt.Errorf("copy the repository: %w", err)
	}
	w.lags.Store(true)
	defer w.lags.Store(false)
	if err := wait(ctx, time.Duration(500+r.IntN(2000))*time.Millisecond); err != nil {
		return err
	}
	if r.IntN(2) == 0 {
		if err := w.restart(); err != nil {
			return err
		}
	}
	return wait(ctx, time.Duration(500+r.IntN(2000))*time.Millisecond)
}

// damageStatus damages a file of the status branch that the agent derives again.
func (w *world) damageStatus(r *rand.Rand) error {
	file, content := []string{"incarnation.yaml", "fleet.yaml"}[r.IntN(2)], []string{"{", "", `\0\1\377`}[r.IntN(3)]
	if w.keys != nil {
		file = "incarnation.yaml" // fleet.yaml says which signed revision was followed: people have to restore it
	}
	if !w.hasStatus() {
		return nil
	}
	index := filepath.Join(w.dir, "index")
	script := fmt.Sprintf(`set -e
export GIT_INDEX_FILE=%[1]s
rm -f "$GIT_INDEX_FILE"
old=$(git rev-parse %[2]s)
git read-tree "$old"
blob=$(printf '%[4]s' | git hash-object -w --stdin)
git update-index --add --cacheinfo "100644,$blob,%[3]s"
git update-ref %[2]s "$(git commit-tree -p "$old" -m damage "$(git write-tree)")" "$old" || true # the agent was faster
`, index, w.statusRef(), file, content)
	cmd := exec.CommandContext(context.Background(), "sh", "-c", script)
	cmd.Dir = w.bare
	cmd.Env = append(os.Environ(), person()...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("damage the status: %w: %s", err, out)
	}
	return nil
}

// startTwice starts the agent beside the one that runs. The one that began to act first has to end
// by itself, since it is the same agent: exit code 3 says that another one owns the fleet.
func (w *world) startTwice(ctx context.Context, r *rand.Rand, f *fleet) error {
	// A start asks the server half a dozen times, and waits up to a minute after each failure: the
	// second process might not begin in time.
	w.bad.Store(false)
	defer w.bad.Store(true)
	first := w.agent
	if err := w.startAgent(); err != nil {
		return err
	}
	type end struct {
		of  *exec.Cmd
		err error
	}
	both := [2]*exec.Cmd{first, w.agent}
	ended := make(chan end, len(both))
	for _, cmd := range both {
		go func() { ended <- end{cmd, cmd.Wait()} }()
	}
	pushes := rand.New(rand.NewPCG(r.Uint64(), 0)) // how many there are is the machine's
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for late := time.After(patience); ; {
		select {
		case e := <-ended:
			other := both[0]
			if e.of == other {
				other = both[1]
			}
			// What is left goes on under a Wait of its own, so it is started again.
			if err := other.Process.Kill(); err != nil {
				return fmt.Errorf("both processes of one agent ended: %w", err)
			}
			<-ended
			var exit *exec.ExitError
			if !errors.As(e.err, &exit) || exit.ExitCode() != 3 {
				return fmt.Errorf("of two processes of one agent one ended with %w: see agent.log", e.err)
			}
			return w.startAgent()
		case <-again.C: // the judge sees two processes as long as both have something to do
			if err := f.disturb(pushes); err != nil {
				return errors.Join(err, first.Process.Kill())
			}
		case <-w.judge.found:
			return errors.Join(w.judge.verdict(), first.Process.Kill())
		case <-late:
			return errors.Join(fmt.Errorf("of two processes of one agent none ended: see agent.log"), first.Process.Kill())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// renameStatus gives the status branch another name in Git, and starts the agent again, which
// moves the status there.
func (w *world) renameStatus(f *fleet) error {
	names := []string{"fairlead/status", "fleet/one", "fleet/two"}
	for i, name := range names {
		if name == w.branch {
			w.branch = names[(i+1)%len(names)]
			break
		}
	}
	if err := f.rename(w.branch); err != nil {
		return err
	}
	return w.restart()
}

// await waits until is holds.
func (w *world) await(ctx context.Context, otherwise string, is func() bool) error {
	for end := time.Now().Add(patience); !is(); {
		if time.Now().After(end) {
			return errors.New(otherwise)
		}
		if err := wait(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// inBare runs git in the repository of the server.
func (w *world) inBare(args ...string) error {
	cmd := exec.CommandContext(context.Background(), "git", args...)
	cmd.Dir = w.bare
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
	}
	return nil
}
