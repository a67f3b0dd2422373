package agent

import "sync"

// A turnstile lets passes in until it is closed. The zero value is open.
type turnstile struct {
	mu      sync.Mutex
	changed sync.Cond // L is &mu once init ran
	once    sync.Once
	inside  int
	closed  bool
}

func (t *turnstile) init() { t.once.Do(func() { t.changed.L = &t.mu }) }

// enter waits until t is open.
func (t *turnstile) enter() {
	t.init()
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.closed {
		t.changed.Wait()
	}
	t.inside++
}

func (t *turnstile) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inside--
	t.changed.Broadcast()
}

// close lets nobody in any more and waits for those inside.
func (t *turnstile) close() {
	t.init()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for t.inside > 0 {
		t.changed.Wait()
	}
}

func (t *turnstile) open() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = false
	t.changed.Broadcast()
}
