package vcenter

import (
	"context"
	"sync"
	"time"
)

// A memo keeps what was asked for a while. One asks, and the others wait for it.
type memo[T any] struct {
	age time.Duration

	mu  sync.Mutex
	at  time.Time
	got T
}

// get returns what ask gave within the age of m, or asks.
func (m *memo[T]) get(ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.at.IsZero() && time.Since(m.at) < m.age {
		return m.got, nil
	}
	got, err := ask(ctx)
	if err == nil {
		m.got, m.at = got, time.Now()
	}
	return got, err
}
