package worker

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/debug"

	yaml "go.yaml.in/yaml/v3"

	"fairlead.dev/fleet"
	"fairlead.dev/render/kustomize"
)

// Serve builds the overlays that it reads from in, one after the other, until in ends, and
// writes the objects to out. The process ends where it exceeds memory bytes.
func Serve(in io.Reader, out io.Writer, memory int64) error {
	runtime.GOMAXPROCS(min(2, runtime.GOMAXPROCS(0))) // one for the build, one for the garbage collector
	endLate()
	builder := kustomize.New(kustomize.DefaultLimits())
	kustomize.LoadSchema() // no build is charged with its memory
	if err := limit(memory); err != nil {
		return fmt.Errorf("limit the memory of the process: %w", err)
	}
	w := bufio.NewWriter(out)
	encoder := gob.NewEncoder(w)
	tell := func(a answer) error {
		if err := encoder.Encode(a); err != nil {
			return err
		}
		return w.Flush()
	}
	if err := tell(answer{}); err != nil { // the process is ready
		return err
	}
	requests := make(chan request)
	ended := make(chan error, 1)
	go func() {
		decoder := gob.NewDecoder(bufio.NewReader(in))
		for {
			var r request
			if err := decoder.Decode(&r); err != nil {
				ended <- err
				return
			}
			requests <- r
		}
	}()
	return serve(builder, requests, ended, tell)
}

// serve ends when its input ends, also during a build, since its parent has ended. A build begins
// once the previous answer is written completely: the parent may read it and send the next request
// before that.
func serve(b *kustomize.Kustomizer, requests <-chan request, ended <-chan error, tell func(answer) error) error {
	told := make(chan error, 1)
	next := requests
	for {
		select {
		case r := <-next:
			next = nil
			if err := limitTime(r.Seconds); err != nil {
				return fmt.Errorf("limit the time of the process: %w", err)
			}
			go func() { told <- tell(build(b, r.Input)) }()
		case err := <-told:
			if err != nil {
				return err
			}
			next = requests
		case err := <-ended:
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

func build(b *kustomize.Kustomizer, in kustomize.Input) answer {
	objects, problem := b.BuildInput(in)
	a := answer{Overlay: in.Overlay, Problem: problem}
	if problem != nil {
		return a
	}
	total := 0
	for _, o := range objects {
		total += size(o.Node)
		if o.Former != nil {
			total += size(o.Former)
		}
		if total > maxResult {
			return answer{Overlay: in.Overlay, Problem: &fleet.Problem{
				Overlay: in.Overlay, File: in.File, Message: fmt.Sprintf("its objects have more than %d MiB", maxResult>>20), Hint: "split the overlay",
			}}
		}
		a.Objects = append(a.Objects, object{o.File, *o.Node, o.Former})
	}
	return a
}

// size estimates the size of a node in an answer.
func size(n *yaml.Node) int {
	total := 16 + len(n.Tag) + len(n.Value) + len(n.Anchor) + len(n.HeadComment) + len(n.LineComment) + len(n.FootComment)
	for _, c := range n.Content {
		total += size(c)
	}
	return total
}

// limit bounds the memory of this process to memory bytes above its current use. Near the
// limit the garbage collector works harder, beyond it the process ends.
func limit(memory int64) error {
	if memory <= 0 || memory > math.MaxInt64/2 {
		return fmt.Errorf("%d bytes is no limit", memory)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	debug.SetMemoryLimit(int64(m.Sys) + memory*3/4)
	return limitData(memory)
}
