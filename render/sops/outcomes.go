package sops

import (
	"bytes"
	"crypto/sha256"
	"maps"
	"time"

	"fairlead.dev/fleet/documents"
)

// An outcome is what a run gave.
type outcome struct {
	plain []byte
	err   *documents.Refusal
	until time.Time // of one that failed: when it may be tried again
}

// remembered returns what a run for the same file gave, if that still counts. Where
// the program hangs it is not run for a while.
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

// remember keeps what a run gave: a render asks for the same file more than once, and the
// next one too.
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

// anew forgets what failed: a render tries all that it comes to, once.
func (p *program) anew() {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.known, func(_ [sha256.Size]byte, o outcome) bool { return o.err != nil })
	p.again = time.Time{}
}

// An atMost keeps what is written to it, to a bound.
type atMost struct {
	most int
	over func() // called where more is written; nil: the rest is dropped
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
