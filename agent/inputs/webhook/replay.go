package webhook

import (
	"crypto/sha256"
	"sync"
	"time"
)

// A replays remembers the calls of a while, at most so many of them.
//
// It knows a call by what is signed, not by the delivery's id: that stands in a
// header which everyone who has seen a call can change.
//
// golang-lru's expirable cache has a goroutine that nothing ends.
type replays struct {
	keep time.Duration
	most int

	mu    sync.Mutex
	seen  map[[sha256.Size]byte]time.Time
	order []remembered // oldest first
}

type remembered struct {
	key [sha256.Size]byte
	at  time.Time
}

func newReplays(keep time.Duration, most int) *replays {
	return &replays{keep: keep, most: most, seen: make(map[[sha256.Size]byte]time.Time)}
}

// keyOf returns what a call of a kind is known by: its id and its body.
func keyOf(kind, id string, body []byte) [sha256.Size]byte {
	h := sha256.New()
	for _, part := range []string{kind, id} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	h.Write(body)
	return [sha256.Size]byte(h.Sum(nil))
}

// add remembers key, and reports whether it is new.
func (r *replays) add(key [sha256.Size]byte, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.order) > 0 && (now.Sub(r.order[0].at) >= r.keep || len(r.order) >= r.most) {
		if r.seen[r.order[0].key].Equal(r.order[0].at) {
			delete(r.seen, r.order[0].key)
		}
		r.order = r.order[1:]
	}
	if _, ok := r.seen[key]; ok {
		return false
	}
	r.seen[key] = now
	r.order = append(r.order, remembered{key: key, at: now})
	return true
}

// forget takes back add: the call had no effect and may be repeated.
func (r *replays) forget(key [sha256.Size]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seen, key)
}
