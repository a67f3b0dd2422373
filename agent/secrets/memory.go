package secrets

import (
	"context"
	"sync"

	"fairlead.dev/fleet"
)

// Memory is a secret store that lasts as long as the process.
type Memory struct {
	mu       sync.Mutex
	clusters map[fleet.Key]contents
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{clusters: make(map[fleet.Key]contents)} }

// String keeps fmt from what is inside m.
func (m *Memory) String() string { return "secrets in memory" }

// GoString is String.
func (m *Memory) GoString() string { return m.String() }

// Get implements reconcile.SecretStore.
func (m *Memory) Get(_ context.Context, c fleet.Key, name fleet.SecretName) (fleet.SecretData, error) {
	if err := checkKey(c); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.clusters[c][name]
	if !ok {
		return nil, notFound(c, name)
	}
	return clone(d), nil
}

// Create implements reconcile.SecretStore.
func (m *Memory) Create(_ context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData) (fleet.SecretData, error) {
	if err := checkKey(c); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.clusters[c][name]; !ok {
		m.put(c, name, d)
	}
	return clone(m.clusters[c][name]), nil
}

// Replace implements reconcile.SecretStore.
func (m *Memory) Replace(_ context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData) error {
	if err := checkKey(c); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(c, name, d)
	return nil
}

// Delete implements reconcile.SecretStore.
func (m *Memory) Delete(_ context.Context, c fleet.Key) error {
	if err := checkKey(c); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.clusters, c)
	return nil
}

func (m *Memory) put(c fleet.Key, name fleet.SecretName, d fleet.SecretData) {
	if m.clusters[c] == nil {
		m.clusters[c] = make(contents)
	}
	m.clusters[c][name] = clone(d)
}
