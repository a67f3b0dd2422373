package secrets

import (
	"context"
	"maps"
	"slices"
	"sync"

	"fairlead.dev/fleet"
)

// Memory is a secret store that lasts as long as the process.
type Memory struct {
	mu       sync.Mutex
	clusters map[fleet.Key]contents
	given    map[fleet.Key]fleet.SecretData
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{clusters: make(map[fleet.Key]contents), given: make(map[fleet.Key]fleet.SecretData)}
}

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

// GetSecret returns the Secret k, or an error of kind NotFound.
func (m *Memory) GetSecret(_ context.Context, k fleet.Key) (fleet.SecretData, error) {
	if err := checkSecret(k); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.given[k]
	if !ok {
		return nil, notGiven(k)
	}
	return clone(d), nil
}

// SetSecret stores the Secret k, whatever was there.
func (m *Memory) SetSecret(_ context.Context, k fleet.Key, d fleet.SecretData) error {
	if err := checkSecret(k); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.given[k] = clone(d)
	return nil
}

// DeleteSecret removes the Secret k. Nothing there is success.
func (m *Memory) DeleteSecret(_ context.Context, k fleet.Key) error {
	if err := checkSecret(k); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.given, k)
	return nil
}

// ListSecrets returns the keys of all Secrets, sorted.
func (m *Memory) ListSecrets(context.Context) ([]fleet.Key, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Keys(m.given), fleet.Key.Compare), nil
}

// FilterSecrets returns those of keys that ListSecrets would return, sorted.
func (m *Memory) FilterSecrets(ctx context.Context, keys []fleet.Key) ([]fleet.Key, error) {
	all, err := m.ListSecrets(ctx)
	return slices.DeleteFunc(all, func(k fleet.Key) bool { return !slices.Contains(keys, k) }), err
}
