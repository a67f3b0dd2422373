package sops

import (
	"bytes"
	"crypto/sha256"
	"maps"
	"time"

	"fairlead.dev/fleet/documents"
)

// An outcome is the result of one run.
type outcome struct {
	plain []byte
	err   *documents.Refusal
	until time.Time // when a failed run may be repeated
}

// remembered returns the outcome of an earlier run for the same file, if that is still
// valid. While the program hangs it is not run.
func (p *program) remembered(id [sha256.Size]byte, m *metadata) (outcome, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o, ok := p.known[id]
	if ok && (o.err == nil || p.now().Before(o.until)) {
		return o, true
	}
	if p.hangs >= hangsMost && p.now().Before(p.until) {
		return outcome{err: &documents.Refusal{
			Message: "the program sops does not end, and is not run for a while; the file is encrypted for " + m.whom(),
			Hint:    "see that the key services answer; it is tried again by itself",
		}, until: p.until}, true
	}
	return outcome{}, false
}

// remember stores the outcome of a run, since renders ask for the same file repeatedly.
func (p *program) remember(id [sha256.Size]byte, o outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o.err == nil {
		p.hangs = 0
	} else {
		p.again = o.until
	}
	if old, ok := p.known[id]; ok {
		p.bytes -= len(old.plain)
	}
	if p.bytes+len(o.plain) > keptBytes || len(p.known) >= keptMost {
		clear(p.known)
		p.bytes = 0
	}
	p.known[id] = o
	p.bytes += len(o.plain)
}

func (p *program) hung(until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hangs++
	p.until = until
}

// anew forgets failures, so that each render tries every file once.
func (p *program) anew() {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.known, func(_ [sha256.Size]byte, o outcome) bool { return o.err != nil })
	p.again = time.Time{}
}

// An atMost is a writer that keeps a limited number of bytes.
type atMost struct {
	most int
	over func() // called when more is written; nil: the rest is dropped
	full bool
	buf  bytes.Buffer
}

// Write implements io.Writer.
func (a *atMost) Write(b []byte) (int, error) {
	room := a.most - a.buf.Len()
	a.buf.Write(b[:min(len(b), room)])
	if len(b) > room && a.over != nil {
		a.full = true
		a.over()
		return 0, errTooMuch
	}
	return len(b), nil
}
