package fleet

import (
	"bytes"
	"encoding/json"
)

// A Bootstrap is the configuration that machines of a pool are set up with, as the
// manifest of its distribution says. Only that distribution reads it.
type Bootstrap struct {
	// Kind is the kind of the object that the configuration is of; empty: KubeadmConfig.
	Kind string
	// Spec is the JSON of the configuration as encoding/json writes the type of its
	// newest version: equal content, equal bytes. Nil: it says nothing.
	Spec json.RawMessage
	// Hashed is what of Spec counts in template hashes; nil: all of it, and "null":
	// nothing. The decoder of a pool needs it, and nothing later does.
	Hashed json.RawMessage
	// Settled is Spec in one form for all that gives the same user data; nil: Spec is. Only
	// the decoder needs it.
	Settled json.RawMessage
}

// NewBootstrap returns the configuration spec, a value of the type of its kind.
func NewBootstrap(kind string, spec any) (Bootstrap, error) {
	data, err := json.Marshal(spec)
	if err != nil {
		return Bootstrap{}, Errorf(Invalid, "read the bootstrap configuration", "cannot be written as JSON: %w", err)
	}
	if string(data) == "{}" {
		data = nil
	}
	return Bootstrap{Kind: kind, Spec: data}, nil
}

// A typedBootstrap is the JSON of a Bootstrap of another kind than kubeadm's.
type typedBootstrap struct {
	Kind string          `json:"kind"`
	Spec json.RawMessage `json:"spec,omitempty"`
}

// MarshalJSON implements json.Marshaler. Kubeadm's is its specification and nothing
// around it: digests of definitions are made of that.
func (b Bootstrap) MarshalJSON() ([]byte, error) {
	switch {
	case b.Kind != "":
		return json.Marshal(typedBootstrap{b.Kind, b.Spec})
	case b.Spec == nil:
		return []byte("{}"), nil
	}
	return b.Spec, nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *Bootstrap) UnmarshalJSON(data []byte) error {
	var t typedBootstrap
	if err := json.Unmarshal(data, &t); err != nil {
		return err
	}
	if t.Kind != "" {
		*b = Bootstrap{Kind: t.Kind, Spec: t.Spec}
		return nil
	}
	*b = Bootstrap{}
	if string(data) != "{}" {
		b.Spec = bytes.Clone(data)
	}
	return nil
}

// Field returns the JSON of a field of b, by the names that lead to it; nil where there
// is none.
func (b Bootstrap) Field(path ...string) json.RawMessage {
	data := b.Spec
	for _, name := range path {
		var fields map[string]json.RawMessage
		if json.Unmarshal(data, &fields) != nil {
			return nil
		}
		data = fields[name]
	}
	return data
}
