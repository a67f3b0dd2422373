package topology

import (
	"encoding/json"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	kjson "sigs.k8s.io/json"
)

// apply does the operations of t and fills in its spec.
func (x *expansion) apply(t *patchTarget) {
	doc := marshal(x.withMetadata(t))
	cost := 0
	for _, op := range t.ops {
		cost += len(op.value) + 10*len(op.path)
	}
	if err := x.engine.budget.spend(100*len(t.ops) + 20*(cost+len(doc))); err != nil {
		x.classProblem("spec.patches", "", "%s", err)
		return
	}
	out, err := applied(doc, t.ops)
	if err != nil {
		// One after the other, to find the one that fails.
		for i := range t.ops {
			if doc, err = applied(doc, t.ops[i:i+1]); err != nil {
				op := t.ops[i]
				x.classProblem(op.field, "", "patch %q cannot %s %s of %s: %s", op.patch, op.op, op.path, t.template, patchError(err))
				return
			}
		}
	}
	var object struct {
		Spec map[string]any `json:"spec"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(out, &object); err != nil {
		x.classProblem("spec.patches", "", "the patches leave no spec to %s: %s", t.template, err)
	}
	t.spec = object.Spec
}

// applied returns doc after ops.
func applied(doc []byte, ops []operation) ([]byte, error) {
	if len(ops) == 0 {
		return doc, nil
	}
	type rfc6902 struct {
		Op    string          `json:"op"`
		Path  string          `json:"path"`
		Value json.RawMessage `json:"value,omitempty"`
	}
	list := make([]rfc6902, len(ops))
	for i, op := range ops {
		list[i] = rfc6902{op.op, op.path, op.value}
	}
	p, err := jsonpatch.DecodePatch(marshal(list))
	if err != nil {
		return nil, err
	}
	return p.Apply(doc)
}

// patchError says what the library means.
func patchError(err error) string {
	s := oneLine(err.Error())
	if strings.Contains(s, "missing") || strings.Contains(s, "does not apply") || strings.Contains(s, "nonexistent") {
		return "the template has no such path"
	}
	return s
}
