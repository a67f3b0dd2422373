package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSecondInterruptEnds: the second signal ends a process that the first one did not end.
func TestSecondInterruptEnds(t *testing.T) {
	const child = "FAIRLEAD_TEST_STUBBORN"
	if os.Getenv(child) != "" {
		ctx, stop := interruptible(context.Background())
		defer stop()
		_, _ = os.Stdout.WriteString("waiting\n")
		<-ctx.Done()
		_, _ = os.Stdout.WriteString("asked to end\n")
		select {}
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestSecondInterruptEnds$")
	cmd.Env = append(os.Environ(), child+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	expect := func(want string) {
		t.Helper()
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("it says %q, want %q", lines.Text(), want)
		}
	}
	expect("waiting")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	expect("asked to end")
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for again := true; again; { // the default action is back a moment after the first signal
		_ = cmd.Process.Signal(syscall.SIGINT)
		select {
		case err = <-ended:
			again = false
		case <-time.After(20 * time.Millisecond):
		}
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		t.Fatalf("it ended with %v", err)
	}
	if s, ok := exit.Sys().(syscall.WaitStatus); !ok || !s.Signaled() || s.Signal() != syscall.SIGINT {
		t.Errorf("it ended with %v, not by the signal", err)
	}
}

// TestInterruptAtAQuestion: an interrupt ends a command that waits for an answer.
func TestInterruptAtAQuestion(t *testing.T) {
	in, typed := io.Pipe() // a terminal without input
	defer typed.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	if yes, err := askYesNo(ctx, in, &out, "Remove?"); yes || !errors.Is(err, context.Canceled) {
		t.Errorf("it answers %v, %v", yes, err)
	}
}

func TestAskYesNo(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "YES\n": true, "yes": true, "n\n": false, "\n": false, "": false, "yesterday\n": false} {
		if got, err := askYesNo(t.Context(), strings.NewReader(answer), &bytes.Buffer{}, "Remove?"); got != want || err != nil {
			t.Errorf("%q: %t, %v, want %t", answer, got, err, want)
		}
	}
}
