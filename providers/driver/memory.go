package driver

import (
	"maps"
	"sync"
)

// Locks are locks of things K for goroutines of one process. The zero value is ready to use.
type Locks[K comparable] struct {
	mu   sync.Mutex
	held map[K]bool
}

// TryLock locks k for the caller until Unlock, and reports false if it is locked.
func (l *Locks[K]) TryLock(k K) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[k] {
		return false
	}
	if l.held == nil {
		l.held = make(map[K]bool)
	}
	l.held[k] = true
	return true
}

// Locked reports whether k is locked.
func (l *Locks[K]) Locked(k K) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held[k]
}

// Unlock unlocks k.
func (l *Locks[K]) Unlock(k K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, k)
}

// A Memory is what one process knows of things K that an observation need not show: what it requested,
// what was refused, what it found. It is lost when the process ends. The zero value is empty and ready
// to use. It is safe for concurrent use.
//
// K is one life of a thing: a name that a later machine gets again is none.
type Memory[K comparable, V any] struct {
	mu   sync.Mutex
	here map[K]V
}

// Note notes v of k, in place of what was noted before.
func (m *Memory[K, V]) Note(k K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.here == nil {
		m.here = make(map[K]V)
	}
	m.here[k] = v
}

// NoteFirst notes v of k unless something is noted, and returns what is noted then.
func (m *Memory[K, V]) NoteFirst(k K, v V) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	if noted, ok := m.here[k]; ok {
		return noted
	}
	if m.here == nil {
		m.here = make(map[K]V)
	}
	m.here[k] = v
	return v
}

// Of returns what is noted of k; false: nothing is.
func (m *Memory[K, V]) Of(k K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.here[k]
	return v, ok
}

// Has reports whether something is noted of k.
func (m *Memory[K, V]) Has(k K) bool {
	_, ok := m.Of(k)
	return ok
}

// All returns everything that is noted.
func (m *Memory[K, V]) All() map[K]V {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.here)
}

// Forget drops what is noted of k.
func (m *Memory[K, V]) Forget(k K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.here, k)
}

// ForgetIf drops everything for which over is true, such as what is of the past, or of what is not
// listed any more.
func (m *Memory[K, V]) ForgetIf(over func(K, V) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.here, over)
}
