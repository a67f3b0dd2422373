package documents

import (
	"encoding/json"
	"fmt"

	yaml "go.yaml.in/yaml/v3"
)

// JSON returns a plain node as JSON. Scalars mean what YAML 1.2 says, so that
// y, n, yes and no are texts, as values and as keys.
func JSON(n *yaml.Node) ([]byte, error) {
	v, err := value(n)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

func value(n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, err := value(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			m[n.Content[i].Value] = v
		}
		return m, nil
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, c := range n.Content {
			v, err := value(c)
			if err != nil {
				return nil, err
			}
			list[i] = v
		}
		return list, nil
	case yaml.ScalarNode:
		return scalar(n)
	}
	return nil, fmt.Errorf("line %d: not a plain node", n.Line)
}

func scalar(n *yaml.Node) (any, error) {
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		var b bool
		err := n.Decode(&b)
		return b, err
	case "!!int":
		var i any
		err := n.Decode(&i)
		return i, err
	case "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value), nil
		}
		var f float64
		err := n.Decode(&f)
		return f, err
	}
	return n.Value, nil
}
