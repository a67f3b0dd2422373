package documents

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	yaml "go.yaml.in/yaml/v3"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	k8syaml "sigs.k8s.io/yaml"
)

// Unmarshal reads the first document of data into into, as Kubernetes does. Fields that
// into does not have are passed over, and of repeated keys the last one counts.
func Unmarshal(data []byte, into any, l Limits) error {
	plain, err := bounded(data, l)
	if err != nil {
		return err
	}
	if unmarshalBlock(plain, into, false) {
		return nil
	}
	return flat(k8syaml.Unmarshal(plain, into))
}

// UnmarshalStrict is Unmarshal, and refuses repeated keys and fields that into does not
// have.
func UnmarshalStrict(data []byte, into any, l Limits) error {
	plain, err := bounded(data, l)
	if err != nil {
		return err
	}
	if unmarshalBlock(plain, into, true) {
		return nil
	}
	return flat(k8syaml.UnmarshalStrict(plain, into))
}

// ToJSON returns the first document of data as JSON, read as Kubernetes does. Of repeated
// keys the last one counts.
func ToJSON(data []byte, l Limits) ([]byte, error) {
	plain, err := bounded(data, l)
	if err != nil {
		return nil, err
	}
	if out, ok := blockJSON(plain); ok {
		return out, nil
	}
	out, err := k8syaml.YAMLToJSON(plain)
	return out, flat(err)
}

// ToJSONStrict is ToJSON, and refuses repeated keys.
func ToJSONStrict(data []byte, l Limits) ([]byte, error) {
	plain, err := bounded(data, l)
	if err != nil {
		return nil, err
	}
	if out, ok := blockJSON(plain); ok {
		return out, nil
	}
	out, err := k8syaml.YAMLToJSONStrict(plain)
	return out, flat(err)
}

// Split returns the documents of a stream, those that are empty included, for the other
// functions to read. The limits are for all of them together; what is within them as a
// whole is in each part.
func Split(data []byte, l Limits) ([][]byte, error) {
	if _, err := bounded(data, l); err != nil {
		return nil, err
	}
	var out [][]byte
	for r := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data))); ; {
		document, err := r.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, document)
	}
}

// Node returns the first document of data unresolved, with comments, aliases and
// tags; nil where data has none.
func Node(data []byte, l Limits) (*yaml.Node, error) {
	if _, err := bounded(data, l); err != nil {
		return nil, err
	}
	var doc yaml.Node
	err := decode(yaml.NewDecoder(bytes.NewReader(data)), &doc)
	if errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, flat(err)
	}
	return &doc, nil
}

// Objects returns what is in a stream of YAML documents, or in JSON values one after
// another, without what is empty.
func Objects(data []byte, l Limits) ([]map[string]any, error) {
	plain, err := bounded(data, l)
	if err != nil {
		return nil, err
	}
	const buffer = 4096 // bytes that are looked at to tell YAML from JSON
	var out []map[string]any
	for d := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(plain), buffer); ; {
		var o map[string]any
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, flat(err)
		}
		if len(o) > 0 {
			out = append(out, o)
		}
	}
}

// Decode reads the first document of data into into, whose fields are tagged with yaml,
// as YAML 1.2 has it. Fields that into does not have are refused where strict is true.
func Decode(data []byte, into any, strict bool, l Limits) error {
	plain, err := bounded(data, l)
	if err != nil {
		return err
	}
	d := yaml.NewDecoder(bytes.NewReader(plain))
	d.KnownFields(strict)
	if err := d.Decode(into); !errors.Is(err, io.EOF) {
		return flat(err)
	}
	return nil
}

// Plain returns data within l and with its aliases written out, for a library that parses
// YAML itself.
func Plain(data []byte, l Limits) ([]byte, error) { return bounded(data, l) }
