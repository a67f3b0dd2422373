package worker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	yaml "go.yaml.in/yaml/v3"

	"fairlead.dev/fleet"
	"fairlead.dev/render/kustomize"
)

// maxResult is the maximal size of the objects of one overlay, in bytes.
const maxResult = 64 << 20

// maxAnswer is the maximal size of an answer, in bytes: nodes have more than their text.
const maxAnswer = 4 * maxResult

// A request is an overlay to build.
type request struct {
	Input   kustomize.Input
	Seconds int64 // of processor time
}

// An answer is the result of one build.
type answer struct {
	Overlay string // that it is of
	Objects []object
	Problem *fleet.Problem
}

// An object is a kustomize.Object without a nil node.
type object struct {
	File   string
	Node   yaml.Node
	Former *yaml.Node
}

func (a answer) objects() []kustomize.Object {
	if a.Problem != nil {
		return nil
	}
	out := make([]kustomize.Object, len(a.Objects))
	for i := range a.Objects {
		out[i] = kustomize.Object{File: a.Objects[i].File, Node: &a.Objects[i].Node, Former: a.Objects[i].Former}
	}
	return out
}

var errTime = errors.New("the time is over")

// A process builds one overlay after the other.
type process struct {
	cmd     *exec.Cmd
	in      *bufio.Writer
	encoder *gob.Encoder
	limited *io.LimitedReader
	decoder *gob.Decoder
	closing io.Closer
	said    *opening
	builds  int
	end     sync.Once
}

// startTime is how long a program may take to start.
const startTime = time.Minute

// start runs command with a limit of memory, in bytes, and waits until it is ready.
func start(ctx context.Context, command []string, memory int64) (*process, error) {
	if len(command) == 0 {
		return nil, errors.New("no program is named")
	}
	cmd := exec.Command(command[0], append(command[1:len(command):len(command)], strconv.FormatInt(memory, 10))...) //nolint:gosec,noctx // it is this program; its owner ends it
	cmd.Args[0] = os.Args[0]                                                                                        // for lists of processes
	cmd.Env = []string{"GOTRACEBACK=none"}                                                                          // nothing else of this process's environment
	cmd.Dir = "/"
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, closing: in, said: &opening{}}
	cmd.Stderr = p.said
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.in = bufio.NewWriter(in)
	p.encoder = gob.NewEncoder(p.in)
	p.limited = &io.LimitedReader{R: out}
	p.decoder = gob.NewDecoder(bufio.NewReader(p.limited))
	if _, err := p.answer(ctx, startTime); err != nil {
		return nil, fmt.Errorf("%s is not ready: %w: %s", command[0], err, strings.TrimSpace(p.kill()))
	}
	return p, nil
}

// build lets the process build an overlay. After an error the process can only be killed.
func (p *process) build(ctx context.Context, in request, most time.Duration) (answer, error) {
	p.builds++
	sent := make(chan error, 1)
	go func() { // answer kills a process that does not read
		err := p.encoder.Encode(in)
		if err == nil {
			err = p.in.Flush()
		}
		sent <- err
	}()
	a, err := p.answer(ctx, most)
	if err != nil {
		return answer{}, err // the goroutine ends with the process
	}
	if err := <-sent; err != nil {
		return answer{}, err
	}
	if a.Overlay != in.Input.Overlay {
		return answer{}, fmt.Errorf("it answered for %q, and was asked for %q", a.Overlay, in.Input.Overlay)
	}
	return a, nil
}

// answer waits for an answer, and kills the process where it takes too long.
func (p *process) answer(ctx context.Context, most time.Duration) (answer, error) {
	late, end := context.WithTimeoutCause(ctx, most, errTime)
	defer end()
	stop := context.AfterFunc(late, func() { _ = p.cmd.Process.Kill() })
	defer stop()
	p.limited.N = maxAnswer
	var a answer
	err := p.decoder.Decode(&a)
	if err != nil && context.Cause(late) != nil {
		err = context.Cause(late)
	}
	return a, err
}

// kill kills the process, waits for its end, and returns its standard error.
func (p *process) kill() string {
	p.end.Do(func() {
		_ = p.closing.Close()
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	return p.said.String()
}

// An opening keeps the beginning of a standard error, where Go says why a program ends.
type opening struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *opening) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	const most = 4096
	o.buf.Write(b[:min(len(b), max(most-o.buf.Len(), 0))])
	return len(b), nil
}

func (o *opening) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// outOfMemory reports whether the standard error of a Go program says that it ran out of
// memory, for its heap, for a thread or for its garbage collector.
func outOfMemory(said string) bool {
	return slices.ContainsFunc([]string{
		"out of memory", "cannot allocate memory", "failed to reserve",
		"pthread_create failed", "failed to create new OS thread",
		// Go 1.26 uses the queue of its garbage collector without a look at whether it got
		// memory for it (runtime/mgcmark_greenteagc.go, newSpanSPMC).
		"runtime.(*spanQueue)", "runtime.(*spanSPMC)",
	}, func(words string) bool { return strings.Contains(said, words) })
}

// ending says how a process that gave no answer ended: the first line of its standard
// error, or else err where it is more than the end of its output, or else its state.
func (p *process) ending(err error) string {
	if line, _, _ := strings.Cut(strings.TrimSpace(p.kill()), "\n"); line != "" {
		return line
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err.Error()
	}
	return p.cmd.ProcessState.String()
}

// lateWord is printed by a process whose processor time is over.
const lateWord = "fairlead: the time is over"

func outOfTime(said string) bool { return strings.Contains(said, lateWord) }
